import { describe, expect, it } from "vitest";
import { parsePolicy, parseRuntimesConfig } from "../../src/plan/config-files.ts";
import { FAKES } from "../support/fake-secrets.ts";

const messages = ({
  diagnostics,
}: {
  diagnostics: readonly { path?: string; code: string; message: string }[];
}) => diagnostics.map((d) => `${d.path ?? "-"} ${d.code} ${d.message}`);
const runtimes = (text: string) => parseRuntimesConfig(text, "runtimes.yaml");

const DECLARED = `runtimes:
  - id: my-agent
    command: my-agent
    version_args: [--version]
    help_args: [--help]
    argv: [run, --json, --model, "{model}", --cwd, "{cwd}"]
    prompt: stdin
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    failures: [{match: {path: error.code, equals: 429}, class: RATE_LIMIT}]
    flags: {model: --model, read_only: [--read-only]}
    bypass_flags: [--yolo]
    env_allow: [MY_AGENT_HOME]
    controls: {approval: scoped, toolGating: coarse, isolation: prompt-only, writeBoundary: enforced}
    capability: C2
  - id: shell
    command: bash
    agent: false
  - id: my-classifier
    command: my-classifier
    agent: false
    role: classifier
    models: [small]
`;

describe("declared runtimes", () => {
  it("are read as they are described", () => {
    const { runtimes: list, diagnostics } = runtimes(DECLARED);
    expect(diagnostics).toEqual([]);
    expect(list.map((runtime) => runtime.id)).toEqual(["my-agent", "shell", "my-classifier"]);
    expect(list[0]?.failures).toEqual([{ match: { path: "error.code", equals: 429 }, class: "RATE_LIMIT" }]);
  });

  it.each<[string, string, string[]]>([
    [
      "its own bypass",
      "argv: [run, --fast], bypass_flags: [--fast]",
      [
        "runtimes[0] permission-bypass `--fast` switches permission checks off, and no approval makes that acceptable",
      ],
    ],
    [
      "a bypass by name",
      "argv: [--dangerously-skip-permissions]",
      [
        "runtimes[0] permission-bypass `--dangerously-skip-permissions` switches permission checks off, and no approval makes that acceptable",
      ],
    ],
    [
      "a bypass among its flags",
      "flags: {workspace_write: [--yolo]}",
      [
        "runtimes[0] permission-bypass `--yolo` switches permission checks off, and no approval makes that acceptable",
      ],
    ],
    [
      "a variable that loads code",
      "env_allow: [NODE_OPTIONS]",
      [
        "runtimes[0].env_allow[0] env-refused `NODE_OPTIONS` changes how other programs start, so it is never passed on",
      ],
    ],
    [
      "an unknown field",
      "comand: x",
      ["runtimes[0].comand unknown-key `comand` is not a field of `runtimes[0]`"],
    ],
    [
      "a failure without a sign",
      "failures: [{match: {}, class: QUOTA}]",
      ["runtimes[0].failures[0].match empty-list `match` must have at least one entry"],
    ],
    [
      "a failure that compares nothing",
      "failures: [{match: {equals: 429}, class: QUOTA}, {match: {exit_code: 3, equals: x}, class: AUTH}]",
      [
        "runtimes[0].failures[0].match.equals incomplete-pair `equals` compares what is at a `path`, and there is none",
        "runtimes[0].failures[1].match.equals incomplete-pair `equals` compares what is at a `path`, and there is none",
      ],
    ],
    [
      "a number for text",
      "version_args: [1.10]",
      ["runtimes[0].version_args[0] wrong-type `version_args[0]` must be text, but is the number 1.10"],
    ],
  ])("with %s are all refused", (_name, fields, expected) => {
    const parsed = runtimes(
      `runtimes:\n  - {id: other, command: x}\n  - {id: x, command: x, ${fields}}\n`.replace(
        "  - {id: other, command: x}\n",
        "",
      ),
    );
    expect(messages(parsed)).toEqual(expected);
    expect(parsed.runtimes).toEqual([]);
  });

  it("with a command line for a program are refused", () => {
    expect(messages(runtimes("runtimes:\n  - {id: x, command: my-agent run --json}\n"))).toEqual([
      "runtimes[0].command shell-string `my-agent run --json` is a command line, but `command` is one program and no shell reads it",
    ]);
  });
});

describe("a policy", () => {
  it("is read as it is described", () => {
    const text = `version: 1
candidates:
  - {runtime: claude, model: "*", effort: high, capability: C3, family: vendor, cost_dimension: quotaBurn}
approvals:
  - {id: release-friday, words: Release on Friday., until: 2030-01-31}
benchmark_sources:
  - {id: board, url: "https://board.example/data.json", format: json, columns: {successRate: score}, models: {Big: big-1}}
`;
    const { policy, diagnostics } = parsePolicy(text, "policy.yaml");
    expect(diagnostics).toEqual([]);
    expect(policy?.candidates?.[0]).toEqual({
      runtime: "claude",
      model: "*",
      effort: "high",
      capability: "C3",
      family: "vendor",
      cost_dimension: "quotaBurn",
    });
  });

  it.each<[string, string, string]>([
    [
      "an address without encryption",
      'benchmark_sources: [{id: a, url: "http://x.example/", format: json, columns: {}, models: {}}]',
      "benchmark_sources[0].url bad-format `url` must be in another form, but is `http://x.example/`",
    ],
    [
      "a day that is none",
      "approvals: [{id: a, words: yes do, until: tomorrow}]",
      "approvals[0].until bad-format `until` must be in another form, but is `tomorrow`",
    ],
    [
      "a tier that is none",
      "candidates: [{runtime: x, capability: C4}]",
      "candidates[0].capability not-allowed-value `capability` must be `C1`, `C2` or `C3`, but is `C4`",
    ],
    ["an alias", "candidates: [{runtime: *x}]", "- yaml-alias aliases (`*name`) are not allowed"],
    ["no map", "- a", "- wrong-type the policy must be a map, but is a list"],
  ])("with %s counts as none", (_name, text, expected) => {
    const parsed = parsePolicy(`${text}\n`, "policy.yaml");
    expect(messages(parsed)).toContain(expected);
    expect(parsed.policy).toBeNull();
  });

  it("with a credential is refused without repeating it", () => {
    const secret = FAKES["github-token"] ?? "";
    const parsed = parsePolicy(`candidates: [{runtime: x, family: ${secret}}]\n`, "policy.yaml");
    expect(messages(parsed)).toEqual(["candidates[0].family secret-in-spec `family` holds a GitHub token"]);
    expect(JSON.stringify(parsed.diagnostics)).not.toContain(secret.slice(0, 12));
  });

  it("may be empty but for comments, and then says so", () => {
    expect(messages(parsePolicy("# nothing yet\n", "policy.yaml"))).toEqual([
      "- empty-document the file holds nothing",
    ]);
    expect(parsePolicy("candidates: []\n", "policy.yaml").policy).toEqual({ candidates: [] });
  });
});
