/** Bad work that one run of the mock runtime cannot show: who judges it, when, and by which script. Programs and a scripted judge. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fakeAgents } from "../../tests/support/fake-agents.ts";
import type { Variants } from "./cases.ts";
import type { Judged } from "./judged.ts";
import { caughtBy, inScene, runDirOf, type Scene, stateOf } from "./scene.ts";

type Play = (o: Variants & { readonly main: string }) => Promise<Judged[]>;

const HARNESS = ["--harness", "codex", "--subagents"];
const PROGRAM = "  - id: sh\n    command: sh\n    agent: false\n";

/** Each plays `bad` pieces of one kind. */
export const SCENES: readonly Play[] = [
  selfReview,
  sameFamily,
  otherBundle,
  staleVerdict,
  alteredScript,
  alteredApproval,
];

interface Made {
  readonly kind: string;
  readonly expected: string;
  readonly ids: readonly string[];
}

const named = (o: Variants, name: string): string[] =>
  Array.from({ length: o.bad }, (_, n) => `bad-${name}-${n + 1}`);

const spec = (jobs: readonly object[], top: object = {}): string =>
  JSON.stringify({ version: 1, outcome: "x", defaults: { timeout: "5m" }, ...top, jobs });

function rows(
  { kind, expected, ids }: Made,
  runDir: string,
  also: (id: string) => readonly string[] = () => [],
): Judged[] {
  const state = stateOf(runDir);
  return ids.map((id) => ({
    id,
    kind,
    good: false,
    accepted: state.jobs[id]?.outcome === "accepted",
    expected,
    by: [...also(id), caughtBy(state, id)].join(", "),
  }));
}

const program = (id: string, script: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime: "sh",
  prompt: "run it",
  expected_output: "exit 0",
  invocation: { command: "sh", args: ["-c", script] },
  ...more,
});

/** What an obliging reviewer would hand in for the call that is open. */
function obliging(runDir: string): string {
  const open = stateOf(runDir).arbiters.find((one) => one.status === "offered");
  if (open === undefined) throw new Error("no arbiter call is open");
  const { bundleSha256, nonce } = open;
  const jobs = open.attempts.map(({ jobId, attempt, treeSha256 }) => ({
    ...{ jobId, attempt, treeSha256, verdict: "pass", reasons: ["looks fine"] },
    ...{ unsupportedClaims: [], contradictions: [], unresolved: [] },
  }));
  return JSON.stringify({ schemaVersion: 1, bundleSha256, nonce, overall: "pass", jobs });
}

async function handIn(
  scene: Scene,
  o: { runDir: string; verdict: string; handle: string },
): Promise<string[]> {
  const file = join(scene.folder, "verdict.json");
  writeFileSync(file, o.verdict);
  const out = await scene.call("verdict", o.runDir, "--file", file, "--handle", o.handle);
  return out.diagnostics.map((one) => one.code);
}

const settled = (scene: Scene, runDir: string): Promise<unknown> =>
  scene.call("wait", runDir, "--for", "settled", "--timeout", "30s");

/** Subagents that hand in their own verdict on their own work. */
async function selfReview(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = { kind: "self-review", expected: "not-independent", ids: named(o, "self") };
  const jobs = made.ids.map((id) => ({
    ...{ id, task: "scout", runtime: "internal", prompt: "Look.", expected_output: "What is there." },
  }));
  return inScene(o.main, { "jobs.json": spec(jobs) }, async (scene) => {
    const runDir = runDirOf(await scene.call("run", "jobs.json", ...HARNESS));
    for (const id of made.ids) {
      const job = ["--job", id, "--attempt", "1"];
      await scene.call("native", "start", runDir, ...job, "--handle", `agent-${id}`);
      const file = join(scene.folder, "result.md");
      writeFileSync(file, "There is a README.");
      await scene.call("native", "finish", runDir, ...job, "--result", file);
    }
    await handIn(scene, { runDir, verdict: obliging(runDir), handle: `agent-${made.ids[0]}` });
    return rows(made, runDir);
  });
}

/** The only judge at hand is of the producer's family, and its tools are withheld by word alone. */
async function sameFamily(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = { kind: "judge of the producer's family", expected: "needs-arbiter", ids: named(o, "family") };
  const jobs = made.ids.map((id) => ({
    ...{
      id,
      task: "scout",
      runtime: "worker",
      prompt: `[[say ${id} was looked at from all sides.]]`,
      expected_output: "a report",
    },
  }));
  const files = {
    "jobs.json": spec(jobs, { arbiter: { runtime: "judge" } }),
    "~/.orchestrate/runtimes.yaml": "runtimes: []\n",
  };
  return inScene(o.main, files, async (scene) => {
    const agents = fakeAgents(join(scene.folder, "bin"), [
      { id: "worker", family: "red" },
      { id: "judge", family: "red" },
    ]);
    writeFileSync(join(scene.folder, "home/.orchestrate/runtimes.yaml"), `runtimes:\n${agents}`);
    return rows(made, runDirOf(await scene.call("run", "jobs.json")));
  });
}

