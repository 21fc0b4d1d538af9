import { EXIT } from "../core/exit-codes.ts";
import type { Environment } from "../host/env.ts";
import { type CommandResult, failure } from "./context.ts";

/**
 * Why no run goes on here, or null. What a run promises stands on process groups, signals and file locks as Linux and
 * macOS have them; a job that could be started but never surely ended is worse than none.
 */
export const hostRefusal = (env: Pick<Environment, "platform">): CommandResult | null =>
  env.platform !== "win32"
    ? null
    : failure(EXIT.environment, [
        {
          severity: "error",
          code: "host-not-supported",
          message:
            "Windows has no process groups and signals by which a job is surely ended, so nothing was started.",
          fix: "Run the same command inside WSL (Windows Subsystem for Linux).",
        },
      ]);
