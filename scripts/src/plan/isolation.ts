/**
 * Which jobs get a worktree of their own, whatever the spec says, and who decided it. Isolation only grows: a job that
 * depends on an isolated writer must see its branch, and a writer below an isolated job must have one to be merged.
 */
import { quoteShell } from "../core/shell-quote.ts";
import { type RiskTier, riskAtLeast } from "../core/tiers.ts";
import type { Raise } from "./controls.ts";
import type { JobGraph } from "./job-graph.ts";

export type IsolationOrigin =
  | "spec"
  | "defaults"
  | "built-in"
  | "policy:parallel"
  | "policy:r2"
  | "policy:unverified"
  | "policy:auto-approval"
  | "policy:write-boundary"
  | "policy:dependency";

export interface IsolationWish {
  readonly riskTier: RiskTier;
  readonly writer: boolean;
  readonly parallel: boolean;
  readonly isolation: "none" | "worktree";
  readonly origin: "spec" | "defaults" | "built-in";
  /** The only candidates left ask for it. */
  readonly raise: Raise | null;
  /** A worktree can be made here: there is a repository with a commit. */
  readonly possible: boolean;
}

export interface EffectiveIsolation {
  readonly isolation: "none" | "worktree";
  readonly origin: IsolationOrigin;
}

/** Effective isolation of each job, by position in the graph. */
export function effectiveIsolation(graph: JobGraph, wishes: readonly IsolationWish[]): EffectiveIsolation[] {
  const own = wishes.map(ownIsolation);
  const isolated = spread(
    graph,
    own.map((value) => value.isolation === "worktree"),
    wishes.map((wish) => wish.writer),
  );
  return own.map((value, at) =>
    isolated[at] && value.isolation === "none"
      ? { isolation: "worktree", origin: "policy:dependency" }
      : value,
  );
}

export interface RepoFacts {
  readonly topLevel: string;
  readonly baseCommit: string | null;
}

/** Why an isolated job cannot have its worktree, with the command that changes it; null when it can. */
export function worktreeProblem(
  cwd: string,
  repo: RepoFacts | null,
): { readonly code: "no-git" | "no-base-commit"; readonly detail: string } | null {
  if (repo === null)
    return {
      code: "no-git",
      detail: `needs its own worktree, but \`${cwd}\` is in no git repository; run: git -C ${quoteShell(cwd)} init && git -C ${quoteShell(cwd)} add -A && git -C ${quoteShell(cwd)} commit -m "Base"`,
    };
  if (repo.baseCommit === null)
    return {
      code: "no-base-commit",
      detail: `needs its own worktree, but \`${repo.topLevel}\` has no commit to start from; run: git -C ${quoteShell(repo.topLevel)} add -A && git -C ${quoteShell(repo.topLevel)} commit --allow-empty -m "Base"`,
    };
  return null;
}

function ownIsolation(wish: IsolationWish): EffectiveIsolation {
  const worktree = (origin: IsolationOrigin): EffectiveIsolation => ({ isolation: "worktree", origin });
  if (wish.isolation === "worktree") return worktree(wish.origin);
  if (wish.parallel) return worktree("policy:parallel");
  // A job at R2 that only reads needs a boundary too, but may get it from its candidate where no worktree can be had.
  if (riskAtLeast(wish.riskTier, "R2") && (wish.writer || wish.possible)) return worktree("policy:r2");
  if (wish.raise !== null) return worktree(`policy:${wish.raise}`);
  return { isolation: "none", origin: wish.origin };
}

/** Each job learns each fact once, so the whole graph costs one visit per edge and direction. */
function spread(graph: JobGraph, seed: readonly boolean[], writer: readonly boolean[]): readonly boolean[] {
  const isolated = seed.map(() => false);
  const belowIsolatedWriter = seed.map(() => false);
  const aboveIsolated = seed.map(() => false);
  const queue: { readonly at: number; readonly fact: "isolated" | "below" | "above" }[] = [];
  const learn = (at: number, fact: "isolated" | "below" | "above"): void => {
    const known = fact === "isolated" ? isolated : fact === "below" ? belowIsolatedWriter : aboveIsolated;
    if (known[at]) return;
    known[at] = true;
    queue.push({ at, fact });
  };
  seed.forEach((is, at) => {
    if (is) learn(at, "isolated");
  });
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { at, fact } = next;
    if (fact === "below" || (fact === "above" && writer[at])) learn(at, "isolated");
    if (fact !== "above" && (fact === "below" || writer[at]))
      for (const after of graph.dependents[at] as readonly number[]) learn(after, "below");
    if (fact !== "below")
      for (const before of graph.dependencies[at] as readonly number[]) learn(before, "above");
  }
  return isolated;
}
