import { describe, expect, it } from "vitest";
import type { Job } from "../../src/core/generated/jobs.ts";
import { checkJob } from "../../src/plan/check-job.ts";
import { LooseJob } from "../../src/plan/spec-shape.ts";
import { type Some, saidBy } from "./rule-support.ts";

const SOUND: Some<Job> = { id: "a", prompt: "look", timeout: "10m" };

/** The second job of a file; what it says about itself when `raw` is what stands there. */
function job(o: Some<Job>, raw: object = { ...SOUND, ...o }, timeoutByDefault = false): string[] {
  return saidBy((say) =>
    checkJob(new LooseJob(1, { ...SOUND, ...o } as Partial<Job>), raw, timeoutByDefault, say),
  );
}
const more = (field: string, label: string, text: string): string =>
  `duration-range jobs[1].${field} \`${label}\` must be more than 0s and at most 24h, but is \`${text}\` | -`;
const most = (field: string, label: string, limit: string, text: string): string =>
  `duration-range jobs[1].${field} \`${label}\` must be at most ${limit}, but is \`${text}\` | -`;
const line = (field: string): string =>
  `shell-string jobs[1].${field}.command \`npm test\` is a command line, but \`command\` is one program and no shell reads it | put the program into \`command\` and each argument into \`args\``;
const outside = (field: string): string =>
  `path-outside jobs[1].${field} the path \`../x\` climbs out of its folder | give a path below the job's \`cwd\``;

describe("the times of a job", () => {
  it("have bounds", () => {
    expect(job({ timeout: "24h", stall_after: "24h", retry: { max_attempts: 2, backoff: "1m" } })).toEqual(
      [],
    );
    expect(job({ timeout: "0s", stall_after: "25h", retry: { max_attempts: 2, backoff: "61s" } })).toEqual([
      more("timeout", "timeout", "0s"),
      more("stall_after", "stall_after", "25h"),
      most("retry.backoff", "backoff", "1m", "61s"),
    ]);
  });

  it("need a timeout, its own or the default one", () => {
    const { timeout: _, ...without } = SOUND;
    const told =
      "timeout-missing jobs[1] job `a` has no `timeout`, and `defaults` has none either | add one, for example `timeout: 10m`";
    expect(job({ timeout: undefined }, without)).toEqual([told]);
    expect(job({ timeout: undefined }, without, true)).toEqual([]);
    expect(job({ timeout: undefined }, { ...SOUND, timeout: 10 })).toEqual([]);
  });

  it("of a script have bounds, and a sleep may be nothing", () => {
    const runtime = "mock";
    expect(job({ runtime, mock: [{ sleep: "0s" }, { "spawn-child": "1s" }] })).toEqual([]);
    expect(job({ runtime, mock: [{ sleep: "25h" }, { "spawn-child": "0s" }] })).toEqual([
      most("mock[0].sleep", "sleep", "24h", "25h"),
      more("mock[1].spawn-child", "spawn-child", "0s"),
    ]);
  });
});

describe("what a job is to do", () => {
  const told =
    "generated-intent jobs[1] job `a` has neither `prompt` nor `skill`: its brief is generated from `task`, `expected_output` and its dependencies | add a `prompt` if that says too little";
  const without = { prompt: undefined };
  const invocation = { command: "make" };

  it("is said by a prompt or a skill", () => {
    expect(job(without, { id: "a", timeout: "10m" })).toEqual([told]);
    expect(job(without, { timeout: "10m", skill: "review" })).toEqual([]);
    expect(job(without, { timeout: "10m", prompt: 7 })).toEqual([]);
  });

  it("is said by a program's vector unless it reads the brief", () => {
    const raw = { timeout: "10m", invocation };
    expect(job({ ...without, runtime: "tool", invocation }, raw)).toEqual([]);
    expect(job({ ...without, runtime: "tool", invocation: { ...invocation, stdin: "none" } }, raw)).toEqual(
      [],
    );
    expect(job({ ...without, runtime: "tool", invocation: { ...invocation, stdin: "prompt" } }, raw)).toEqual(
      [told],
    );
    expect(job(without, raw)).toEqual([]);
  });
});

