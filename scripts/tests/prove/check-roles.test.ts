import { describe, expect, it } from "vitest";
import { programAt, shellWords, wordRoles } from "../../src/prove/check-roles.ts";

/** `!` decides, `?` does when it can be run, nothing: it is looked at. */
const MARK = { decides: "!", content: "?", reads: "" } as const;
const marked = (line: string): string => {
  const argv = line.split(" ");
  const roles = wordRoles(argv);
  expect(roles).toHaveLength(argv.length);
  return argv.map((word, i) => `${word}${MARK[roles[i] as keyof typeof MARK]}`).join(" ");
};

describe("the words of a command", () => {
  it.each<[string, string]>([
    ["of a program that only looks are read", "cat! -n out.md src/a.js"],
    ["of a program by its path are what they are by its name", "/usr/bin/cat! src/a.js"],
    ["of a comparison are read, a configuration too", "diff! --config=x.json a.py b.py"],
    ["of a linter are read", "eslint! --fix src/a.js out.json"],
    ["of a linter decide when an option names rules", "eslint! --config rules.json! src/a.js"],
    ["of a linter decide when a short option names rules", "eslint! -c rules.js! src/a.js"],
    ["of a linter decide with the option that holds them", "eslint! --config=rules.json! src/a.js"],
    ["behind an option that says where the result goes are read", "eslint! --output out.js src/a.js"],
    ["behind an option with its own value are read", "eslint! --config=rules.json! rules.json"],
    ["of a compiler decide when they are its project", "tsc! --project tsconfig.json! --noEmit src/a.ts"],
    ["of a program that nobody knows decide when they are code", "tool! run? src/a.js! out.md?"],
    ["of a program that nobody knows decide when an option names a configuration", "tool! --config=x.toml!"],
    ["of such an option in two words do, too", "tool! --settings? x.yaml! x.yaml?"],
    ["behind an option that was given its value are like any other", "tool! --a=b? x.yaml?"],
    ["behind an option that are data may be run", "tool! --input? data.md?"],
    ["of an interpreter decide when they are its script", "sh! recipe! out.md?"],
    ["are data to a script that was named", "node! check.mjs! out.json? --config? x.json!"],
    ["are a script behind options without a value", "node! --no-warnings? recipe! out?"],
    ["are a script behind an option with one", "node! --import? hook? recipe! out?"],
    ["are a script behind an option and its value in one", "node! --import=hook? recipe! out?"],
    ["are a script behind two dashes, whatever they look like", "sh! --? -recipe! out?"],
    ["are no script when the program is in the vector", "sh! -c? make? recipe?"],
    ["are no script behind joined options with the program", "bash! -ec? make? recipe?"],
    ["are no script behind `-e`", "node! -e? code? recipe?"],
    ["are no script behind `--eval`", "node! --eval? code? recipe?"],
    ["are no script behind `--print`", "node! --print? code? recipe?"],
    ["are no script behind `-p`", "node! -p? code? recipe?"],
    ["of a module that is no judge are no script", "python3! -m? unittest? tests?"],
    ["of a module that judges are read", "python3! -m mypy src/a.py"],
    [
      "of a module that judges decide when they are its rules",
      "python3! -m mypy --config-file my.ini! src/a.py",
    ],
    ["of an option that ends the vector are none", "python3! -m?"],
    ["of an interpreter without a script are none", "node! --version?"],
    ["of node are read when it checks syntax only", "node! --check src/a.js"],
    ["of node are read when it checks syntax by the short option", "node! -c src/a.js"],
    ["of another interpreter are run, whatever module a word looks like", "node! -m? mypy? src/a.py!"],
    ["of another interpreter are run behind the same option", "ruby! --check? recipe!"],
    ["of what a wrapper starts are what they are without it", "npx! eslint! src/a.js"],
  ])("%s", (_, expected) => {
    expect(marked(expected.replaceAll(/[!?](?= |$)/g, ""))).toBe(expected);
  });

  it("are what they are behind a wrapper, which decides itself", () => {
    expect(marked("env A=1 timeout 60 sh recipe out.md")).toBe("env! A=1? timeout? 60? sh! recipe! out.md?");
    expect(marked("npm exec -- eslint --config rules.json src/a.js")).toBe(
      "npm! exec -- eslint! --config rules.json! src/a.js",
    );
  });

  it("are none of no command", () => {
    expect(wordRoles([])).toEqual([]);
  });
});

describe("the program of a command", () => {
  it.each<[string, string]>([
    ["make all", "make"],
    ["env A=1 B_2=x make", "make"],
    ["nice -n 5 make", "make"],
    ["timeout 1.5s make", "make"],
    ["timeout 60 make", "make"],
    ["timeout -k 5m 1h make", "make"],
    ["/usr/bin/env sh x", "sh"],
    ["sudo nohup env sh x", "sh"],
    ["env 7zip x", "7zip"],
    ["timeout 60x make", "60x"],
    ["npx -y vitest run", "vitest"],
    ["npm exec vitest run", "vitest"],
    ["/opt/bin/npm exec vitest", "vitest"],
    ["pnpm dlx vitest", "vitest"],
    ["uv run env A=1 pytest", "pytest"],
    ["uv tool run ruff check", "ruff"],
    ["npm test exec", "npm"],
    ["npm exec", "npm"],
    ["make exec x", "make"],
    ["env", "env"],
    ["env A=1", "env"],
    ["xargs -0", "xargs"],
  ])("in `%s` is `%s`", (line, program) => {
    const argv = line.split(" ");
    expect(argv[programAt(argv)]).toBe(program);
  });

  it("of no command is none", () => {
    expect(programAt([])).toBe(0);
  });
});

describe("the words of a text for a shell", () => {
  it("are what stands between its signs", () => {
    expect(shellWords(["sh", "-c", `cd a/b && ./x.sh 'c d' "e" | tee f>g; (h) <i \`j\` K=l &`])).toEqual(
      "cd a/b ./x.sh c d e tee f g h i j K l".split(" "),
    );
  });

  it("are found behind a wrapper, a path and joined options", () => {
    expect(shellWords(["env", "A=1", "/bin/bash", "-euc", "run x"])).toEqual(["run", "x"]);
  });

  it.each([
    ["another program", ["node", "-c", "run x"]],
    ["a shell with a script", ["sh", "recipe", "x"]],
    ["a shell with a longer option", ["sh", "--c", "run x"]],
    ["a shell with an option that goes on", ["sh", "-cx", "run x"]],
    ["an option that the wrapper has", ["xargs", "-c", "sh", "recipe"]],
    ["a shell without its text", ["sh", "-c"]],
    ["nothing", []],
  ])("are none of %s", (_, argv) => {
    expect(shellWords(argv)).toEqual([]);
  });
});
