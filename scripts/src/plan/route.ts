/**
 * Routing: which candidate runs a job, and who may take over. Hard filter, then rank, then chain. Pins are honoured or
 * block; a placeholder is a class, not a pin. The same job in the same world always gets the same route.
 */

import { isPlaceholder } from "../core/placeholders.ts";
import type { RouteJob, RouteWorld } from "./candidates.ts";
import { pickChain, toChain } from "./chain.ts";
import type { Raise } from "./controls.ts";
import { pinOf } from "./filter.ts";
import { rank } from "./rank.ts";
import { blockOf, describeRejected, margin, notes, type Route, type RouteNote, why } from "./route-words.ts";
import { sift } from "./sift.ts";

export interface RouteAnswer {
  readonly route: Route;
  /** The only candidates left need more isolation: give it to the job and route again. */
  readonly raise: Raise | null;
  readonly notes: readonly RouteNote[];
  /** Claims of project files that the route passed over. */
  readonly ignored: readonly string[];
}

/** Routes one job. Records in any order. */
export function routeJob(job: RouteJob, world: RouteWorld): RouteAnswer {
  const { passed, rejected, ignored, raise } = sift(job, world);
  const ranking = rank(passed, job, world);
  const picks = pickChain(job, ranking);
  const chain = toChain(picks.members, job);
  return {
    route: {
      chain,
      rejected: describeRejected(rejected, job),
      runtimeFrom: job.runtime !== null && isPlaceholder(job.runtime) ? job.runtime : null,
      pinned: pinOf(job) !== null,
      blocked: chain.length > 0 ? null : blockOf(job, rejected),
      why: why(job, picks, ranking),
      ...margin(picks, ranking),
    },
    raise,
    notes: notes(job, picks, chain, rejected),
    ignored,
  };
}
