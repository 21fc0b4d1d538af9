import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeCli } from "../support/fake-cli.ts";
import { builtTool } from "../support/tool.ts";

const tool = builtTool();
let project: string;
let home: string;

beforeEach(() => {
  project = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-policy-")));
  home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-home-")));
  mkdirSync(join(project, ".orchestrate"));
});
afterEach(() => {
  rmSync(project, { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true });
});

const json = (args: readonly string[]) => tool().json(args, { cwd: project, env: { HOME: home } });
const show = async () =>
  (await json(["policy", "show"])).data as {
    unconfirmed: { digest: string; fileSha256: string; words: string }[];
    declared: { id: string; source: string; confirmed: boolean }[];
    egress: { counts: boolean }[];
    files: { confirmed: boolean }[];
  };
const projectFile = (name: string, text: string): void =>
  writeFileSync(join(project, ".orchestrate", name), text);

describe("policy set", () => {
  it("writes the user's own file, and shows it", async () => {
    const done = await json(["policy", "set", "opencode", "--provider", "local", "--capability", "C3"]);
    const path = join(home, ".orchestrate/policy.yaml");
    expect(done).toMatchObject({
      code: 0,
      data: {
        path,
        written: true,
        before: null,
        after: { runtime: "opencode", provider: "local", capability: "C3" },
      },
    });
    expect(readFileSync(path, "utf8")).toContain(
      "- runtime: opencode\n    provider: local\n    capability: C3\n",
    );
    expect((await tool().run(["policy", "show"], { cwd: project, env: { HOME: home } })).stdout).toBe(
      `${path} (home, sha256 ${createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 16)})\n  runtime: opencode, provider: local, capability: C3\n`,
    );
  });

  it("says that a project's word has to be confirmed, and writes nothing on a dry run", async () => {
    expect(await json(["policy", "set", "pi", "--capability", "C3", "--project", "--dry-run"])).toMatchObject(
      {
        code: 0,
        data: { written: false },
      },
    );
    expect((await show()).files).toEqual([]);
    const done = await json(["policy", "set", "pi", "--capability", "C3", "--project"]);
    const { digest } = done.data as { digest: string };
    expect(done.diagnostics).toEqual([
      {
        severity: "info",
        code: "policy-unconfirmed",
        file: join(project, ".orchestrate/policy.yaml"),
        message:
          "A project file may lower a capability; what this entry raises counts only once the user confirmed it.",
        fix: `node '${tool().main}' approve --policy ${digest.slice(0, 16)}`,
      },
    ]);
  });

  it("keeps a link to a file elsewhere", async () => {
    mkdirSync(join(home, ".orchestrate"));
    mkdirSync(join(home, "dotfiles"));
    writeFileSync(join(home, "dotfiles/policy.yaml"), "version: 1\n");
    symlinkSync(join(home, "dotfiles/policy.yaml"), join(home, ".orchestrate/policy.yaml"));
    expect((await json(["policy", "set", "pi", "--family", "acme"])).code).toBe(0);
    expect(lstatSync(join(home, ".orchestrate/policy.yaml")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(home, "dotfiles/policy.yaml"), "utf8")).toBe(
      "version: 1\ncandidates:\n  - runtime: pi\n    family: acme\n",
    );
  });

  it.each<[string, string[], string]>([
    [
      "an unknown runtime",
      ["claud", "--capability", "C3"],
      "No runtime has the id `claud`; did you mean `claude`?",
    ],
    [
      "nothing",
      ["claude"],
      "Nothing is said of it: give --capability, --family, --cost-dimension, --unset or --remove.",
    ],
    [
      "a field set and unset",
      ["claude", "--family", "x", "--unset", "family"],
      "`family` is set and unset at once.",
    ],
    [
      "an unknown field",
      ["claude", "--unset", "egress"],
      "--unset takes `capability`, `family`, `cost-dimension`, not `egress`.",
    ],
    [
      "a field of what is removed",
      ["claude", "--family", "x", "--remove"],
      "--remove takes the whole entry away: nothing can be set in it.",
    ],
  ])("refuses %s", async (_what, args, message) => {
    const done = await json(["policy", "set", ...args]);
    expect([done.code, done.diagnostics[0]?.message]).toEqual([2, message]);
  });

  it("leaves a file with a fault as it is", async () => {
    projectFile("policy.yaml", "candidates: [{runtime: pi, capabilty: C3}]\n");
    const done = await json(["policy", "set", "pi", "--family", "x", "--project"]);
    expect([done.code, done.diagnostics[0]?.code]).toEqual([2, "unknown-key"]);
  });
});

