/** Starts the coordinator as a process of its own: own session and group, no pipe to us, so it outlives its client and its terminal. */
import { spawn } from "node:child_process";
import type { Environment } from "../host/env.ts";
import { lastWords, openCoordinatorLog } from "./coordinator-log.ts";

export interface CoordinatorProcess {
  readonly pid: number;
  /** Resolves when the process is gone. */
  readonly exited: Promise<{ exitCode: number | null; signal: string | null }>;
  /** Asked once it is gone: the last line it printed, or why it could print none; null when it said nothing. */
  lastWords(): string | null;
}

/** Throws `StateFaultError` (`io`) when its log cannot be opened. */
export function startCoordinator(o: {
  runDir: string;
  self: readonly string[];
  env: Environment;
  /** Extra arguments of `__coordinate`, e.g. what to retry. */
  args?: readonly string[];
}): CoordinatorProcess {
  const [command, ...prefix] = o.self;
  const log = openCoordinatorLog(o.runDir);
  try {
    const child = spawn(command as string, [...prefix, "__coordinate", o.runDir, ...(o.args ?? [])], {
      cwd: "/",
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: coordinatorEnvironment(o.env.all()),
    });
    const exited = new Promise<{ exitCode: number | null; signal: string | null }>((resolve) => {
      child.on("error", () => resolve({ exitCode: 4, signal: null }));
      child.on("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    });
    child.unref();
    return { pid: child.pid ?? -1, exited, lastWords: () => lastWords(o.runDir, log.from) };
  } finally {
    log.close();
  }
}

/**
 * Each fork copies the page tables of its parent, so the coordinator keeps little memory: garbage is looked for after
 * one megabyte of new objects, which at hundreds of jobs saves a quarter of its memory and costs nothing measurable.
 * What the user sets counts; children never get NODE_OPTIONS.
 */
export function coordinatorEnvironment(own: Readonly<Record<string, string>>): Record<string, string> {
  const options = own["NODE_OPTIONS"] ?? "";
  if (options.includes(NEW_SPACE)) return { ...own };
  return { ...own, NODE_OPTIONS: `${options} ${NEW_SPACE}=1`.trim() };
}

const NEW_SPACE = "--max-semi-space-size";