/** A verdict with the digest of another bundle. */
async function otherBundle(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = {
    kind: "verdict on another bundle",
    expected: "stale-verdict, needs-arbiter",
    ids: named(o, "bundle"),
  };
  return programs(o, { ids: made.ids, job: (id) => program(id, `echo ${id}`) }, async (scene, runDir) => {
    const verdict = { ...(JSON.parse(obliging(runDir)) as object), bundleSha256: "0".repeat(64) };
    const refused = await handIn(scene, { runDir, verdict: JSON.stringify(verdict), handle: "reviewer-1" });
    return rows(made, runDir, () => refused);
  });
}

/** A verdict on an attempt whose output was edited afterwards, so that it was run again. */
async function staleVerdict(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = { kind: "stale verdict", expected: "stale-verdict, needs-arbiter", ids: named(o, "stale") };
  const job = (id: string): object =>
    program(id, `echo ${id} > ${id}.txt`, { outputs: [{ path: `${id}.txt` }] });
  return programs(o, { ids: made.ids, job }, async (scene, runDir) => {
    const verdict = obliging(runDir);
    for (const id of made.ids) writeFileSync(join(scene.repo, `${id}.txt`), "edited\n");
    await scene.call("resume", runDir, ...HARNESS);
    const refused = await handIn(scene, { runDir, verdict, handle: "reviewer-1" });
    // A resume ends with the first thing that the harness can do; the other jobs run on.
    await settled(scene, runDir);
    return rows(made, runDir, () => refused);
  });
}

/** A check whose script says something else after the pass: the pass is worth nothing, and so is the verdict on it. */
async function alteredScript(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = {
    kind: "script altered after the pass",
    expected: "check script changed, stale-verdict, check-failed",
    ids: named(o, "script"),
  };
  const job = (id: string): object =>
    program(id, `echo ${id}`, { verification: [{ command: "sh", args: [`checks/${id}.sh`] }] });
  const checks = Object.fromEntries(made.ids.map((id) => [`checks/${id}.sh`, "exit 0\n"]));
  return programs(o, { ids: made.ids, job, files: checks }, async (scene, runDir) => {
    const verdict = obliging(runDir);
    for (const id of made.ids) writeFileSync(join(scene.repo, `checks/${id}.sh`), "exit 1\n");
    await scene.call("resume", runDir, ...HARNESS);
    const refused = await handIn(scene, { runDir, verdict, handle: "reviewer-1" });
    // A resume ends with the first thing that the harness can do; the other jobs run on.
    await settled(scene, runDir);
    const { notes } = stateOf(runDir);
    const why = (id: string): string[] =>
      notes.includes(`${id} runs again because check script \`checks/${id}.sh\` changed.`)
        ? ["check script changed"]
        : [];
    return rows(made, runDir, (id) => [...why(id), ...refused]);
  });
}

/** A script in the checkout is altered after the request: what runs are the approved bytes of the base, and they are judged. */
async function alteredApproval(o: Variants & { readonly main: string }): Promise<Judged[]> {
  const made = {
    kind: "script altered after the request",
    expected: "needs-arbiter",
    ids: named(o, "approved"),
  };
  const job = (id: string): object => ({
    ...program(id, "", {
      task: "implement",
      effect: "external-destructive",
      owned_paths: [`out/${id}/**`],
      checks: ["it is deployed"],
      preview: { command: "sh", args: ["-c", "echo would deploy"] },
      rollback: "Take it back by hand.",
      invocation: { command: "sh", args: [`deploy/${id}.sh`] },
    }),
  });
  const ledger = (scene: Scene): string => join(scene.folder, "ledger.txt");
  const scripts = Object.fromEntries(made.ids.map((id) => [`deploy/${id}.sh`, "exit 0\n"]));
  return programs(o, { ids: made.ids, job, files: scripts }, async (scene, runDir) => {
    writeFileSync(ledger(scene), "");
    const asked = stateOf(runDir);
    for (const id of made.ids) {
      writeFileSync(join(scene.repo, `deploy/${id}.sh`), `echo ${id} >> '${ledger(scene)}'\n`);
      const scope = asked.jobs[id]?.block?.scope ?? "";
      await scene.call("approve", runDir, "--job", id, "--scope", scope);
    }
    await settled(scene, runDir);
    const ran = readFileSync(ledger(scene), "utf8");
    return rows(made, runDir, (id) => (ran.includes(id) ? ["it ran"] : []));
  });
}

interface Programs {
  readonly ids: readonly string[];
  readonly job: (id: string) => object;
  readonly files?: Readonly<Record<string, string>>;
}

/** A run of plain programs in the checkout, whose work waits for a harness to judge it. */
function programs(
  o: { readonly main: string },
  { ids, job, files = {} }: Programs,
  play: (scene: Scene, runDir: string) => Promise<Judged[]>,
): Promise<Judged[]> {
  const all = { ...files, "README.md": "# corpus\n", "jobs.json": spec(ids.map(job), { concurrency: 1 }) };
  return inScene(o.main, { ...all, "~/.orchestrate/runtimes.yaml": `runtimes:\n${PROGRAM}` }, async (scene) =>
    play(scene, runDirOf(await scene.call("run", "jobs.json", ...HARNESS))),
  );
}