describe("a configuration that cannot be read", () => {
  const spec = `version: 1\noutcome: x\njobs:\n  - {id: a, task: scout, runtime: mock, prompt: look, expected_output: text, timeout: 1m, mock: [{say: hi}]}\n`;
  it.each<[string, string, (path: string) => void]>([
    ["a folder", "it is no file", (path) => mkdirSync(path)],
    ["a link in a circle", "ELOOP", (path) => symlinkSync(path, path)],
    ["a pipe that nobody fills", "it is no file", (path) => void execFileSync("mkfifo", [path])],
    ["a huge file", "it is over 16 MiB", (path) => truncateSync(touch(path), 17 * 1024 * 1024)],
  ])("because it is %s is a fault of its own, and nothing runs past it", async (_what, why, make) => {
    writeFileSync(join(project, "jobs.yaml"), spec);
    for (const name of ["policy.yaml", "runtimes.yaml"]) {
      const path = join(project, ".orchestrate", name);
      make(path);
      const plan = await json(["plan", "jobs.yaml"]);
      const said = plan.diagnostics.filter((one) => one.code === "config-unreadable");
      expect([plan.code, said.map((one) => one.message)]).toEqual([
        2,
        [`\`${path}\` cannot be read: ${why}.`],
      ]);
      rmSync(path, { recursive: true });
    }
  });

  it("is left as it is by `policy set`", async () => {
    const path = join(project, ".orchestrate/policy.yaml");
    mkdirSync(path);
    const done = await json(["policy", "set", "pi", "--family", "x", "--project"]);
    expect([done.code, done.diagnostics[0]?.code]).toEqual([2, "config-unreadable"]);
  });
});

function touch(path: string): string {
  writeFileSync(path, "");
  return path;
}

describe("what a project claims", () => {
  const C3 =
    "candidates:\n  - {runtime: opencode, capability: C3}\n  - {runtime: pi, capability: C3, family: acme}\n";

  it("counts entry by entry once the user approved it, and no longer once taken back", async () => {
    projectFile("policy.yaml", C3);
    const [first] = (await show()).unconfirmed;
    const hash = (first?.digest ?? "").slice(0, 12);
    const approved = await json(["approve", "--policy", hash]);
    expect(approved).toMatchObject({ code: 0, data: { changed: 1, attested: true } });
    expect((await show()).unconfirmed.map((one) => one.words)).toEqual([
      '{"runtime":"pi","capability":"C3","family":"acme"}',
    ]);
    // A comment is no claim: what was confirmed stays so. Another entry is another claim.
    projectFile("policy.yaml", `# why\n${C3.replace("family: acme", "family: other")}`);
    expect((await show()).unconfirmed.map((one) => one.words)).toEqual([
      '{"runtime":"pi","capability":"C3","family":"other"}',
    ]);
    expect(await json(["approve", "--policy", hash])).toMatchObject({ code: 0, data: { changed: 0 } });
    expect(await json(["deny", "--policy", hash])).toMatchObject({ code: 0, data: { changed: 1 } });
    expect((await show()).unconfirmed).toHaveLength(2);
  });

  it("can be approved as a whole file", async () => {
    projectFile("policy.yaml", C3);
    const { fileSha256 } = (await show()).unconfirmed[0] as { fileSha256: string };
    expect(await json(["approve", "--policy", fileSha256])).toMatchObject({ code: 0, data: { changed: 2 } });
    const after = await show();
    expect([after.unconfirmed, after.files[0]?.confirmed]).toEqual([[], true]);
  });

  it("was approved for this project only", async () => {
    projectFile("policy.yaml", C3);
    const { fileSha256 } = (await show()).unconfirmed[0] as { fileSha256: string };
    await json(["approve", "--policy", fileSha256]);
    const copy = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-copy-")));
    mkdirSync(join(copy, ".orchestrate"));
    writeFileSync(join(copy, ".orchestrate/policy.yaml"), C3);
    const shown = await tool().json(["policy", "show"], { cwd: copy, env: { HOME: home } });
    rmSync(copy, { recursive: true, force: true });
    expect((shown.data as { unconfirmed: unknown[] }).unconfirmed).toHaveLength(2);
  });

  it("raises nothing before, and plan says which command would let it", async () => {
    const bin = join(project, "bin");
    fakeCli(bin, "my-agent", { "*": "echo my-agent 1.0.0" });
    projectFile(
      "runtimes.yaml",
      "runtimes:\n  - {id: my-agent, command: my-agent, controls: {toolGating: coarse}, flags: {read_only: [--read-only]}, capability: C3, family: acme}\n",
    );
    writeFileSync(
      join(project, "jobs.yaml"),
      "version: 1\njobs:\n  - {id: think, task: architecture, runtime: my-agent, prompt: think, expected_output: text, timeout: 1m}\n",
    );
    const env = { HOME: home, PATH: `${bin}:${process.env["PATH"]}` };
    const plan = async () => {
      const done = await tool().json(["plan", "jobs.yaml"], { cwd: project, env });
      const { plan } = done.data as { plan: { jobs: { route: { blocked: { code: string } | null } }[] } };
      return { blocked: plan.jobs[0]?.route.blocked?.code ?? null, diagnostics: done.diagnostics };
    };
    const before = await plan();
    const digest = (await show()).unconfirmed[0]?.digest.slice(0, 16);
    expect(before.blocked).toBe("below-capability");
    expect(
      before.diagnostics.filter((one) => one.code === "policy-unconfirmed").map((one) => one.message),
    ).toEqual([
      `runtimes.yaml entry \`my-agent\` claims C3: counts once the user confirmed it (\`approve --policy ${digest}\`)`,
      `runtimes.yaml entry \`my-agent\` claims family \`acme\`: counts once the user confirmed it (\`approve --policy ${digest}\`)`,
    ]);
    expect((await json(["approve", "--policy", digest as string])).code).toBe(0);
    const after = await plan();
    expect([after.blocked, after.diagnostics.some((one) => one.code === "policy-unconfirmed")]).toEqual([
      null,
      false,
    ]);
  });

  it("never replaces a runtime of the home, and passes no credential unasked", async () => {
    mkdirSync(join(home, ".orchestrate"));
    writeFileSync(join(home, ".orchestrate/runtimes.yaml"), "runtimes:\n  - {id: mine, command: mine}\n");
    projectFile(
      "runtimes.yaml",
      "runtimes:\n  - {id: mine, command: ./evil}\n  - {id: other, command: other, env_allow: [OTHER_HOME, OTHER_TOKEN]}\n",
    );
    const done = await json(["policy", "show"]);
    const { declared } = done.data as { declared: { id: string; source: string }[] };
    expect(declared.map(({ id, source }) => `${id} ${source}`)).toEqual(["mine home", "other project"]);
    expect(done.diagnostics.map((one) => [one.code, one.message])).toEqual([
      [
        "credential-unconfirmed",
        `\`${join(project, ".orchestrate/runtimes.yaml")}\` wants to pass \`OTHER_TOKEN\` to \`other\`: it is not passed until the user confirmed the entry.`,
      ],
      [
        "runtime-shadowed",
        `\`${join(project, ".orchestrate/runtimes.yaml")}\` declares \`mine\`, which \`${join(home, ".orchestrate/runtimes.yaml")}\` declares, too: the one of the home counts.`,
      ],
    ]);
  });

  it("lets nothing be sent to a provider", async () => {
    const entry =
      "candidates:\n  - runtime: pi\n    egress: [{provider: acme, credential_source: env, content_classes: [prompt], scope: run}]\n";
    projectFile("policy.yaml", entry);
    expect((await show()).egress.map((one) => one.counts)).toEqual([false]);
    mkdirSync(join(home, ".orchestrate"));
    writeFileSync(join(home, ".orchestrate/policy.yaml"), entry);
    expect((await show()).egress.map((one) => one.counts)).toEqual([false, true]);
  });
});

