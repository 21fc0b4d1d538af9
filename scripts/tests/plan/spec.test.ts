import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseSpec } from "../../src/plan/spec.ts";
import { FAKES } from "../support/fake-secrets.ts";
import { PROPERTY } from "../support/property.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../fixtures/specs/${name}`, import.meta.url), "utf8");
const parse = (text: string | Uint8Array, fileName = "jobs.yaml") => parseSpec(text, { fileName });
const errors = (text: string, fileName?: string): string[] =>
  parse(text, fileName)
    .diagnostics.filter((d) => d.severity === "error")
    .map((d) => `${d.line}:${d.column} ${d.code}`);

const JOB = { task: "scout", prompt: "look", expected_output: "a report", timeout: "10m" };
const spec = (...jobs: object[]) => ({ version: 1, jobs });

describe("the sample of the format's first description", () => {
  it("validates as it is printed", () => {
    const { spec: parsed, diagnostics } = parse(fixture("brief-sample.yaml"));
    expect(parsed?.jobs.map((job) => job.id)).toEqual(["scout-session-api", "independent-review"]);
    expect(diagnostics.map((d) => `${d.severity} ${d.code}`)).toEqual([
      "info intake-incomplete",
      "info calibration-off",
      "warning generated-intent",
    ]);
  });
});

describe("a spec with every field", () => {
  it("is valid and read as it is written", () => {
    const { spec: parsed, diagnostics } = parse(fixture("every-field.yaml"));
    expect(diagnostics).toEqual([]);
    expect(parsed?.jobs[2]?.model).toBe("1.10");
    expect(parsed?.budget?.limit).toBe(2.5);
  });

  it("means the same as YAML and as JSON", () => {
    const { spec: parsed } = parse(fixture("every-field.yaml"));
    expect(parse(JSON.stringify(parsed), "jobs.json").spec).toEqual(parsed);
    expect(parse(stringify(parsed)).spec).toEqual(parsed);
  });
});

describe("a spec's faults", () => {
  it("are all found in one pass, in the order of the file", () => {
    const text = `version: 2
concurrency: 0
jobs:
  - id: A
    task: scot
    prompt: look
    expected_output: x
    timeout: 90
    depends_on: [b, b, ghost]
  - id: b
    expected_output: x
    tiemout: 5m
    verification: [{command: a && b}]
`;
    expect(errors(text)).toEqual([
      "1:10 not-allowed-value",
      "2:14 out-of-range",
      "4:9 bad-job-id",
      "5:11 not-allowed-value",
      "8:14 wrong-type",
      "9:21 duplicate-entry",
      "9:24 unknown-dependency",
      "10:5 task-or-model",
      "10:5 timeout-missing",
      "12:5 unknown-key",
      "13:30 shell-string",
    ]);
  });

  it("leave no spec to go on with, and warnings do", () => {
    expect(parse(stringify(spec({ id: "a", ...JOB, effort: "turbo" }))).spec).toBeNull();
    expect(parse(stringify(spec({ id: "a", ...JOB, prompt: undefined }))).spec).not.toBeNull();
  });

  it("of a list that is no map are not repeated for its parts", () => {
    expect(parse("- a\n").diagnostics.map((d) => d.message)).toEqual([
      "the spec must be a map, but is a list",
    ]);
  });

  it("are the same however often they are looked for", () => {
    const text = fixture("every-field.yaml").replaceAll("expected_output", "expected_outputs");
    expect(parse(text).diagnostics).toEqual(parse(text).diagnostics);
  });
});

describe("ids of jobs", () => {
  it.each([
    "../a",
    "a/b",
    "a\\b",
    ".",
    "..",
    "a..b",
    "a.",
    "a.lock",
    "A",
    "é",
    "e\u0301",
    "a b",
    "a\n",
    "-a",
    "",
    "x".repeat(65),
    "con",
    "nul.txt",
    "com1",
    "state.json",
    "worktrees",
    "inbox",
    "arbiter",
    "arbiter-1",
    "attempt-2",
    "a\u202eb",
    "аdmin",
  ])("are not %j", (id) => {
    const found = errors(JSON.stringify(spec({ id, ...JOB })), "jobs.json");
    expect(found.every((text) => /bad-job-id|too-short/.test(text))).toBe(true);
    expect(found).not.toEqual([]);
  });

  it.each(["a", "0", "a.b", "a_b-c", "constructor", "prototype", "x".repeat(64), "console", "no"])(
    "may be %j",
    (id) => expect(errors(JSON.stringify(spec({ id, ...JOB })), "jobs.json")).toEqual([]),
  );
});

