import { describe, expect, it } from "vitest";
import { type CommandLike, checkCommand, checkVariables } from "../../src/plan/check-commands.ts";
import { saidBy } from "./rule-support.ts";

const place = ["jobs", 0, "preview"];
const command = (value: CommandLike, own?: readonly string[]): string[] =>
  saidBy((say) => checkCommand(value, place, say, own));

const line = (shown: string): string =>
  `shell-string jobs[0].preview.command \`${shown}\` is a command line, but \`command\` is one program and no shell reads it | put the program into \`command\` and each argument into \`args\``;
const bypass = (flag: string): string =>
  `permission-bypass jobs[0].preview \`${flag}\` switches permission checks off, and no approval makes that acceptable | remove it; grant what the job needs by \`allowed_tools\` and \`owned_paths\``;

describe("a program", () => {
  it.each([
    "make",
    "./run.sh",
    "../tools/run",
    "/opt/my tools/run",
    "./my tools/run",
    "../my tools/run",
    "\\\\host\\my share\\run.exe",
    "C:\\Program Files\\node\\node.exe",
    "d:/my tools/run",
    "g++",
    "tool@1.2",
  ])("may be %s", (program) => {
    expect(command({ command: program })).toEqual([]);
  });

  it.each([
    "npm test",
    "my tools/run",
    "x/C:/my tools/run",
    ".../my tools/run",
    "/usr/bin/npm test",
    "C:\\bin\\npm test",
    "./npm test",
    ...[
      "a|b",
      "a&b",
      "a;b",
      "a<b",
      "a>b",
      "a(b",
      "a)b",
      "$a",
      'a"b',
      "a'b",
      "a*",
      "a?",
      "a[b",
      "a]b",
      "a{b",
      "a}b",
    ],
  ])("is not %s", (text) => {
    expect(command({ command: text })).toEqual([line(text)]);
  });

  it("has one line and no other program inside", () => {
    expect(command({ command: "a\nb" })).toEqual([line("a\\nb")]);
    expect(command({ command: "a\rb" })).toEqual([line("a\\u000db")]);
    expect(command({ command: "`id`" })).toEqual([line("'id'")]);
  });
});

describe("a bypass", () => {
  it("is found among the arguments of the program that knows it, and nowhere else", () => {
    expect(command({ command: "gemini", args: ["-y", "look"] })).toEqual([bypass("-y")]);
    expect(command({ command: "apt", args: ["-y", "look"] })).toEqual([]);
  });

  it("is found when the runtime at hand is declared to have it", () => {
    expect(command({ command: "apt", args: ["-y"] }, ["-y"])).toEqual([bypass("-y")]);
  });

  it("is found in the program's own place, beside what that place may not be", () => {
    expect(command({ command: "tool --yolo" })).toEqual([line("tool --yolo"), bypass("--yolo")]);
  });

  it("is found where the program or an argument has the wrong type", () => {
    expect(command({ command: 7, args: ["--yolo"] })).toEqual([bypass("--yolo")]);
    expect(command({ args: [1, null, "--yolo"] })).toEqual([bypass("--yolo")]);
    expect(command({ command: "tool", args: "--yolo" })).toEqual([]);
    expect(command({})).toEqual([]);
  });
});

describe("a variable that a child inherits", () => {
  const variables = (...names: string[]): string[] =>
    saidBy((say) => checkVariables(names, ["env_allow"], say));

  it("is a name", () => {
    expect(
      variables("CI", "_x1", "aB", "PATHS", "MY_PATH", "ENVIRONMENT", "GITHUB_TOKEN", "LDFLAGS"),
    ).toEqual([]);
    expect(variables("CI", "A=1", "1A", "A-B", "", " A")).toEqual([
      "env-name env_allow[1] `A=1` is no variable name | give the name only; the value comes from the environment",
      "env-name env_allow[2] `1A` is no variable name | use letters, digits and `_`",
      "env-name env_allow[3] `A-B` is no variable name | use letters, digits and `_`",
      "env-name env_allow[4] `` is no variable name | use letters, digits and `_`",
      "env-name env_allow[5] ` A` is no variable name | use letters, digits and `_`",
    ]);
  });

  it.each(["PATH", "path", "NODE_OPTIONS", "LD_PRELOAD", "DYLD_X", "ENV", "IFS", "GIT_DIR", "PYTHONPATH"])(
    "is never %s, which changes what others start",
    (name) => {
      expect(variables("CI", name)).toEqual([
        `env-refused env_allow[1] \`${name}\` changes how other programs start, so it is never passed on | remove it`,
      ]);
    },
  );
});
