import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRequest } from "../../src/cli/args.ts";
import { COMMANDS, GLOBAL_FLAGS } from "../../src/cli/commands.ts";

const faults = (...argv: string[]): string[] => {
  const request = parseRequest(argv);
  return request.kind === "usage"
    ? request.diagnostics.map((d) => `${d.code}: ${d.message} | ${d.fix}`)
    : [request.kind];
};

describe("a command line that fits the table", () => {
  it("gives flags by their long names and arguments in order", () => {
    const request = parseRequest([
      "run",
      "jobs.yaml",
      "--only",
      "a",
      "--yes",
      "--only=b",
      "--concurrency",
      "4",
    ]);
    expect(request).toMatchObject({
      kind: "command",
      spec: { name: "run" },
      json: false,
      parsed: { args: ["jobs.yaml"], flags: { only: ["a", "b"], yes: true, concurrency: "4" } },
    });
  });

  it("takes --json before the command and subcommands of two words", () => {
    expect(parseRequest(["--json", "native", "start", "--job", "a", "--attempt", "1"])).toMatchObject({
      kind: "command",
      spec: { name: "native start" },
      json: true,
    });
  });

  it("takes everything after -- as arguments, and a value that begins with a dash", () => {
    expect(parseRequest(["logs", "--", "--odd"])).toMatchObject({ parsed: { args: ["--odd"] } });
    expect(parseRequest(["deny", "--note", "-1 from me"])).toMatchObject({
      parsed: { flags: { note: "-1 from me" } },
    });
  });

  it("takes each command's own example", () => {
    for (const spec of COMMANDS)
      expect(parseRequest(spec.example.argv), spec.name).toMatchObject({ kind: "command" });
  });
});

describe("a command line that does not fit", () => {
  it("is told the nearest command", () => {
    expect(faults("wiat")).toEqual(["unknown-command: `wiat` is no command | did you mean `wait`?"]);
    expect(faults("native", "strat")).toEqual([
      "unknown-command: `native` has no `strat` | did you mean `native start`?",
    ]);
    expect(faults("native")).toEqual([
      "unknown-command: `native` needs a subcommand | known: `native start`, `native finish`, `native fail`, `native cancelled`",
    ]);
  });

  it("is told what to do with a file, a run or free text in the place of a command", () => {
    expect(faults("jobs.yaml")).toEqual(["unknown-command: `jobs.yaml` is no command | `run jobs.yaml`"]);
    expect(faults("--resume", "x")).toEqual([
      "unknown-command: `--resume` is a flag of `run` | `resume RUN`",
    ]);
    expect(faults("compare three caches")).toEqual([
      "unknown-command: free text is no command | write a job spec (`init`), then `run` it",
    ]);
    expect(faults("--json")).toEqual(["unknown-command: no command was given | see `--help`"]);
  });

  it("is told the nearest flag and value", () => {
    expect(faults("wait", "--timeot", "3m")).toEqual([
      "unknown-flag: `--timeot` is no flag of this command | did you mean `--timeout`?",
    ]);
    expect(faults("wait", "--for", "setled")).toEqual([
      "flag-value-invalid: `--for` must be one of `action`, `change`, `settled`, not `setled` | did you mean `--for settled`?",
    ]);
    expect(faults("completion", "bahs")).toEqual([
      "argument-invalid: SHELL must be one of `bash`, `zsh`, `fish`, not `bahs` | did you mean `bash`?",
    ]);
  });

  it("is told all its faults at once", () => {
    expect(faults("run", "a.yaml", "b.yaml", "--concurrency", "65", "--yes=1", "--harness")).toEqual([
      "flag-value-invalid: `--concurrency` must be a whole number from 1 to 64, not `65` | see `run --help`",
      "flag-value-unexpected: `--yes` takes no value | see `run --help`",
      "flag-value-missing: `--harness` needs a value: NAME | see `run --help`",
      "argument-unexpected: unexpected argument `b.yaml` | see `run --help`",
    ]);
  });

  it("is told of a missing argument, a repeated flag and a value that is another flag", () => {
    expect(faults("validate")).toEqual([
      "argument-missing: SPEC is missing: job spec, YAML or JSON | see `validate --help`",
    ]);
    expect(faults("cancel", "--job", "a", "--job", "b")).toEqual([
      "flag-repeated: `--job` may be given once | see `cancel --help`",
    ]);
    expect(faults("cancel", "--job", "--json")).toEqual([
      "flag-value-missing: `--job` needs a value: JOB | see `cancel --help`",
    ]);
    expect(faults("wait", "--timeout", "1.5h")).toEqual([
      "flag-value-invalid: `--timeout` must be a time such as `90s`, `10m` or `1h30m`, not `1.5h` | see `wait --help`",
    ]);
  });
});

describe("any argument vector", () => {
  const names = COMMANDS.flatMap((spec) => spec.name.split(" "));
  const flags = COMMANDS.flatMap((spec) => spec.flags.map((flag) => `--${flag.name}`));
  const word = fc.oneof(fc.constantFrom(...names, ...flags, "--", "-h", "--json", "-x", ""), fc.string());

  it("gives a request and never throws", () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (argv) => {
        const request = parseRequest(argv);
        if (request.kind === "usage") expect(request.diagnostics.length).toBeGreaterThan(0);
        for (const d of request.kind === "usage" ? request.diagnostics : [])
          expect(d.fix, "every usage fault says what to do").toBeDefined();
      }),
    );
  });
});

describe("the command table", () => {
  it("has unique names, and flags that are unique within a command and never the global ones", () => {
    const names = COMMANDS.map((spec) => spec.name);
    expect(new Set(names).size).toBe(names.length);
    for (const spec of COMMANDS) {
      const flags = [...spec.flags, ...GLOBAL_FLAGS].map((flag) => flag.name);
      expect(new Set(flags).size, spec.name).toBe(flags.length);
    }
  });

  it("loads a handler for each command", async () => {
    for (const spec of COMMANDS) expect(typeof (await spec.load()).handler, spec.name).toBe("function");
  });
});
