import { resolve } from "node:path";
import { EXIT } from "../../core/exit-codes.ts";
import { SPEC_LIMITS } from "../../core/policy.ts";
import type { Attempt } from "../../core/runtime.ts";
import { errorCode, readNamedFile, sha256 } from "../../host/files.ts";
import { answer, missing, nativeTarget } from "../answer.ts";
import { type CommandResult, failure, flagText, type Handler } from "../context.ts";

/** Inline in the inbox file: larger answers are cut, and marked so. */
const INLINE_MAX_BYTES = 8 * 1024 * 1024;

export const handler: Handler = async (ctx, parsed) => {
  const target = nativeTarget(parsed);
  if ("exitCode" in target) return target;
  const file = flagText(parsed, "result");
  if (file === undefined) return missing("--result FILE", "the action's `resultFile`");
  const limit = Math.min(INLINE_MAX_BYTES, SPEC_LIMITS.maxOutputBytes);
  const read = readGiven(resolve(ctx.env.cwd, file), limit);
  if ("exitCode" in read) return read;
  const usage = readUsage(ctx.env.cwd, flagText(parsed, "usage"));
  if (usage !== null && "exitCode" in usage) return usage;
  return answer(ctx, parsed.args[0], () => ({
    kind: "native-finish",
    ...target,
    result: {
      path: null,
      text: read.head.toString("utf8"),
      // Of what was read: nobody hashes gigabytes that are cut off anyway.
      sha256: sha256(read.head),
      bytes: read.size,
      truncated: read.size > read.head.length,
    },
    usage,
  }));
};

function readGiven(path: string, maxBytes: number): ReturnType<typeof readNamedFile> | CommandResult {
  try {
    return readNamedFile(path, maxBytes);
  } catch (error) {
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "result-unreadable",
        message: `Cannot read the result \`${path}\`: ${errorCode(error) ?? String(error)}.`,
        fix: "Save the subagent's final message to the action's `resultFile` first.",
      },
    ]);
  }
}

/** Eight numbers and a word. */
const USAGE_MAX_BYTES = 64 * 1024;

const NUMBERS = [
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "actualMarginalCostUsd",
  "apiEquivalentCostUsd",
  "quotaBurn",
] as const;

/** What the harness does not know stays null, never 0. */
function readUsage(cwd: string, file: string | undefined): Attempt["usage"] | CommandResult {
  if (file === undefined) return null;
  const read = readGiven(resolve(cwd, file), USAGE_MAX_BYTES);
  if ("exitCode" in read) return read;
  const text = read.head.toString("utf8");
  const fault = (message: string): CommandResult =>
    failure(EXIT.usage, [{ severity: "error", code: "usage-invalid", message: `\`${file}\`: ${message}` }]);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fault("is not JSON.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return fault("must hold one JSON object.");
  const given = value as Record<string, unknown>;
  const unknown = Object.keys(given).find((key) => ![...NUMBERS, "source"].includes(key as never));
  if (unknown !== undefined)
    return fault(`has the unknown field \`${unknown}\`; known: ${[...NUMBERS, "source"].join(", ")}.`);
  const wrong = NUMBERS.find(
    (key) =>
      given[key] !== undefined && given[key] !== null && !(typeof given[key] === "number" && given[key] >= 0),
  );
  if (wrong !== undefined) return fault(`\`${wrong}\` must be a number of at least 0, or null when unknown.`);
  const number = (key: (typeof NUMBERS)[number]): number | null =>
    typeof given[key] === "number" ? given[key] : null;
  return {
    inputTokens: number("inputTokens"),
    outputTokens: number("outputTokens"),
    cachedTokens: number("cachedTokens"),
    actualMarginalCostUsd: number("actualMarginalCostUsd"),
    apiEquivalentCostUsd: number("apiEquivalentCostUsd"),
    quotaBurn: number("quotaBurn"),
    source: typeof given["source"] === "string" ? given["source"] : "harness",
  };
}
