/** The boundary of a job: which changes count as its own, and which nobody in the shared window may have made. Pure. */
import { riskAtLeast } from "../core/tiers.ts";
import { check, names } from "./check-record.ts";
import { outputOf, ownedBy } from "./ownership.ts";
import type { LayerOneEvidence, LayerOneResult } from "./verify.ts";

type Artifact = LayerOneResult["artifacts"][number];
type Check = LayerOneResult["checks"][number];

export interface Attributed {
  /** Changes that count as this job's. */
  readonly own: readonly string[];
  /** Ignored files of its own worktree: shown, never counted. */
  readonly listed: readonly string[];
  /** Nobody in the window may have made them. */
  readonly outside: readonly string[];
  /** Tracked files that an observing job changed. */
  readonly altered: readonly string[];
  readonly unbounded: boolean;
}

const LISTED_MAX = 100;

export function attribute(e: LayerOneEvidence): Attributed {
  const ignored = new Set(e.ownWorktree ? e.changes.ignored : []);
  const all = [...e.changes.created, ...e.changes.modified, ...e.changes.deleted];
  const counted = all.filter((path) => !ignored.has(path));
  const isOutput = outputOf({ cwdPrefix: e.cwdPrefix, outputs: e.outputs.map((output) => output.path) });
  const isOwned = ownedBy({ cwdPrefix: e.cwdPrefix, ownedPaths: e.job.ownedPaths });
  const tracked = new Set(e.changes.tracked);
  const observes = e.job.effect === "observe";
  const unbounded = isUnbounded(e);
  const mayChange = (path: string): boolean =>
    unbounded || (observes ? isOutput(path) && !tracked.has(path) : isOutput(path) || isOwned(path));
  const peers = e.peers.map((peer) => ({
    output: outputOf(peer),
    owned: ownedBy(peer),
    observes: peer.effect === "observe",
  }));
  const others = (path: string): boolean =>
    peers.some((peer) =>
      peer.observes ? peer.output(path) && !tracked.has(path) : peer.output(path) || peer.owned(path),
    );
  const outside = counted.filter((path) => !mayChange(path) && !others(path));
  return {
    own: counted.filter((path) => mayChange(path) || !others(path)),
    listed: [...ignored].sort().slice(0, LISTED_MAX),
    outside: outside.sort(),
    altered: observes ? outside.filter((path) => tracked.has(path)) : [],
    unbounded,
  };
}

/**
 * A writer that declares neither owned paths nor files of its own has its whole worktree as its boundary; that is why policy
 * puts it at R2, in a worktree, before an arbiter. In a shared checkout nothing is ever unbounded.
 */
const isUnbounded = (e: LayerOneEvidence): boolean =>
  e.ownWorktree &&
  e.job.effect !== "observe" &&
  e.job.ownedPaths.length === 0 &&
  e.outputs.every((output) => output.fromResult);

export function boundary(e: LayerOneEvidence, changes: Attributed): Check[] {
  const checks: Check[] = [];
  if (!e.changes.measured) checks.push(unmeasured(e));
  else if (changes.altered.length > 0)
    checks.push(
      check(
        "owned-paths",
        false,
        `an observing job changed ${names(changes.altered)}`,
        "tracked-file-changed",
      ),
    );
  else if (changes.outside.length > 0)
    checks.push(check("owned-paths", false, outsideDetail(e, changes.outside), "out-of-bounds"));
  else checks.push(check("owned-paths", true, insideDetail(e, changes)));
  if (e.changes.headMoved !== null && !e.ownWorktree)
    checks.push(
      check(
        "head",
        false,
        `HEAD of the shared checkout moved from ${e.changes.headMoved.from ?? "nothing"} to ${e.changes.headMoved.to ?? "nothing"}`,
        "head-moved",
      ),
    );
  return checks;
}

const unmeasured = (e: LayerOneEvidence): Check =>
  e.job.writer || e.job.effect !== "observe"
    ? check("owned-paths", false, "there is no evidence of what was changed", "no-diff-evidence")
    : check("owned-paths", true, "not measured: the folder has no git and is too large", "no-diff-evidence");

function outsideDetail(e: LayerOneEvidence, outside: readonly string[]): string {
  const shared = e.peers.length === 0 ? "" : `; it ran beside ${names(e.peers.map((peer) => peer.jobId))}`;
  return e.job.effect === "observe"
    ? `${names(outside)} changed, but an observing job may only create its declared outputs${shared}`
    : `${names(outside)} changed outside of \`owned_paths\` and \`outputs\`${shared}`;
}

function insideDetail(e: LayerOneEvidence, changes: Attributed): string {
  const ignored =
    e.ownWorktree && e.changes.ignored.length > 0
      ? `; ${e.changes.ignored.length} ignored files changed`
      : "";
  const where = changes.unbounded
    ? "no `owned_paths` declared: the whole worktree is its boundary"
    : "all inside its boundary";
  return changes.own.length === 0
    ? `nothing changed${ignored}`
    : `${changes.own.length} changed, ${where}${ignored}`;
}

export function noChange(e: LayerOneEvidence, changes: Attributed, artifacts: readonly Artifact[]): Check[] {
  const applies =
    e.agent &&
    (e.job.task === "implement" || e.job.task === "mechanical") &&
    !riskAtLeast(e.job.riskTier, "R3");
  if (!applies || !e.changes.measured) return [];
  return changes.own.length > 0 || artifacts.some((artifact) => artifact.bytes > 0)
    ? [check("change", true, "there is a change or an output")]
    : [check("change", false, `the ${e.job.task} job changed nothing and left no output`, "no-change")];
}
