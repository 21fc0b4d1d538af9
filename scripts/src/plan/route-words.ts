/** Why a route is as it is, in words: rejects, blocks, margins and warnings. */

import type { Graph } from "../core/generated/graph.ts";
import { isPlaceholder } from "../core/placeholders.ts";
import type { Candidate } from "../core/runtime.ts";
import type { RouteJob } from "./candidates.ts";
import type { Picks } from "./chain.ts";
import { classWhat, pinOf } from "./filter.ts";
import { compareIds } from "./job-graph.ts";
import type { Ranking } from "./rank.ts";
import type { Rejected } from "./sift.ts";

export type Route = Graph["arbiter"]["route"];

export interface RouteNote {
  readonly code: "no-fallback" | "fallback-rejected" | "fallback-weaker" | "pinned-missing";
  readonly message: string;
}

/** `claude`, or `claude some-model`. */
export const candidateName = (candidate: {
  readonly runtime: string;
  readonly model: string | null;
}): string => (candidate.model === null ? candidate.runtime : `${candidate.runtime} ${candidate.model}`);

/** The named one first, then by id. */
export function describeRejected(rejected: readonly Rejected[], job: RouteJob): Route["rejected"] {
  const pin = pinOf(job);
  return [...rejected]
    .sort(
      (a, b) =>
        Number(b.runtime === pin) - Number(a.runtime === pin) ||
        compareIds(a.runtime, b.runtime) ||
        compareIds(a.model ?? "", b.model ?? ""),
    )
    .map((one) => ({
      runtime: one.runtime,
      codes: one.reasons.map((reason) => reason.code),
      detail: `${one.model === null ? "" : `${one.model}: `}${one.reasons.map((reason) => reason.detail).join("; ")}`,
    }));
}

/** Reasons that say nothing about the candidate: it was never meant for this job. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "not-named",
  "native-arbiter",
  "class-mismatch",
  "mock-arbiter",
]);

/** Why nothing is left: what keeps the pinned runtime out, else what keeps out the candidate that is nearest. */
export function blockOf(job: RouteJob, rejected: readonly Rejected[]): Route["blocked"] {
  const pin = pinOf(job);
  if (job.session !== null && pin === null)
    return { code: "session-unsupported", detail: "the job whose session it goes on with has no route" };
  const of = (one: Rejected): string =>
    `\`${candidateName(one)}\`: ${one.reasons.map((reason) => reason.detail).join("; ")}`;
  if (pin !== null) {
    const own = nearest(rejected.filter((one) => one.runtime === pin));
    const code = own?.reasons[0]?.code ?? "not-live";
    const detail = own === undefined ? `\`${pin}\` was not found on this host` : of(own);
    if (job.session !== null) return { code: "session-unsupported", detail };
    if (own === undefined || !own.live)
      return pin === "internal"
        ? { code: "no-harness", detail: `${detail}; resume it from a harness: --harness NAME --subagents` }
        : { code: "needs-onboarding", detail };
    return { code, detail };
  }
  const live = rejected.filter((one) => one.live && !one.reasons.every(({ code }) => ELSEWHERE.has(code)));
  const own = nearest(live);
  if (own !== undefined) return { code: own.reasons[0]?.code ?? "no-live-runtime", detail: of(own) };
  const wanted = job.runtime === null ? "live runtime" : classWhat(job.runtime);
  const cliOnly = wanted.includes("CLI");
  const others = rejected.filter((one) => !one.live && !(cliOnly && one.runtime === "internal")).map(of);
  const native = cliOnly ? "" : ", or start from a harness with --harness NAME --subagents";
  return {
    code: "no-live-runtime",
    detail: `no ${wanted} may run it${others.length === 0 ? "" : ` (${others.join(", ")})`}: install a CLI agent${native}`,
  };
}

const nearest = (rejected: readonly Rejected[]): Rejected | undefined =>
  [...rejected].sort(
    (a, b) =>
      Number(b.live) - Number(a.live) ||
      a.reasons.length - b.reasons.length ||
      compareIds(a.runtime, b.runtime),
  )[0];

export function why(job: RouteJob, picks: Picks, ranking: Ranking): string[] {
  const [head, second] = picks.members;
  if (head === undefined) return [];
  const pin = pinOf(job);
  const { record, finding } = head.ranked.candidate;
  const reasons: string[] = [];
  if (job.session !== null) reasons.push(`goes on with a session of \`${record.id}\``);
  else if (head.by === "pin") reasons.push("named by the spec");
  else if (head.by === "declared")
    reasons.push(
      pin === null ? "first declared fallback" : `\`${pin}\` cannot run it: first declared fallback`,
    );
  else if (job.runtime !== null && isPlaceholder(job.runtime)) reasons.push(`best of ${job.runtime}`);
  else reasons.push(ranking.order.length === 1 ? "the only candidate left" : "best ranked");
  if (second !== undefined && head.by === "rank" && second.by === "rank")
    reasons.push(ranking.decidedBy(head.ranked, second.ranked));
  if (job.model !== null && record.models === null && record.role === "agent")
    reasons.push("it lists no models: the pinned one is checked when it answers");
  return [...reasons, ...finding.ignored];
}

export function margin(picks: Picks, ranking: Ranking): { runnerUp: string | null; margin: string | null } {
  const [head, second] = picks.members;
  if (head === undefined || second === undefined) return { runnerUp: null, margin: null };
  const { record, model } = second.ranked.candidate;
  return {
    runnerUp: candidateName({ runtime: record.id, model }),
    margin: second.by === "declared" ? "declared order" : ranking.decidedBy(head.ranked, second.ranked),
  };
}

export function notes(
  job: RouteJob,
  picks: Picks,
  chain: readonly Candidate[],
  rejected: readonly Rejected[],
): RouteNote[] {
  const found: RouteNote[] = [];
  const pin = pinOf(job);
  const head = chain[0];
  if (pin !== null && head !== undefined && head.runtime !== pin)
    found.push({
      code: "pinned-missing",
      message: `\`${pin}\` cannot run it: ${reasonFor(pin, rejected)}; its declared fallback \`${head.runtime}\` does`,
    });
  for (const name of job.session === null && head !== undefined ? picks.unresolved : [])
    if (isPlaceholder(name))
      found.push({
        code: "no-fallback",
        message: `no candidate is left for the fallback ${name}: it was dropped`,
      });
    else if (name !== pin)
      found.push({
        code: "fallback-rejected",
        message: `the fallback \`${name}\` cannot take over: ${reasonFor(name, rejected)}`,
      });
  picks.members.forEach((member, at) => {
    const candidate = chain[at] as Candidate;
    if (at > 0 && member.by === "declared" && candidate.weaker.length > 0)
      found.push({
        code: "fallback-weaker",
        message: `the fallback \`${candidateName(candidate)}\` can never take over: weaker than \`${candidateName(head as Candidate)}\` in ${candidate.weaker.join(", ")}`,
      });
  });
  return found;
}

const reasonFor = (runtime: string, rejected: readonly Rejected[]): string =>
  nearest(rejected.filter((one) => one.runtime === runtime))
    ?.reasons.map((reason) => reason.detail)
    .join("; ") ?? "it is named twice";
