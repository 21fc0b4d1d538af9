/** Runs the corpus through the built tool: one run of the mock runtime with a scripted arbiter, and the scenes beside it. */
import type { Variants } from "./cases.ts";
import { corpus } from "./cases.ts";
import type { Judged } from "./judged.ts";
import type { CorpusCase } from "./kind.ts";
import { caughtBy, inScene, runDirOf, stateOf } from "./scene.ts";
import { SCENES } from "./scenes.ts";

/** `main`: the built orchestrate.mjs. */
export async function runCorpus(
  o: Variants & { readonly seed: number; readonly main: string },
): Promise<Judged[]> {
  const judged = await playMock(corpus(o), o.main);
  for (const scene of SCENES) judged.push(...(await scene(o)));
  return judged;
}

/** Pieces of the whole corpus, without running any. */
export function sizeOf(o: Variants): { good: number; bad: number } {
  const cases = corpus({ ...o, seed: 1 });
  const bad = cases.filter((one) => !one.good).length + SCENES.length * o.bad;
  return { good: cases.filter((one) => one.good).length, bad };
}

function playMock(cases: readonly CorpusCase[], main: string): Promise<Judged[]> {
  const verdicts = cases.flatMap(({ id, verdict }) => (verdict === undefined ? [] : [[id, verdict]]));
  const spec = {
    version: 1,
    outcome: "pieces of work whose worth is known",
    concurrency: 4,
    defaults: { timeout: "5m" },
    arbiter: { mock: Object.fromEntries(verdicts) },
    jobs: cases.map(({ id, job }) => ({ id, runtime: "mock", ...job })),
  };
  const files = {
    "README.md": "# corpus\n",
    "jobs.json": JSON.stringify(spec),
    ...Object.assign({}, ...cases.map((one) => one.files ?? {})),
  };
  return inScene(main, files, async ({ call }) => {
    const state = stateOf(runDirOf(await call("run", "jobs.json")));
    return cases.map(({ id, kind, good, by }) => ({
      id,
      kind,
      good,
      accepted: state.jobs[id]?.outcome === "accepted",
      expected: by,
      by: caughtBy(state, id),
    }));
  });
}
