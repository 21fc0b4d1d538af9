import { answerScope } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";
import { decidePolicy } from "../decide-policy.ts";
import { answerEgress } from "../egress-answer.ts";

export const handler: Handler = async (ctx, parsed) => {
  const hash = flagText(parsed, "policy");
  if (hash !== undefined) return decidePolicy(ctx, parsed, "deny", hash);
  const egress = flagText(parsed, "egress");
  if (egress !== undefined) return answerEgress(ctx, { where: parsed.args[0], id: egress, decision: "deny" });
  return answerScope(ctx, parsed, "deny");
};
