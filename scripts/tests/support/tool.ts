/** Runs the built tool as a user would: a child process, an environment of its own, stdout and stderr apart. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { CommandOutput } from "../../src/core/generated/output.ts";
import type { State } from "../../src/core/runtime.ts";
import { readRun } from "../../src/state/store.ts";
import { type BuiltPayload, builtPayload } from "./built-tool.ts";

export interface ToolRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Tool {
  readonly main: string;
  /** Variables every run gets: a bare environment with a home of its own. */
  readonly env: Record<string, string>;
  run(args: readonly string[], o: { cwd: string; env?: Record<string, string> }): Promise<ToolRun>;
  json(
    args: readonly string[],
    o: { cwd: string; env?: Record<string, string> },
  ): Promise<CommandOutput & { code: number | null }>;
}

/** Builds once for the test file; `tool()` is there from the first test on. */
export function builtTool(): () => Tool {
  let built: BuiltPayload | null = null;
  let home = "";
  beforeAll(async () => {
    built = await builtPayload();
    home = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-home-")));
  });
  afterAll(() => {
    built?.remove();
    rmSync(home, { recursive: true, force: true });
  });
  return () => {
    if (built === null) throw new Error("the tool is built before the first test");
    return toolAt(built.main, home);
  };
}

export function toolAt(main: string, home: string): Tool {
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    LC_ALL: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Test",
    GIT_AUTHOR_EMAIL: "test@example.invalid",
    GIT_COMMITTER_NAME: "Test",
    GIT_COMMITTER_EMAIL: "test@example.invalid",
  };
  const run: Tool["run"] = (args, o) =>
    runProcess([process.execPath, main, ...args], { cwd: o.cwd, env: { ...env, ...o.env } });
  return {
    main,
    env,
    run,
    async json(args, o) {
      const result = await run([...args, "--json"], o);
      try {
        return { ...(JSON.parse(result.stdout) as CommandOutput), code: result.code };
      } catch {
        throw new Error(
          `no JSON document from ${args.join(" ")} (exit ${result.code}):\n${result.stdout}\n${result.stderr}`,
        );
      }
    },
  };
}

export function runProcess(
  argv: readonly string[],
  o: { cwd: string; env: Record<string, string> },
): Promise<ToolRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(argv[0] as string, argv.slice(1), {
      cwd: o.cwd,
      env: o.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** The state on disk, by the rule every reader applies. */
export function stateOf(runDir: string): State {
  const read = readRun(runDir);
  if (!read.ok) throw new Error(read.error.message);
  return read.value.state;
}

export const runDirOf = (output: CommandOutput): string => (output.data as { runDir: string }).runDir;

/** job id → `status, outcome`. */
export const standingOf = (state: State): Record<string, string> =>
  Object.fromEntries(Object.entries(state.jobs).map(([id, job]) => [id, `${job.status}, ${job.outcome}`]));

/** The trace of a run, in order, each line with the job that it is about. */
export function traceOf(runDir: string): { kind: string; jobId: string; payload: Record<string, unknown> }[] {
  return readFileSync(join(runDir, "trace.jsonl"), "utf8")
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { kind: string; correlationId: string; payload: Record<string, unknown> },
    )
    .map(({ kind, correlationId, payload }) => ({
      kind,
      jobId: correlationId.split("/").at(-2) as string,
      payload,
    }));
}