describe("dependencies", () => {
  const graph = fc
    .integer({ min: 1, max: 12 })
    .chain((size) =>
      fc.array(fc.array(fc.nat(size - 1), { maxLength: 4 }), { minLength: size, maxLength: size }),
    );

  it("are refused as a cycle exactly when following them comes back", () =>
    fc.assert(
      fc.property(graph, (edges) => {
        const jobs = edges.map((list, index) => ({
          id: `j${index}`,
          ...JOB,
          depends_on: [...new Set(list)].filter((other) => other !== index).map((other) => `j${other}`),
        }));
        const found = parse(JSON.stringify(spec(...jobs)), "jobs.json").diagnostics.filter(
          (d) => d.code === "cyclic-dependency",
        );
        expect(found.length > 0).toBe(comesBack(jobs));
        for (const { message } of found) {
          const path = message.replace("these jobs wait for each other: ", "").split(" → ");
          expect(path[0]).toBe(path.at(-1));
          for (const [index, id] of path.slice(0, -1).entries())
            expect(jobs.find((job) => job.id === id)?.depends_on).toContain(path[index + 1]);
        }
      }),
      PROPERTY,
    ));

  it("order the writers of one file", () => {
    const out = { outputs: [{ path: "out.md" }] };
    const chain = spec(
      { id: "a", ...JOB, ...out },
      { id: "b", ...JOB, depends_on: ["a"] },
      { id: "c", ...JOB, ...out, depends_on: ["b"] },
    );
    expect(errors(JSON.stringify(chain), "jobs.json")).toEqual([]);
    const apart = spec({ id: "a", ...JOB, ...out }, { id: "b", ...JOB, outputs: [{ path: "./out.md" }] });
    expect(errors(JSON.stringify(apart), "jobs.json")).toEqual(["1:244 output-conflict"]);
    const elsewhere = spec({ id: "a", ...JOB, ...out }, { id: "b", ...JOB, cwd: "sub", ...out });
    expect(errors(JSON.stringify(elsewhere), "jobs.json")).toEqual([]);
  });
});

function comesBack(jobs: readonly { id: string; depends_on: readonly string[] }[]): boolean {
  const left = new Map(jobs.map((job) => [job.id, new Set(job.depends_on)]));
  for (let free = true; free; ) {
    free = false;
    for (const [id, above] of left)
      if (above.size === 0) {
        left.delete(id);
        for (const others of left.values()) others.delete(id);
        free = true;
      }
  }
  return left.size > 0;
}

describe("paths and globs", () => {
  it.each([
    "../x",
    "a/../../x",
    "/etc/passwd",
    "C:\\x",
    "~/x",
    ".git/config",
    "a/.GIT/hooks",
    ".git. /x",
    "git~1/x",
    "a\\b",
    "",
    ".",
  ])("an output is not at %j", (path) =>
    expect(errors(JSON.stringify(spec({ id: "a", ...JOB, outputs: [{ path }] })), "jobs.json")).toHaveLength(
      1,
    ),
  );

  it.each(["a.md", "a/b/c", "./a", ".gitignore", ".github/x", "a b", "~x", "..a", "a..b"])(
    "an output may be at %j",
    (path) =>
      expect(errors(JSON.stringify(spec({ id: "a", ...JOB, outputs: [{ path }] })), "jobs.json")).toEqual([]),
  );

  it.each(["!a", "../a/**", "a/../b", "{..,a}/b", "/a", ".git/**", "a/.git"])("nobody owns %j", (glob) =>
    expect(errors(JSON.stringify(spec({ id: "a", ...JOB, owned_paths: [glob] })), "jobs.json")).toHaveLength(
      1,
    ),
  );

  it.each(["**", ".", "src/**", "a/{b,c}/*.ts", "a/[ab].md", "a/\\*.md", "docs/!(x).md"])(
    "a job may own %j",
    (glob) =>
      expect(errors(JSON.stringify(spec({ id: "a", ...JOB, owned_paths: [glob] })), "jobs.json")).toEqual([]),
  );
});

