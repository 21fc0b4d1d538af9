/** Commands that say they write nothing: every byte, mode and time of the workspace, the repository, the home and the run stays. */
import { cpSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { fakeCli } from "../support/fake-cli.ts";
import { repoAt, runGit } from "../support/repo-at.ts";
import { builtTool, runDirOf, stateOf } from "../support/tool.ts";
import { createLane, killNow, type Lane, UNTIL_OPEN } from "./harness/lane.ts";
import { entriesBelow, treeDigest } from "./harness/tree.ts";

const LONG = { timeout: 300_000 };
const tool = builtTool();

/** What programs do that settle down wherever they are started. */
const LITTER = 'mkdir -p .git; echo litter > .git/litter; echo litter > litter; echo "1.0.0"';
const RUNTIMES_THAT_LITTER = ["claude", "codex", "gemini", "opencode", "pi", "omp", "agy", "grok", "aider"];

let lane: Lane;
let done = "";
let cut = "";
let bin = "";
let env: Record<string, string> = {};

/** One finished run of agents in worktrees, one whose coordinator was killed, in one repository. */
beforeAll(async () => {
  lane = await createLane({
    main: tool().main,
    jobs: [{ id: "first", after: [], seconds: 0, script: `[ "$attempt" -gt 1 ] || ${UNTIL_OPEN}` }],
  });
  cpSync(join(ROOT, "examples"), join(lane.work, "examples"), { recursive: true });
  runGit(lane.work, "init", "-q", "-b", "main");
  repoAt(lane.work).commit("base");
  bin = join(lane.top, "bin");
  mkdirSync(bin);
  const tmp = join(lane.top, "tmp");
  mkdirSync(tmp);
  env = { ...lane.env, HOME: lane.home, TMPDIR: tmp };
  done = runDirOf(await tool().json(["run", "examples/implement-review.yaml"], { cwd: lane.work, env }));
  expect(stateOf(done).status).toBe("accepted");
  const dead = lane.coordinate();
  await lane.said("S", "first");
  killNow(dead.pid);
  await dead.ended;
  cut = lane.runDir;
  for (const name of RUNTIMES_THAT_LITTER) fakeCli(bin, name, { "*": LITTER });
  return () => lane.remove();
}, LONG.timeout);

/** The fakes note their own calls, and the lane's ledger lies beside: neither is the tool's doing. */
const watched = (): string[] => [lane.work, lane.home, join(lane.top, "run"), join(lane.top, "tmp")];

/** Everything, and when each folder was last changed: a file that came and went shows there. */
function everything(): Record<string, string> {
  const folders = watched().flatMap((top) => [
    top,
    ...entriesBelow(top).filter((path) => lstatSync(path).isDirectory()),
  ]);
  return {
    ...Object.assign({}, ...watched().map(treeDigest)),
    ...Object.fromEntries(
      folders
        // Private folders for probes come and go here; they must be gone.
        .filter((path) => path !== join(lane.top, "tmp"))
        .map((path) => [`${path}/`, String(lstatSync(path, { bigint: true }).mtimeNs)]),
    ),
  };
}

const READING = COMMANDS.filter((command) => command.readOnly);

/** name → argument lists, where its example alone says too little; the first is also run with `--json`. */
const USES: Readonly<Record<string, () => readonly (readonly string[])[]>> = {
  validate: () => [["examples/implement-review.yaml"], ["examples/missing.yaml"], [join(done, "jobs.yaml")]],
  plan: () => [
    ["examples/implement-review.yaml"],
    ["examples/sample.yaml"],
    ["examples/implement-review.yaml", "--graph", "mermaid"],
    ["examples/implement-review.yaml", "--graph", "dot"],
  ],
  gate: () => [["examples/implement-review.yaml"]],
  probe: () => [[], ["opencode"]],
  doctor: () => [[]],
  wait: () => [[done], [cut, "--timeout", "1s"]],
  next: () => [[done], [cut]],
  status: () => [[], [done], [cut]],
  logs: () => [[done], [cut], [done, "review"]],
  events: () => [[done], [cut]],
  watch: () => [[done]],
  explain: () => [[done], [cut], [done, "review"]],
  verify: () => [[done], [cut], [done, "--job", "implement-add"]],
  "policy show": () => [[]],
  schema: () => [[], ["jobs"]],
  help: () => [[], ["run"]],
};

describe("a command that only reads", () => {
  let before: Record<string, string>;
  beforeEach(() => {
    before = everything();
  });

  it("is one that the command table says so of", () => {
    const reading = READING.map((command) => command.name);
    expect(Object.keys(USES).filter((name) => !reading.includes(name))).toEqual([]);
  });

  it.each(READING.map((command) => command.name))("`%s` leaves everything as it was", LONG, async (name) => {
    const path = `${bin}:${process.env["PATH"]}`;
    const example = READING.find((command) => command.name === name)?.example.argv ?? [];
    const uses = USES[name]?.() ?? [example.slice(name.split(" ").length)];
    for (const args of [...uses, [...(uses[0] ?? []), "--json"]]) {
      const run = await tool().run([...name.split(" "), ...args], {
        cwd: lane.work,
        env: { ...env, PATH: path },
      });
      expect(run.stderr).not.toContain("internal-error");
      expect({ args, code: run.code }).toEqual({ args, code: expect.toBeOneOf([0, 1, 2, 3, 4, 143]) });
    }
    expect(everything()).toEqual(before);
  });
});
