/** A folder with a repository, a home and the built tool: where a part of the corpus is run. */
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CommandOutput } from "../../src/core/generated/output.ts";
import type { State } from "../../src/core/runtime.ts";
import { readRun } from "../../src/state/store.ts";

export interface Scene {
  /** Holds `repo` and `home`. */
  readonly folder: string;
  readonly repo: string;
  /** Calls the tool in the repository and reads its one document. */
  call(...args: string[]): Promise<CommandOutput>;
}

/** `main`: the built orchestrate.mjs. The folder is gone afterwards. */
export async function inScene<T>(
  main: string,
  files: Readonly<Record<string, string>>,
  play: (scene: Scene) => Promise<T>,
): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-corpus-")));
  const repo = join(folder, "repo");
  const env = { PATH: process.env["PATH"] ?? "", HOME: join(folder, "home"), LC_ALL: "C.UTF-8" };
  try {
    for (const [path, text] of Object.entries({ ".gitignore": "plans/\n", ...files })) {
      const at = path.startsWith("~/") ? join(env.HOME, path.slice(2)) : join(repo, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, text);
    }
    const git = (...args: string[]): void => {
      const who = ["-c", "user.name=corpus", "-c", "user.email=corpus@example.invalid"];
      execFileSync("git", [...who, ...args], { cwd: repo, stdio: "ignore" });
    };
    git("init", "-q");
    git("add", "-A");
    git("commit", "-qm", "corpus");
    const call: Scene["call"] = async (...args) =>
      JSON.parse(await output([main, ...args, "--json"], { cwd: repo, env })) as CommandOutput;
    return await play({ folder, repo, call });
  } finally {
    // A coordinator may be about to write its last report.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

/** stdout, whatever the exit status says. */
function output(args: readonly string[], o: { cwd: string; env: Record<string, string> }): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { ...o, maxBuffer: 64 * 1024 * 1024 }, (_, stdout) => resolve(stdout));
  });
}

export const runDirOf = (out: CommandOutput): string => (out.data as { runDir: string }).runDir;

export function stateOf(runDir: string): State {
  const read = readRun(runDir);
  if (!read.ok) throw new Error(read.error.message);
  return read.value.state;
}

/** Flags, and the code that holds it up; empty for work that is accepted without a mark. */
export function caughtBy(state: State, id: string): string {
  const job = state.jobs[id];
  if (job === undefined) return "unknown";
  const flags = job.attemptRecords.at(-1)?.flags ?? [];
  const code =
    job.outcome === "accepted" ? [] : [job.block?.code ?? job.reason ?? job.outcomeBlock?.code ?? job.status];
  return [...flags, ...code].join(", ");
}
