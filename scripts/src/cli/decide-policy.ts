/** `approve --policy` and `deny --policy`: about files of the project, so they need no run. */

import { confirmPolicy } from "../coordinator/confirm-policy.ts";
import { EXIT } from "../core/exit-codes.ts";
import { TOOL } from "../core/tool-word.ts";
import { type CommandContext, type CommandResult, failure, flagText, type Parsed } from "./context.ts";
import { refusedInsideJob } from "./own-word.ts";

export function decidePolicy(
  ctx: CommandContext,
  parsed: Parsed,
  verb: "approve" | "deny",
  hash: string,
): CommandResult {
  const refused = refusedInsideJob(ctx, { command: `${verb} --policy`, runDir: null });
  if (refused !== null) return refused;
  const mixed = ["job", "scope", "note"].find((name) => flagText(parsed, name) !== undefined);
  if (mixed !== undefined || parsed.args.length > 0)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "mixed-flags",
        message: `\`--policy\` is about the project's files, not about a run: it goes without ${mixed === undefined ? "RUN" : `\`--${mixed}\``}.`,
        fix: `${TOOL} ${verb} --policy ${hash}`,
      },
    ]);
  const decided = confirmPolicy({ hash, verb, env: ctx.env, clock: ctx.clock });
  if (!decided.ok) {
    const { code, message, fix } = decided.error;
    const wrongHash = code === "bad-policy-hash" || code === "unknown-policy-hash";
    return failure(wrongHash ? EXIT.usage : EXIT.environment, [{ severity: "error", code, message, fix }]);
  }
  const { entries, changed, file } = decided.value;
  const said = verb === "approve" ? "counts like the user's own now" : "counts no longer";
  const none = verb === "approve" ? "was confirmed before" : "was not confirmed";
  return {
    exitCode: EXIT.done,
    data: {
      changed,
      file,
      attested: !ctx.env.stdoutIsTty,
      entries: entries.map(({ kind, digest, path, words }) => ({ kind, digest, path, words })),
    },
    text: entries.map((one) => `${one.path}: ${one.words}\n  ${changed > 0 ? said : none}`).join("\n"),
    diagnostics: [],
    next: [],
  };
}