describe("approve --policy", () => {
  it.each<[string, string[], string]>([
    ["too short a digest", ["abc"], "`abc` is no digest: 12 to 64 hexadecimal digits are expected."],
    [
      "what is no digest",
      ["zzzzzzzzzzzzzz"],
      "`zzzzzzzzzzzzzz` is no digest: 12 to 64 hexadecimal digits are expected.",
    ],
    [
      "a job beside it",
      ["0123456789ab", "--job", "x"],
      "`--policy` is about the project's files, not about a run: it goes without `--job`.",
    ],
  ])("refuses %s", async (_what, args, message) => {
    const done = await json(["approve", "--policy", ...args]);
    expect([done.code, done.diagnostics[0]?.message]).toEqual([2, message]);
  });

  it("refuses what no entry has", async () => {
    const done = await json(["approve", "--policy", "0123456789ab"]);
    expect([done.code, done.diagnostics[0]?.message]).toEqual([
      2,
      `No entry of a project file below \`${project}\` has the digest \`0123456789ab\`: it may have been changed since it was shown.`,
    ]);
  });

  it("never writes over a list that it cannot read", async () => {
    projectFile("policy.yaml", "candidates: [{runtime: pi, capability: C3}]\n");
    mkdirSync(join(home, ".orchestrate"));
    const path = join(home, ".orchestrate/confirmed.json");
    writeFileSync(path, '{"schemaVersion": 2}');
    const { fileSha256 } = (await show()).unconfirmed[0] as { fileSha256: string };
    const done = await json(["approve", "--policy", fileSha256]);
    expect([done.code, done.diagnostics[0]?.message]).toEqual([
      4,
      `\`${path}\` has schema version 2; this version reads 1: nothing is written over it.`,
    ]);
    expect(readFileSync(path, "utf8")).toBe('{"schemaVersion": 2}');
  });
});
