/**
 * Ownership: which files a job's `owned_paths` mean, and where two jobs that no dependency orders could write the same
 * one. Only globs whose literal prefixes nest are compared, so disjoint folders cost a sort.
 */
import picomatch from "picomatch";
import { plainPath } from "./check-paths.ts";
import type { JobGraph, Reachability } from "./job-graph.ts";
import { compareIds, reachabilityAmong } from "./job-graph.ts";
import { hasWildcard, literalPrefix } from "./tier.ts";

/** What one job says about files, relative to the folder it works in. */
export interface OwningJob {
  /** Position in the job graph. */
  readonly at: number;
  /** Absolute top level of the repository, or the job's cwd outside of one. */
  readonly root: string;
  /** cwd relative to `root`, `""` for the root itself, no trailing slash. */
  readonly folder: string;
  readonly ownedPaths: readonly string[];
  /** Declared output files, relative to cwd. */
  readonly outputs: readonly string[];
}

export interface Overlap {
  /** Positions, smaller first. */
  readonly jobs: readonly [number, number];
  /** As each of the two wrote it. */
  readonly globs: readonly [string, string];
  /** A file both would own, when one is known. */
  readonly path: string | null;
}

/** Tracked files of a repository, relative to its top level. Asked at most once per repository, and only when needed. */
export type TrackedFiles = (root: string) => readonly string[];

/** More pairs than this tell a reader nothing new, and a spec can hold millions of them. */
export const OVERLAPS_SHOWN = 100;

/** Pairs of overlapping globs of jobs that have no path between them, one per pair of globs, at most `OVERLAPS_SHOWN`. */
export function findOverlaps(
  graph: JobGraph,
  writers: readonly OwningJob[],
  trackedFiles: TrackedFiles,
): Overlap[] {
  const overlaps: Overlap[] = [];
  let reach: Reachability | null = null;
  for (const { a, b, path } of meetings(groupByGlob(writers), createUniverse(writers, trackedFiles))) {
    reach ??= reachabilityAmong(
      graph,
      writers.map((job) => job.at),
    );
    const pair = a === b ? unorderedWithin(a.jobs, reach) : unorderedBetween(a.jobs, b.jobs, reach);
    if (pair !== null) overlaps.push(describe(a, b, pair, path()));
    if (overlaps.length === OVERLAPS_SHOWN) break;
  }
  return overlaps.sort(
    (x, y) =>
      x.jobs[0] - y.jobs[0] ||
      x.jobs[1] - y.jobs[1] ||
      compareIds(x.globs[0], y.globs[0]) ||
      compareIds(x.globs[1], y.globs[1]),
  );
}

export interface OutputConflict {
  readonly jobs: readonly [number, number];
  /** Absolute. */
  readonly path: string;
}

/** Declared outputs that two jobs without a path between them would both write. */
export function findOutputConflicts(graph: JobGraph, jobs: readonly OwningJob[]): OutputConflict[] {
  const byPath = new Map<string, number[]>();
  for (const job of jobs)
    for (const output of new Set(
      job.outputs.map((path) => `${job.root}/${inFolder(job.folder, plainPath(path))}`),
    ))
      byPath.set(output, [...(byPath.get(output) ?? []), job.at]);
  const shared = [...byPath].filter(([, positions]) => positions.length > 1);
  const reach = reachabilityAmong(graph, [...new Set(shared.flatMap(([, positions]) => positions))]);
  return shared
    .flatMap(([path, positions]) => {
      const pair = unorderedWithin(
        [...positions].sort((a, b) => a - b),
        reach,
      );
      return pair === null ? [] : [{ jobs: [pair.from, pair.to] as const, path }];
    })
    .sort((a, b) => a.jobs[0] - b.jobs[0] || a.jobs[1] - b.jobs[1] || compareIds(a.path, b.path));
}

/** True when the globs match more than `limit` of the tracked files; stops counting there. */
export function matchesMoreThan(limit: number, job: OwningJob, trackedFiles: TrackedFiles): boolean {
  const globs = job.ownedPaths.map((glob) => ownedGlob(job, glob));
  if (globs.every((glob) => !glob.wild) && globs.length <= limit) return false;
  const files = trackedFiles(job.root);
  const found = new Set<string>();
  for (const glob of globs)
    for (const file of files) {
      if (!glob.matches(file)) continue;
      found.add(file);
      if (found.size > limit) return true;
    }
  return false;
}