describe("the route of a job", () => {
  it("has placeholders in their own fields", () => {
    const runtimes =
      "`<verified-cli-runtime>`, `<verified-read-runtime>`, `<verified-judgment-runtime>` or `<verified-fallback-runtime>`";
    const told = (place: string, label: string, text: string, known: string): string =>
      `unknown-placeholder jobs[1].${place} \`${label}\` is \`${text}\`, but its placeholders are ${known} | use one of them as the whole value, or a name`;
    expect(job({ runtime: "<a>", fallback_runtime: ["codex", "<b>"], model: "<c>", cwd: "<d>" })).toEqual([
      told("runtime", "runtime", "<a>", runtimes),
      told("fallback_runtime[1]", "fallback_runtime[1]", "<b>", runtimes),
      told("model", "model", "<c>", "`<resolved-model>`"),
      told("cwd", "cwd", "<d>", "`<workspace-root>`"),
    ]);
  });

  it.each([undefined, "internal", "<verified-judgment-runtime>", "<verified-fallback-runtime>"])(
    "may name an agent of the session on %s",
    (runtime) => {
      expect(job({ agent: "reviewer", runtime })).toEqual([]);
    },
  );

  it.each(["claude", "<verified-cli-runtime>", "<verified-read-runtime>"])(
    "names no agent of the session on %s",
    (runtime) => {
      expect(job({ agent: "reviewer", runtime })).toEqual([
        `agent-not-in-session jobs[1].agent job \`a\` names an \`agent\`, which only a job in the harness session can have, but its runtime is \`${runtime}\` | set \`runtime: internal\`, or remove \`agent\``,
      ]);
    },
  );

  it("names the program that an invocation is for", () => {
    const invocation = { command: "make" };
    const told = (why: string): string =>
      `invocation-without-runtime jobs[1].invocation job \`a\` has an \`invocation\`, but ${why} | set \`runtime\` to the id of a declared program`;
    expect(job({ runtime: "tool", invocation })).toEqual([]);
    expect(job({ invocation })).toEqual([told("names no runtime")]);
    expect(job({ runtime: "internal", invocation })).toEqual([told("its runtime is `internal`")]);
    expect(job({ runtime: "<verified-cli-runtime>", invocation })).toEqual([
      told("its runtime is `<verified-cli-runtime>`"),
    ]);
  });

  it("is the script player's where there is a script", () => {
    expect(job({ runtime: "mock", mock: [] })).toEqual([]);
    expect(job({ runtime: "claude", mock: [] })).toEqual([
      "mock-without-mock-runtime jobs[1].mock job `a` has a `mock` script, which only the runtime `mock` plays | set `runtime: mock`, or remove `mock`",
    ]);
  });

  it("has tools by their words, allowed and refused ones", () => {
    expect(job({ allowed_tools: ["read", "Bash"], disallowed_tools: ["Edit"], runtime: "claude" })).toEqual(
      [],
    );
    const told = (place: string, tool: string): string =>
      `raw-tool jobs[1].${place} \`${tool}\` is a runtime's own tool name, but the job names no runtime | use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent, or set \`runtime\``;
    expect(job({ allowed_tools: ["read", "Bash"], disallowed_tools: ["Edit"] })).toEqual([
      told("allowed_tools[1]", "Bash"),
      told("disallowed_tools[0]", "Edit"),
    ]);
  });
});

describe("the commands of a job", () => {
  it("are programs, each with its own bounds", () => {
    expect(
      job({
        verification: [{ command: "npm" }, { command: "npm test", timeout: "0s" }],
        preview: { command: "npm test", timeout: "25h" },
        rollback: { command: "npm test", timeout: "0s" },
      }),
    ).toEqual([
      line("verification[1]"),
      more("verification[1].timeout", "timeout", "0s"),
      line("preview"),
      more("preview.timeout", "timeout", "25h"),
      line("rollback"),
      more("rollback.timeout", "timeout", "0s"),
    ]);
    expect(job({ preview: "look at the diff", rollback: "revert the one commit of it" })).toEqual([]);
  });

  it("that a program job is, too, with the variables that it inherits", () => {
    expect(job({ runtime: "tool", invocation: { command: "npm test", env_allow: ["CI", "PATH"] } })).toEqual([
      line("invocation"),
      "env-refused jobs[1].invocation.env_allow[1] `PATH` changes how other programs start, so it is never passed on | remove it",
    ]);
  });
});

describe("the files of a job", () => {
  it("lie below its folder", () => {
    expect(
      job({
        owned_paths: ["src/**", "../x"],
        outputs: [{ path: "out.md" }, { path: "../x" }],
        inputs: [{ path: "in.md" }, { path: "../x" }],
        verification: [
          { command: "npm", cwd: "sub" },
          { command: "npm", cwd: "../x" },
        ],
      }),
    ).toEqual([
      "bad-glob jobs[1].owned_paths[1] the glob `../x` climbs out of its folder | give a glob below the job's `cwd`, such as `src/api/**`",
      outside("outputs[1].path"),
      outside("inputs[1].path"),
      outside("verification[1].cwd"),
    ]);
  });

  it("may be checked in the job's own folder", () => {
    expect(job({ verification: [{ command: "npm", cwd: "." }, { command: "npm" }] })).toEqual([]);
    expect(job({ verification: [{ command: "npm", cwd: "./" }] })).toEqual([
      "path-outside jobs[1].verification[0].cwd the path `./` names no file | give a path below the job's `cwd`",
    ]);
  });

  it("that a script makes or removes do, too", () => {
    const at = (path: string): NonNullable<Job["mock"]> => [
      { write: { path, content: "" } },
      { append: { path, content: "" } },
      { link: { path, target: "/etc" } },
      { delete: path },
      { say: path },
    ];
    expect(job({ runtime: "mock", mock: at("x") })).toEqual([]);
    expect(job({ runtime: "mock", mock: at("../x") })).toEqual([
      outside("mock[0].write.path"),
      outside("mock[1].append.path"),
      outside("mock[2].link.path"),
      outside("mock[3].delete"),
    ]);
  });
});
