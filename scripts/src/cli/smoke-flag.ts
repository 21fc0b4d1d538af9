/** `--smoke` and its `--timeout`, the same for `probe` and `doctor`. */
import type { HostProbeRequest } from "../coordinator/probe-host.ts";
import { EXIT } from "../core/exit-codes.ts";
import { parseDuration } from "../plan/duration.ts";
import {
  type CommandContext,
  type CommandResult,
  failure,
  flagOn,
  flagText,
  type Parsed,
} from "./context.ts";

/** A warm CLI answers in seconds; a first start on a loaded machine takes most of a minute. */
const DEFAULT_MS = 120_000;

export function smokeOf(
  ctx: CommandContext,
  parsed: Parsed,
): { readonly smoke: HostProbeRequest["smoke"] } | CommandResult {
  const given = flagText(parsed, "timeout");
  const timeout = given === undefined ? null : parseDuration(given);
  if (timeout?.ok === false)
    return failure(EXIT.usage, [
      { severity: "error", code: "bad-duration", message: `--timeout: ${timeout.error}` },
    ]);
  if (!flagOn(parsed, "smoke"))
    return given === undefined
      ? { smoke: undefined }
      : failure(EXIT.usage, [
          {
            severity: "error",
            code: "timeout-without-smoke",
            message: "`--timeout` bounds the question of `--smoke`: give both or none.",
          },
        ]);
  return {
    smoke: {
      timeoutMs: timeout?.value ?? DEFAULT_MS,
      self: ctx.self,
      progress: (line) => ctx.out.progress(line),
    },
  };
}
