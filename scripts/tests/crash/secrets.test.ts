/** Secrets in every form and from every side, through the built tool: not one piece of them in the run folder or on the terminal. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repoAt } from "../support/repo-at.ts";
import { builtTool, standingOf, stateOf } from "../support/tool.ts";
import { leaksBelow, leaksIn, plantedSecrets } from "./harness/planted-secrets.ts";

const LONG = { timeout: 300_000 };
const SEED = 1;
const tool = builtTool();
const { forms, env, values } = plantedSecrets(SEED);
const ALL = Object.values(forms).join("\n");
const IN_JSON = Object.values(forms);

/** A declared agent that plays what is in a file. */
const RUNTIMES = (play: string): string => `version: 1
runtimes:
  - { id: program, command: /bin/sh, agent: false }
  - id: helper
    command: ${play}
    help_args: [--help]
    argv: [play]
    prompt: stdin
    output: jsonl
    settled_by: { path: type, equals: result }
    result: { path: text }
    error: { path: error }
    flags: { read_only: [--read-only] }
    controls: { approval: scoped, toolGating: coarse, isolation: os-sandbox, writeBoundary: enforced }
`;

interface Place {
  readonly top: string;
  readonly work: string;
  readonly runDir: string;
}

/** Everything that jobs print lies in files outside the run folder: a spec that holds a secret is not taken. */
function place(): Place {
  const top = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-secrets-")));
  const work = join(top, "work");
  for (const dir of [work, join(tool().env["HOME"] as string, ".orchestrate")])
    mkdirSync(dir, { recursive: true });
  const [forms_, play, lines, faults] = ["forms", "play.sh", "lines", "faults"].map((name) =>
    join(top, name),
  ) as [string, string, string, string];
  writeFileSync(forms_, ALL);
  writeFileSync(
    lines,
    `${[...IN_JSON, IN_JSON.join("\n")].map((text) => JSON.stringify({ type: "text", text })).join("\n")}\n${JSON.stringify({ type: "result", text: IN_JSON.join("\n") })}\n`,
  );
  writeFileSync(faults, `${JSON.stringify({ type: "note", error: IN_JSON.join("\n") })}\n`);
  writeFileSync(
    play,
    `#!/bin/sh
if [ "$1" = --help ]; then echo "  --read-only  look, do not touch"; exit 0; fi
case $(cat) in *"answers at length"*) cat ${lines};; *) cat ${faults}; exit 3;; esac
`,
    { mode: 0o755 },
  );
  writeFileSync(join(tool().env["HOME"] as string, ".orchestrate/runtimes.yaml"), RUNTIMES(play));
  const filler = "for i in 1 2 3 4 5 6 7 8; do head -c 8191 /dev/zero | tr '\\\\000' x; echo; done";
  const pieces = `dd if=${forms_} bs=7 2>/dev/null | while IFS= read -r line; do printf '%s\\n' "$line"; sleep 0.01; done`;
  writeFileSync(
    join(top, "prints.sh"),
    `cat ${forms_}; echo; cat ${forms_} >&2; ${filler}; dd if=${forms_} bs=1 status=none; ${pieces}\n`,
  );
  writeFileSync(join(top, "dies.sh"), `echo start; cat ${forms_} >&2; exit 7\n`);
  writeFileSync(join(top, "names.sh"), `echo made; touch "${values[0]}.txt"\n`);
  writeFileSync(join(top, "writes.sh"), `cp ${forms_} notes/all.txt; echo written\n`);
  const program = (id: string, script: string, more = "") =>
    `  - { id: ${id}, task: scout, runtime: program, expected_output: text, invocation: { command: /bin/sh, args: [${join(top, script)}] }${more} }`;
  const helper = (id: string, prompt: string) =>
    `  - { id: ${id}, task: scout, runtime: helper, expected_output: text, prompt: "${prompt}" }`;
  const check = (script: string) => `, verification: [{ command: /bin/sh, args: [${join(top, script)}] }]`;
  writeFileSync(join(top, "quiet.sh"), "echo done\n");
  writeFileSync(
    join(work, "jobs.yaml"),
    `version: 1
concurrency: 3
defaults: { timeout: 1m }
jobs:
${[
  program("prints", "prints.sh"),
  program("dies", "dies.sh"),
  program("checked", "quiet.sh", check("prints.sh")),
  program("refused", "quiet.sh", check("dies.sh")),
  program("names", "names.sh"),
  program(
    "writes",
    "writes.sh",
    ", effect: scoped-write, isolation: worktree, owned_paths: [notes/**], outputs: [{ path: notes/all.txt }], checks: [reads well]",
  ),
  `${program("after", "quiet.sh", ", depends_on: [writes, prints]")}`,
  helper("answers", "answers at length"),
  helper("fails", "fails at once"),
].join("\n")}
`,
  );
  return { top, work, runDir: join(top, "run") };
}

/** A file that a job wrote is kept byte for byte, in its worktree and as its artifact: everything else is searched. */
const leaks = (runDir: string): string[] =>
  leaksBelow(runDir, values).filter((leak) => !/^(?:worktrees\/|[^/]+\/artifacts\/)/.test(leak));

describe("secrets that jobs print", () => {
  let at: Place;
  const said: Record<string, string> = {};

  const say = async (...args: readonly string[]) => {
    const run = await tool().run(args, { cwd: at.work, env });
    said[args.join(" ")] = run.stdout + run.stderr;
    return run;
  };

  beforeAll(async () => {
    at = place();
    const repo = repoAt(at.work);
    repo.git("init", "-q");
    repo.write("notes/kept.txt", "kept\n");
    repo.commit("base");
    await say("run", "jobs.yaml", "--run-dir", at.runDir);
  }, LONG.timeout);

  afterAll(() => rmSync(at.top, { recursive: true, force: true }));

  it("were really printed: the jobs did what they were there for", () => {
    expect(standingOf(stateOf(at.runDir))).toEqual({
      prints: "success, blocked",
      dies: "failed, failed",
      checked: "success, blocked",
      refused: "failed, failed",
      names: "failed, failed",
      writes: "success, blocked",
      after: "success, blocked",
      answers: "success, blocked",
      fails: "failed, failed",
    });
  });

  it("leave no piece in any byte of the run folder", () => {
    expect(leaks(at.runDir)).toEqual([]);
  });

  it("leave no piece on the terminal, whatever is asked", LONG, async () => {
    for (const args of [
      ["status", at.runDir],
      ["next", at.runDir, "--json"],
      ["wait", at.runDir],
      ["events", at.runDir],
      ["explain", at.runDir],
      ["verify", at.runDir],
      ["report", at.runDir, "--format", "md"],
      ["report", at.runDir, "--format", "json"],
      ...["prints", "dies", "checked", "refused", "names", "writes", "answers", "fails"].map((id) => [
        "logs",
        at.runDir,
        id,
      ]),
    ])
      await say(...args);
    const shown = Object.entries(said).flatMap(([command, text]) =>
      leaksIn(text, values).map((leak) => `${command}: ${leak}`),
    );
    expect(shown).toEqual([]);
    expect(leaks(at.runDir)).toEqual([]);
  });
});