interface OwnedGlob {
  readonly root: string;
  /** From the root, in its plain spelling. */
  readonly glob: string;
  /** Literal start of what it can match, from the root. */
  readonly prefix: string;
  readonly wild: boolean;
  readonly deep: boolean;
  /** Of a path relative to the root. */
  readonly matches: (path: string) => boolean;
}

interface GlobGroup extends OwnedGlob {
  readonly jobs: number[];
  /** How each of the jobs spells it. */
  readonly written: Map<number, string>;
}

const inFolder = (folder: string, path: string): string => (folder === "" ? path : `${folder}/${path}`);

/** `./a//b/` and `a/b` own the same thing, and so do `.` and `**`. */
const plainGlob = (written: string): string => plainPath(written) || "**";

function ownedGlob(job: OwningJob, written: string): OwnedGlob {
  const glob = plainGlob(written);
  const prefix = inFolder(job.folder, literalPrefix(glob));
  let compiled: ((path: string) => boolean) | null = null;
  return {
    root: job.root,
    glob: inFolder(job.folder, glob),
    prefix,
    wild: hasWildcard(glob),
    deep: glob.includes("**"),
    matches: (path) => {
      if (!path.startsWith(prefix)) return false;
      compiled ??= picomatch(glob, { dot: true });
      return compiled(path.slice(inFolder(job.folder, "").length));
    },
  };
}

/** The same glob is one entry, with all jobs that own it in plan order. */
function groupByGlob(writers: readonly OwningJob[]): GlobGroup[] {
  const groups = new Map<string, GlobGroup>();
  for (const job of [...writers].sort((a, b) => a.at - b.at))
    for (const written of job.ownedPaths) {
      const owned = ownedGlob(job, written);
      const key = JSON.stringify([owned.root, owned.glob]);
      const group: GlobGroup = groups.get(key) ?? { ...owned, jobs: [], written: new Map() };
      groups.set(key, group);
      if (group.written.has(job.at)) continue;
      group.jobs.push(job.at);
      group.written.set(job.at, written);
    }
  return [...groups.values()].sort(
    (a, b) => compareIds(a.root, b.root) || compareIds(a.prefix, b.prefix) || compareIds(a.glob, b.glob),
  );
}

interface Meeting {
  readonly a: GlobGroup;
  readonly b: GlobGroup;
  readonly path: () => string | null;
}

/** Pairs of globs that can mean the same file, each once; those that their prefixes alone tell first. */
function* meetings(groups: readonly GlobGroup[], universe: Universe): Generator<Meeting> {
  let doubtful = false;
  for (const { a, b, sure } of nestedPairs(groups))
    if (sure) yield { a, b, path: () => universe.common(a, b) };
    else doubtful = true;
  if (doubtful) for (const [a, b, path] of shallowPairs(groups, universe)) yield { a, b, path: () => path };
}

interface NestedPair {
  readonly a: GlobGroup;
  readonly b: GlobGroup;
  /** False: both are free of `**`, so that only a common path tells. One such pair of a group stands for all of them. */
  readonly sure: boolean;
}

/** Pairs where one literal prefix contains the other. Sorted, everything below a prefix follows it directly. */
function* nestedPairs(groups: readonly GlobGroup[]): Generator<NestedPair> {
  let open: GlobGroup[] = [];
  for (const group of groups) {
    if (group.jobs.length > 1) yield { a: group, b: group, sure: true };
    open = open.filter((outer) => outer.root === group.root && group.prefix.startsWith(outer.prefix));
    const flat = open.find((outer) => !outer.deep && !group.deep && contains(outer, group));
    if (flat !== undefined) yield { a: flat, b: group, sure: false };
    for (const outer of open)
      if (isFolderOf(outer, group) || ((outer.deep || group.deep) && contains(outer, group)))
        yield { a: outer, b: group, sure: true };
    open.push(group);
  }
}

