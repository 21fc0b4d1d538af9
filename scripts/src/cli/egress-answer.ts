/** `approve` and `deny` with `--egress ID`: the user's answer to a request to send content, kept in the home. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type EgressRequest, egressOfSpec, recordEgress } from "../coordinator/plane-egress.ts";
import { EXIT } from "../core/exit-codes.ts";
import { type CommandContext, type CommandResult, failure } from "./context.ts";
import { scriptOf } from "./own-command.ts";
import { refusedInsideJob } from "./own-word.ts";
import { openRun } from "./run-access.ts";

/** `where` is a run, absent (the newest), or a spec that has not been run yet. */
export function answerEgress(
  ctx: CommandContext,
  o: {
    readonly where: string | undefined;
    readonly id: string;
    readonly decision: "approve" | "deny";
  },
): CommandResult {
  const refused = refusedInsideJob(ctx, { command: `${o.decision} --egress`, runDir: null });
  if (refused !== null) return refused;
  const asked = requests(ctx, o.where);
  if ("exitCode" in asked) return asked;
  const found = asked.find((request) => request.id === o.id);
  if (found === undefined)
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "egress-not-asked",
        message: `No leave with the id \`${o.id}\` is asked for here.`,
        fix:
          asked.length === 0
            ? "`plan SPEC` shows what a spec asks for"
            : `asked for: ${asked.map((request) => request.id).join(", ")}`,
      },
    ]);
  if (found.origin === "policy")
    return failure(EXIT.usage, [
      {
        severity: "error",
        code: "egress-from-policy",
        message: "The operator policy gives this leave; change it there.",
      },
    ]);
  recordEgress(ctx.env.home, found.id, o.decision);
  const text =
    o.decision === "approve" ? `Confirmed: ${found.words}.` : `Denied; not confirmed: ${found.words}.`;
  return {
    exitCode: EXIT.done,
    data: { applied: true, id: found.id, decision: o.decision, words: found.words },
    text,
    diagnostics: [],
    next: [],
  };
}

function requests(ctx: CommandContext, where: string | undefined): readonly EgressRequest[] | CommandResult {
  const path = where === undefined ? null : resolve(ctx.env.cwd, where);
  if (path !== null && existsSync(path) && statSync(path).isFile())
    return egressOfSpec({ path, env: ctx.env, clock: ctx.clock, script: scriptOf(ctx) });
  const opened = openRun(ctx, where);
  return opened.ok ? (opened.value.state.plane?.egress ?? []) : opened.error;
}
