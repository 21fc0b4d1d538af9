/** Starts the coordinator as a process of its own: own session and group, no pipe to us, so it outlives its client and its terminal. */
import { spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import type { Environment } from "../host/env.ts";
import { PRIVATE_FILE } from "../host/files.ts";

export interface CoordinatorProcess {
  readonly pid: number;
  /** Resolves when the process is gone. */
  readonly exited: Promise<{ exitCode: number | null; signal: string | null }>;
}

/** What the coordinator prints before it can write its state (a crash at load) goes here. */
export const COORDINATOR_LOG = join(RUN_FILES.supervisor, "coordinator.log");

export function startCoordinator(o: {
  runDir: string;
  self: readonly string[];
  env: Environment;
  /** Extra arguments of `__coordinate`, e.g. what to retry. */
  args?: readonly string[];
}): CoordinatorProcess {
  const [command, ...prefix] = o.self;
  const log = openSync(
    join(o.runDir, COORDINATOR_LOG),
    constants.O_CREAT | constants.O_WRONLY | constants.O_APPEND,
    PRIVATE_FILE,
  );
  try {
    const child = spawn(command as string, [...prefix, "__coordinate", o.runDir, ...(o.args ?? [])], {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...o.env.all() },
    });
    const exited = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
      child.on("error", () => resolve({ exitCode: 4, signal: null }));
      child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    });
    child.unref();
    return { pid: child.pid ?? -1, exited };
  } finally {
    closeSync(log);
  }
}