/** `d` beside `d/x`: one job makes a file of it and the other a folder, so that whoever comes second fails. */
const isFolderOf = (outer: OwnedGlob, inner: OwnedGlob): boolean =>
  !outer.wild && inner.prefix.startsWith(`${outer.prefix}/`);

/** Of nested prefixes: that of a pattern may end in the middle of a name, `a` owns `a` only and never `ab`. */
const contains = (outer: OwnedGlob, inner: OwnedGlob): boolean => outer.wild || inner.prefix === outer.prefix;

/**
 * Nested prefixes still mean different files when both globs stay free of `**`, differ, and match no common path among
 * all that is known: tracked files, declared outputs and the globs without wildcards. So the pairs that are left are
 * found by their common paths.
 */
function* shallowPairs(
  groups: readonly GlobGroup[],
  universe: Universe,
): Generator<readonly [GlobGroup, GlobGroup, string]> {
  const owners = new Map<string, GlobGroup[]>();
  const seen = new Map<GlobGroup, Set<GlobGroup>>();
  for (const group of groups) {
    if (group.deep) continue;
    const met = new Set<GlobGroup>();
    seen.set(group, met);
    for (const path of universe.paths(group)) {
      const key = `${group.root}/${path}`;
      const others = owners.get(key) ?? [];
      for (const other of others) {
        if (met.has(other)) continue;
        met.add(other);
        yield [other, group, path];
      }
      owners.set(key, [...others, group]);
    }
  }
}

function describe(
  a: GlobGroup,
  b: GlobGroup,
  pair: { readonly from: number; readonly to: number },
  path: string | null,
): Overlap {
  const [first, second] = pair.from < pair.to ? [a, b] : [b, a];
  const jobs = [Math.min(pair.from, pair.to), Math.max(pair.from, pair.to)] as const;
  return {
    jobs,
    globs: [first.written.get(jobs[0]) as string, second.written.get(jobs[1]) as string],
    path,
  };
}

interface Universe {
  /** Known paths that the glob matches, sorted. */
  paths(glob: OwnedGlob): readonly string[];
  common(a: OwnedGlob, b: OwnedGlob): string | null;
}

function createUniverse(writers: readonly OwningJob[], trackedFiles: TrackedFiles): Universe {
  const all = new Map<string, readonly string[]>();
  const matched = new Map<OwnedGlob, readonly string[]>();
  const known = (root: string): readonly string[] => {
    const found = all.get(root);
    if (found !== undefined) return found;
    const paths = new Set(trackedFiles(root));
    for (const job of writers) {
      if (job.root !== root) continue;
      const literals = job.ownedPaths.map(plainGlob).filter((glob) => !hasWildcard(glob));
      for (const path of [...job.outputs.map(plainPath), ...literals]) paths.add(inFolder(job.folder, path));
    }
    const sorted = [...paths].sort(compareIds);
    all.set(root, sorted);
    return sorted;
  };
  const pathsOf = (glob: OwnedGlob): readonly string[] => {
    const found = matched.get(glob) ?? withPrefix(known(glob.root), glob.prefix).filter(glob.matches);
    matched.set(glob, found);
    return found;
  };
  return {
    paths: pathsOf,
    common: (a, b) => {
      const others = new Set(pathsOf(b));
      return pathsOf(a).find((path) => others.has(path)) ?? null;
    },
  };
}

/** The part of a sorted list that starts with `prefix`. */
function withPrefix(sorted: readonly string[], prefix: string): readonly string[] {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as string) < prefix) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (end < sorted.length && (sorted[end] as string).startsWith(prefix)) end += 1;
  return sorted.slice(low, end);
}

/** In plan order a set of jobs is a chain exactly when each is ordered with the next. */
function unorderedWithin(jobs: readonly number[], reach: Reachability): { from: number; to: number } | null {
  for (let i = 1; i < jobs.length; i += 1) {
    const [from, to] = [jobs[i - 1] as number, jobs[i] as number];
    if (!reach.ordered(from, to)) return { from, to };
  }
  return null;
}

function unorderedBetween(
  a: readonly number[],
  b: readonly number[],
  reach: Reachability,
): { from: number; to: number } | null {
  for (const from of a) for (const to of b) if (from !== to && !reach.ordered(from, to)) return { from, to };
  return null;
}
