/** Short helper commands (git, probes): bounded output, own group, own deadline, no shell, stdin closed. */
import { spawn } from "node:child_process";

export interface ExecOptions {
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Per stream; more is dropped and `truncated` set. */
  readonly maxBytes?: number;
  /** Ends what it leaves behind in its group, also when that holds no pipe. */
  readonly leaveNothing?: boolean;
}

export interface ExecResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly timedOut: boolean;
  readonly truncated: boolean;
  /** errno name when the process could not be started. */
  readonly spawnError: string | null;
}

export function exec(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  const limit = options.maxBytes ?? 64 * 1024 * 1024;
  return new Promise((resolve) => {
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    let outBytes = 0;
    let errBytes = 0;
    let truncated = false;
    let timedOut = false;
    let done = false;
    const finish = (exitCode: number | null, signal: string | null, spawnError: string | null): void => {
      if (done) return;
      done = true;
      clearTimeout(deadline);
      clearTimeout(drain);
      resolve({
        exitCode,
        signal,
        stdout: Buffer.concat(out),
        stderr: Buffer.concat(errors),
        timedOut,
        truncated,
        spawnError,
      });
    };
    let deadline: NodeJS.Timeout | undefined;
    let drain: NodeJS.Timeout | undefined;
    let child: ReturnType<typeof spawn>;
    try {
      child = spawn(file, [...args], {
        cwd: options.cwd,
        env: { ...options.env },
        stdio: ["pipe", "pipe", "pipe"],
        detached: true,
        windowsHide: true,
      });
    } catch (error) {
      finish(null, null, error instanceof Error && "code" in error ? String(error.code) : "UNKNOWN");
      return;
    }
    const killGroup = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        child.kill("SIGKILL");
      }
    };
    if (options.timeoutMs !== undefined)
      deadline = setTimeout(() => {
        timedOut = true;
        killGroup();
      }, options.timeoutMs);
    child.stdout?.on("data", (chunk: Buffer) => {
      if (outBytes < limit) out.push(chunk.subarray(0, limit - outBytes));
      else truncated = true;
      outBytes += chunk.length;
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      if (errBytes < limit) errors.push(chunk.subarray(0, limit - errBytes));
      else truncated = true;
      errBytes += chunk.length;
    });
    child.on("error", (error) => finish(null, null, "code" in error ? String(error.code) : "UNKNOWN"));
    // A helper that leaves a child holding the pipe must not hold us: decide a moment after the exit.
    child.on("exit", (code, signal) => {
      drain = setTimeout(() => {
        killGroup();
        finish(code, signal, null);
      }, 2_000);
    });
    child.on("close", (code, signal) => {
      if (options.leaveNothing === true) killGroup();
      finish(code, signal, null);
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(options.stdin ?? "");
  });
}
