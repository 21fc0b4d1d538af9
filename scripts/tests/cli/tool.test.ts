/** The built tool as its users start it: a process with arguments, streams and an exit code. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { helpTexts } from "../../src/cli/help-texts.ts";
import { TEMPLATES } from "../../src/cli/templates.ts";
import { VERSION } from "../../src/core/generated/version.ts";
import { type BuiltPayload, builtPayload } from "../support/built-tool.ts";

const HELP = helpTexts();
let tool: BuiltPayload;
let cwd: string;

beforeAll(async () => {
  tool = await builtPayload();
  cwd = mkdtempSync(join(tmpdir(), "orchestrate-cwd-"));
});
afterAll(() => {
  tool.remove();
  rmSync(cwd, { recursive: true, force: true });
});

function run(...argv: string[]): { code: number | null; out: string; error: string } {
  const result = spawnSync(process.execPath, [tool.main, ...argv], {
    cwd,
    encoding: "utf8",
    env: ENVIRONMENT,
  });
  return { code: result.status, out: result.stdout, error: result.stderr };
}
const ENVIRONMENT = { PATH: process.env["PATH"], HOME: tmpdir() };

describe("help", () => {
  it("is printed without arguments and by each way to ask for it", () => {
    const help = { code: 0, out: HELP.get(""), error: "" };
    expect(run("--help")).toEqual(help);
    expect(run()).toEqual(help);
    expect(run("help")).toEqual(help);
    expect(run("help", "--help")).toEqual({ ...help, out: HELP.get("help") });
  });

  it("has at most 4 KB and a worked example for every command", () => {
    for (const { name } of COMMANDS) {
      const text = HELP.get(name) ?? "";
      expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(4096);
      expect(text, name).toContain("\nExample:\n  node <skill-dir>/scripts/orchestrate.mjs ");
    }
    expect(Buffer.byteLength(HELP.get("") ?? "")).toBeLessThanOrEqual(4096);
  });

  it("is found behind arguments and by the help command", () => {
    expect(run("run", "jobs.yaml", "--yes", "--help").out).toBe(run("run", "--help").out);
    expect(run("help", "native", "finish").out).toBe(run("native", "finish", "--help").out);
    expect(JSON.parse(run("help", "wait", "--json").out)).toMatchObject({
      ok: true,
      data: { topic: "wait" },
    });
    expect(run("help", "wiat")).toMatchObject({
      code: 2,
      error: "error[unknown-command]: `wiat` is no command\n    fix: did you mean `wait`?\n",
    });
  });

  it("stays as it is, word for word", () => {
    expect(run("--help").out).toMatchSnapshot();
    expect(run("run", "--help").out).toMatchSnapshot();
    expect(run("native", "--help").out).toMatchSnapshot();
  });
});

describe("usage", () => {
  it("prints the version", () => {
    expect(run("--version")).toEqual({ code: 0, out: `${VERSION}\n`, error: "" });
    expect(JSON.parse(run("version", "--json").out)).toMatchObject({ data: { version: VERSION } });
  });

  it("answers a wrong command line with exit 2, as text or as one document", () => {
    expect(run("launch")).toMatchObject({ code: 2, out: "" });
    const { code, out, error } = run("wait", "--for", "ever", "--json");
    expect({ code, error }).toEqual({ code: 2, error: "" });
    expect(JSON.parse(out)).toMatchObject({ command: "wait", ok: false, exitCode: 2, data: null });
  });

  it("prints every schema, and knows their names", () => {
    const { names } = JSON.parse(run("schema", "--json").out).data;
    expect(names).toContain("output");
    for (const name of names) expect(JSON.parse(run("schema", name).out).title, name).toBeTypeOf("string");
    expect(run("schema", "jops")).toMatchObject({
      code: 2,
      error: "error[argument-invalid]: there is no schema `jops`\n    fix: did you mean `jobs`?\n",
    });
  });

  it("writes a spec from each template once, and replaces it only by --force", () => {
    const file = join(cwd, "jobs.yaml");
    expect(run("init", "--template", "refactor")).toEqual({
      code: 0,
      out: "wrote jobs.yaml (refactor): edit the prompts, then `validate jobs.yaml` and `plan jobs.yaml`\n",
      error: "",
    });
    writeFileSync(file, "mine");
    expect(run("init")).toEqual({
      code: 2,
      out: "",
      error:
        "error[file-exists]: `jobs.yaml` exists and was left as it is\n    fix: `--out FILE` for another name, or `--force` to replace it\n",
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(run("init", "--force").code).toBe(0);
    for (const [name, text] of Object.entries(TEMPLATES))
      expect(run("init", "--template", name, "--out", "-").out).toBe(text);
    expect(run("init", "--out", "no/such/folder/jobs.yaml")).toEqual({
      code: 4,
      out: "",
      error: "error[cannot-write]: cannot write `no/such/folder/jobs.yaml`: ENOENT\n",
    });
  });
});

describe("a Node that is too old", () => {
  it("is told so in one line", () => {
    const older = join(cwd, "older.cjs");
    writeFileSync(older, "delete process.getBuiltinModule;");
    const result = spawnSync(process.execPath, ["--require", older, tool.main, "status"], {
      cwd,
      encoding: "utf8",
    });
    expect({ code: result.status, out: result.stdout, error: result.stderr }).toEqual({
      code: 4,
      out: "",
      error: `orchestrate needs Node 20.19 or newer, but this is ${process.version}\n`,
    });
  });
});

describe("streams", () => {
  it("completes a document into a slow reader", async () => {
    const child = spawn(process.execPath, [tool.main, "schema", "state", "--json"], {
      cwd,
      env: ENVIRONMENT,
    });
    const chunks: Buffer[] = [];
    // A pipe holds 64 KB: without reads the tool has to wait for us.
    child.stdout.pause();
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    await new Promise((resolve) => child.stdout.once("readable", resolve));
    child.stdout.resume();
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).toBe(0);
    expect(JSON.parse(Buffer.concat(chunks).toString()).data.schema.title).toBeTypeOf("string");
  });

  it("is quiet when the reader of its output goes away", () => {
    const shell = spawnSync(
      "bash",
      ["-c", 'node "$1" schema state | head -c 10 >/dev/null; echo $PIPESTATUS', "bash", tool.main],
      { cwd, encoding: "utf8", env: ENVIRONMENT },
    );
    expect(shell).toMatchObject({ stdout: "0\n", stderr: "" });
  });

  it("says an internal fault in one line with exit 4, and shows the stack only when asked", () => {
    const broken = join(tool.skill, "assets/schemas");
    const elsewhere = `${broken}-elsewhere`;
    spawnSync("mv", [broken, elsewhere]);
    try {
      const plain = run("schema");
      expect(plain.code).toBe(4);
      expect(plain.error).toMatch(/^orchestrate: internal error: ENOENT[^\n]*\n$/);
      const document = run("schema", "--json");
      expect(document).toMatchObject({ code: 4, error: "" });
      expect(JSON.parse(document.out).diagnostics).toMatchObject([{ code: "internal-error" }]);
      const debug = spawnSync(process.execPath, [tool.main, "schema"], {
        encoding: "utf8",
        env: { ...ENVIRONMENT, ORCHESTRATE_DEBUG: "1" },
      });
      expect(debug.stderr).toContain("\n    at ");
    } finally {
      spawnSync("mv", [elsewhere, broken]);
    }
  });
});
