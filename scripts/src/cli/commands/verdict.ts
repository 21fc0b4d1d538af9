import { resolve } from "node:path";
import { EXIT } from "../../core/exit-codes.ts";
import { errorCode, readNamedFile } from "../../host/files.ts";
import { parseVerdict } from "../../prove/verdict.ts";
import { VERDICT_MAX_CHARS } from "../../prove/verdict-text.ts";
import { answer, missing } from "../answer.ts";
import { failure, flagText, type Handler } from "../context.ts";
import { refusedInsideJob } from "../own-word.ts";

/** A malformed verdict is told here, before anything is written; the coordinator checks what it is bound to. */
export const handler: Handler = async (ctx, parsed) => {
  const file = flagText(parsed, "file");
  const handle = flagText(parsed, "handle");
  if (file === undefined) return missing("--file FILE", "the arbiter's answer, a JSON verdict");
  if (handle === undefined || handle.trim() === "")
    return missing("--handle HANDLE", "the session that wrote the verdict; it must be no producer's");
  let text: string;
  try {
    // One byte more than is read: a longer answer is told to be one.
    text = readNamedFile(resolve(ctx.env.cwd, file), VERDICT_MAX_CHARS * 4 + 1).head.toString("utf8");
  } catch (error) {
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "verdict-unreadable",
        message: `Cannot read \`${file}\`: ${errorCode(error) ?? String(error)}.`,
        fix: "Save the arbiter's answer to the action's `resultFile` first.",
      },
    ]);
  }
  const verdict = parseVerdict(text);
  if (!verdict.ok) return failure(EXIT.usage, verdict.error);
  return answer(
    ctx,
    parsed.args[0],
    ({ runDir }) =>
      refusedInsideJob(ctx, { command: "verdict", runDir }) ?? {
        kind: "verdict",
        verdict: verdict.value,
        handle,
      },
  );
};