describe("commands", () => {
  it.each([
    "npm test",
    "a && b",
    "a|b",
    "$(id)",
    "`id`",
    "a;b",
    "a > b",
    "ls *",
    "a\nb",
    "/usr/bin/npm test",
  ])("%j is no program", (command) =>
    expect(
      errors(JSON.stringify(spec({ id: "a", ...JOB, verification: [{ command }] })), "jobs.json"),
    ).toHaveLength(1),
  );

  it.each(["npm", "./run.sh", "/opt/my tools/run", "C:\\Program Files\\node\\node.exe", "python3.12", "g++"])(
    "%j is one",
    (command) =>
      expect(
        errors(JSON.stringify(spec({ id: "a", ...JOB, verification: [{ command }] })), "jobs.json"),
      ).toEqual([]),
  );

  it("may be a shell with the text as its argument", () => {
    const verification = [{ command: "sh", args: ["-c", "npm test && npm run lint"] }];
    expect(errors(JSON.stringify(spec({ id: "a", ...JOB, verification })), "jobs.json")).toEqual([]);
  });

  it.each([
    [{ verification: [{ command: "claude", args: ["--dangerously-skip-permissions"] }] }],
    [{ preview: { command: "sh", args: ["-c", "gemini --yolo"] } }],
    [{ rollback: { command: "codex", args: ["--sandbox", "danger-full-access"] } }],
    [{ runtime: "tool", invocation: { command: "x", args: ["--allow-all-tools"] } }],
  ])("hold no bypass in %j", (fields) =>
    expect(errors(JSON.stringify(spec({ id: "a", ...JOB, ...fields })), "jobs.json")).toEqual([
      expect.stringMatching(/permission-bypass$/),
    ]),
  );

  it.each([
    "PATH",
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "BASH_ENV",
    "GIT_DIR",
    "git_config_count",
    "DYLD_INSERT_LIBRARIES",
  ])("never inherit %s", (name) => {
    const job = { id: "a", ...JOB, runtime: "tool", invocation: { command: "x", env_allow: [name] } };
    expect(errors(JSON.stringify(spec(job)), "jobs.json")).toEqual([expect.stringMatching(/env-refused$/)]);
  });
});

describe("a credential", () => {
  const planted = fc.tuple(
    fc.constantFrom(...Object.values(FAKES)),
    fc.constantFrom(
      (value: string) => ({ prompt: value }),
      (value: string) => ({ model: value }),
      (value: string) => ({ cwd: value }),
      (value: string) => ({ timeout: value }),
      (value: string) => ({ effort: value }),
      (value: string) => ({ id: value }),
      (value: string) => ({ depends_on: [value, value] }),
      (value: string) => ({ owned_paths: [value] }),
      (value: string) => ({ outputs: [{ path: value }] }),
      (value: string) => ({ allowed_tools: [value] }),
      (value: string) => ({ verification: [{ command: "curl", args: ["-H", value] }] }),
      (value: string) => ({ verification: [{ command: value }] }),
      (value: string) => ({ invocation: { command: "x", env_allow: [value] } }),
      (value: string) => ({ [value]: 1 }),
    ),
  );

  it("is refused in any field, and no message repeats a piece of it", () =>
    fc.assert(
      fc.property(planted, ([value, put]) => {
        const { spec: parsed, diagnostics } = parse(
          JSON.stringify(spec({ id: "a", ...JOB, ...put(value) })),
          "jobs.json",
        );
        expect(parsed).toBeNull();
        expect(diagnostics.map((d) => d.code)).toContain("secret-in-spec");
        const printed = JSON.stringify(diagnostics);
        const secret = value.split(/[\s:=?&@"]+/).sort((a, b) => b.length - a.length)[0] ?? "";
        for (let at = 0; at + 12 <= secret.length; at += 1)
          expect(printed).not.toContain(secret.slice(at, at + 12));
      }),
      PROPERTY,
    ));

  it.each([
    [
      "text that fits nowhere",
      (pad: string, value: string) => ` version: 1\njobs: []\n${pad}${value}: |\n  x\n`,
    ],
    [
      "a value that should be a list",
      (pad: string, value: string) => `version: 1\njobs: [{ id: a, depends_on: "${pad}${value}" }]\n`,
    ],
  ])("is not shown in part where %s is cut", (_, text) => {
    const value = `ghp_${"a1".repeat(18)}`;
    for (let pad = 0; pad < 70; pad += 1)
      expect(JSON.stringify(parse(text("x".repeat(pad), value), "jobs.yaml").diagnostics)).not.toContain(
        "ghp_",
      );
  });

  it("is refused as the argument after a flag that names it", () => {
    const verification = [{ command: "login", args: ["--password", "hunter22b"] }];
    const found = parse(JSON.stringify(spec({ id: "a", ...JOB, verification })), "jobs.json").diagnostics;
    expect(found.filter((d) => d.severity === "error").map((d) => `${d.path} ${d.message}`)).toEqual([
      "jobs[0].verification[0].args[1] `args[1]` holds a value for the secret-named flag `--password`",
    ]);
  });

  it("is not seen in what only stands for one", () => {
    const prompt =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's placeholder
      "Use $API_TOKEN, ${DB_PASSWORD} and `password: <yours>`; the token: authentication part stays.";
    const verification = [{ command: "login", args: ["--password", "$PASSWORD", "--token", "./token.txt"] }];
    expect(errors(JSON.stringify(spec({ id: "a", ...JOB, prompt, verification })), "jobs.json")).toEqual([]);
  });
});
