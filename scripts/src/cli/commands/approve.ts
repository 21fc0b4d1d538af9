import { answer, missing, scopeProblem } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";
import { decidePolicy } from "../decide-policy.ts";
import { answerEgress } from "../egress-answer.ts";

export const handler: Handler = async (ctx, parsed) => {
  const hash = flagText(parsed, "policy");
  if (hash !== undefined) return decidePolicy(ctx, parsed, "approve", hash);
  const egress = flagText(parsed, "egress");
  if (egress !== undefined)
    return answerEgress(ctx, { where: parsed.args[0], id: egress, decision: "approve" });
  const jobId = flagText(parsed, "job");
  const scope = flagText(parsed, "scope");
  if (jobId === undefined) return missing("--job JOB", "as in the action of `next`");
  if (scope === undefined) return missing("--scope SHA256", "as in the action of `next`");
  return answer(
    ctx,
    parsed.args[0],
    (view) =>
      scopeProblem(view, jobId, scope) ?? {
        kind: "approve",
        jobId,
        scope,
        actor: view.state.harness.name,
        attested: !ctx.env.stdoutIsTty,
        note: flagText(parsed, "note") ?? null,
      },
  );
};
