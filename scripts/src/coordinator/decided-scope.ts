/** What an answer about a scope meets: a request that waits for it, a word that was given before, or no request at all. */
import type { Job, State } from "../core/runtime.ts";
import type { CommandAnswer } from "./inbox-apply.ts";

type Approval = State["approvals"][number];

/**
 * Null: the job waits for exactly this answer. The same word a second time succeeds and changes nothing, since two clients
 * may answer at the same moment; the opposite one is refused with what was decided (`scope-approved`, `scope-denied`). A
 * scope that nobody asked about, or not any more, is `scope-not-asked`.
 */
export function decidedScope(o: {
  readonly jobId: string;
  readonly block: Job["block"];
  readonly approvals: readonly Approval[];
  readonly scope: string;
  readonly decision: Approval["decision"];
}): CommandAnswer | null {
  const { jobId, block, scope } = o;
  if (block?.code === "needs-approval")
    return block.scope === scope
      ? null
      : refuse(
          "scope-not-asked",
          `\`${jobId}\` asks for another scope: \`${block.scope}\`. Read \`next\` again.`,
        );
  const before = o.approvals.findLast((one) => one.jobId === jobId && one.scope === scope);
  if (before === undefined) return refuse("scope-not-asked", `\`${jobId}\` waits for no approval.`);
  const { decision, at } = before;
  if (decision === o.decision)
    return {
      ok: true,
      code: "already-decided",
      message: `This scope of \`${jobId}\` was ${decision} already (${at}); nothing changed.`,
    };
  return decision === "approved"
    ? refuse(
        "scope-approved",
        `This scope of \`${jobId}\` was approved already (${at}), so a denial comes too late. While the job runs, \`cancel --job ${jobId}\` stops it.`,
      )
    : refuse(
        "scope-denied",
        `This scope of \`${jobId}\` cannot be approved any more. ${deniedText(jobId, at)}`,
      );
}

const refuse = (code: string, message: string): CommandAnswer => ({ ok: false, code, message });

/** A no is the last word on its scope; the spec of a run never changes, so what else could change it is named. */
export const deniedText = (jobId: string, at: string): string =>
  `The user denied this scope (${at}), and the same scope is not asked for again in this run. A changed spec needs a new run; when what \`${jobId}\` depends on or a script that it runs changed, \`resume --retry ${jobId}\` asks for the new scope.`;
