/** Whether a member of a chain may still be dispatched to, now that its runtime was asked again. Pure. */
import type { Candidate, PlanJob, RuntimeRecord } from "../core/runtime.ts";
import { isLive } from "./capability.ts";
import { controlStrength, weakerConcerns } from "./controls.ts";

export interface StillFitsInput {
  readonly job: Pick<PlanJob, "riskTier" | "writer" | "isolation" | "tools">;
  readonly member: Pick<Candidate, "model" | "effort" | "strength">;
  /** What the plan rests on. */
  readonly planned: RuntimeRecord;
  readonly now: RuntimeRecord;
}

/**
 * Why not, in words, or null: it is live, logged in the way that was planned, behind the same endpoint, offers the model and
 * the effort, and is held back by no control less than planned.
 */
export function whyUnfit({ job, member, planned, now }: StillFitsInput): string | null {
  if (!isLive(now)) return `${now.state}${now.reason === null ? "" : `: ${now.reason}`}`;
  if (now.authenticated === false) return "not logged in any more";
  if (now.gateway !== planned.gateway) return "another endpoint answers than planned";
  const known = planned.authSource !== "unknown" && now.authSource !== "unknown";
  if (known && now.authSource !== planned.authSource)
    return `its login is \`${now.authSource}\`, planned was \`${planned.authSource}\``;
  const listed = now.models === null ? null : [...now.models, ...now.modelAliases];
  if (member.model !== null && listed !== null && !listed.includes(member.model))
    return `does not list \`${member.model}\` any more`;
  if (member.effort !== null && !now.effortLevels.includes(member.effort))
    return `does not offer effort \`${member.effort}\` any more`;
  const held = {
    riskTier: job.riskTier,
    writer: job.writer,
    worktree: job.isolation === "worktree",
    tools: job.tools.allowed.filter((word) => !job.tools.disallowed.includes(word)),
  };
  const weaker = weakerConcerns(
    controlStrength(now, held),
    member.strength ?? controlStrength(planned, held),
  );
  return weaker.length === 0 ? null : `weaker than planned: ${weaker.join(", ")}`;
}
