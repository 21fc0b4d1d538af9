/**
 * The dependency graph of a spec: cycles, stages, critical path and the question which jobs no path orders.
 * Own code instead of a graph library, because everything here is one pass over arrays: 10,000 jobs with 90,000
 * edges must cost less than reading their spec.
 */

/** The part of a job that the graph is made of. */
export interface GraphNode {
  readonly id: string;
  readonly dependsOn: readonly string[];
}

/** Positions are indexes into `ids`, which is the plan order: by stage, then by id, whatever order the spec has. */
export interface JobGraph {
  readonly ids: readonly string[];
  readonly position: ReadonlyMap<string, number>;
  /** Positions of the direct dependencies of each job, without repeats. */
  readonly dependencies: readonly (readonly number[])[];
  readonly dependents: readonly (readonly number[])[];
  /** Longest chain of dependencies above each job. */
  readonly stage: readonly number[];
}

export type GraphFault =
  | { readonly kind: "unknown"; readonly id: string; readonly dependency: string; readonly at: number }
  | { readonly kind: "self"; readonly id: string; readonly at: number }
  /** `path` begins and ends with the same id; each job depends on the next one. */
  | { readonly kind: "cycle"; readonly id: string; readonly path: readonly string[] };

/** The graph, or every fault that keeps it from being one. Ids must be unique. */
export function buildJobGraph(
  jobs: readonly GraphNode[],
):
  | { readonly graph: JobGraph; readonly faults: [] }
  | { readonly graph: null; readonly faults: GraphFault[] } {
  const byId = [...jobs].sort((a, b) => compareIds(a.id, b.id));
  const index = new Map(byId.map((job, i) => [job.id, i]));
  const { above, faults } = resolveDependencies(byId, index);
  const below = reverse(above);
  const stage = stagesOf(above, below);
  faults.push(...cycles(byId, above, below, stage));
  // Of one job, what is wrong with a name comes first, as it was found first.
  if (faults.length > 0) return { graph: null, faults: faults.sort((a, b) => compareIds(a.id, b.id)) };
  return { graph: inPlanOrder(byId, above, stage), faults: [] };
}

/** Ids by stage, in plan order. */
export function stagesById(graph: JobGraph): string[][] {
  const stages: string[][] = [];
  graph.ids.forEach((id, at) => {
    const stage = graph.stage[at] as number;
    stages[stage] ??= [];
    (stages[stage] as string[]).push(id);
  });
  return stages;
}

/** The chain of jobs whose weights (milliseconds) add up to the most, first to last; ties go to plan order. */
export function criticalPath(
  graph: JobGraph,
  weight: (at: number) => number,
): { readonly ids: string[]; readonly weight: number } {
  const best: number[] = [];
  const via: number[] = [];
  let end = -1;
  for (let at = 0; at < graph.ids.length; at += 1) {
    let from = -1;
    for (const before of graph.dependencies[at] as readonly number[])
      if (from < 0 || (best[before] as number) > (best[from] as number)) from = before;
    best[at] = weight(at) + (from < 0 ? 0 : (best[from] as number));
    via[at] = from;
    if (end < 0 || (best[at] as number) > (best[end] as number)) end = at;
  }
  const ids: string[] = [];
  for (let at = end; at >= 0; at = via[at] as number) ids.push(graph.ids[at] as string);
  return { ids: ids.reverse(), weight: end < 0 ? 0 : (best[end] as number) };
}

/**
 * For each marked job, whether some other marked job is neither above nor below it. Exact and linear.
 *
 * Jobs are taken away in topological order, unmarked ones first. When only marked jobs are free, no two of them are
 * ordered; when exactly one is, all that is left lies below it. Done from both ends this counts how many marked jobs a
 * job is ordered with, and that is all of them or not.
 */
export function unorderedAmong(graph: JobGraph, marked: (at: number) => boolean): boolean[] {
  const size = graph.ids.length;
  const isMarked = Array.from({ length: size }, (_, at) => marked(at));
  const total = isMarked.filter(Boolean).length;
  const below = peel(graph.dependencies, graph.dependents, isMarked, total);
  const above = peel(graph.dependents, graph.dependencies, isMarked, total);
  // Where one of the two is -1, the sum is too small as well.
  return isMarked.map((is, at) => is && (below[at] as number) + (above[at] as number) !== total - 1);
}

/** Answers "is there a path between these two?" for a chosen few; bits only for those, one word per 32 of them. */
export interface Reachability {
  /** True when one of the two depends on the other, directly or not. Both must be among the chosen. */
  ordered(a: number, b: number): boolean;
}

export function reachabilityAmong(graph: JobGraph, chosen: readonly number[]): Reachability {
  const words = Math.ceil(chosen.length / 32);
  const bit = new Map(chosen.map((at, i) => [at, i]));
  const bits = new Uint32Array(words * graph.ids.length);
  for (let at = 0; at < graph.ids.length; at += 1) {
    const base = at * words;
    for (const before of graph.dependencies[at] as readonly number[]) {
      const from = before * words;
      for (let word = 0; word < words; word += 1)
        bits[base + word] = (bits[base + word] as number) | (bits[from + word] as number);
      const own = bit.get(before);
      if (own !== undefined)
        bits[base + (own >> 5)] = (bits[base + (own >> 5)] as number) | (1 << (own & 31));
    }
  }
  const above = (a: number, b: number): boolean => {
    const own = bit.get(a) as number;
    return (((bits[b * words + (own >> 5)] as number) >>> (own & 31)) & 1) === 1;
  };
  return { ordered: (a, b) => (a < b ? above(a, b) : above(b, a)) };
}

/** Byte order, so that no locale can change a plan. */
export const compareIds = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

type Lists = readonly (readonly number[])[];

function resolveDependencies(
  jobs: readonly GraphNode[],
  index: ReadonlyMap<string, number>,
): { above: number[][]; faults: GraphFault[] } {
  const faults: GraphFault[] = [];
  const above = jobs.map((job) => {
    const known: number[] = [];
    job.dependsOn.forEach((dependency, at) => {
      const found = index.get(dependency);
      if (found === undefined) faults.push({ kind: "unknown", id: job.id, dependency, at });
      else if (dependency === job.id) faults.push({ kind: "self", id: job.id, at });
      else known.push(found);
    });
    known.sort((a, b) => a - b);
    return known.filter((one, at) => at === 0 || one !== known[at - 1]);
  });
  return { above, faults };
}

function reverse(above: Lists): number[][] {
  const below: number[][] = above.map(() => []);
  above.forEach((list, at) => {
    for (const before of list) (below[before] as number[]).push(at);
  });
  return below;
}

/** Stage of each job; -1 for jobs on a cycle or below one. */
function stagesOf(above: Lists, below: Lists): number[] {
  const open = above.map((list) => list.length);
  const deepest = above.map(() => 0);
  const free: number[] = [];
  open.forEach((count, at) => {
    if (count === 0) free.push(at);
  });
  for (let next = 0; next < free.length; next += 1) {
    const at = free[next] as number;
    for (const after of below[at] as readonly number[]) {
      open[after] = (open[after] as number) - 1;
      deepest[after] = Math.max(deepest[after] as number, (deepest[at] as number) + 1);
      if (open[after] === 0) free.push(after);
    }
  }
  return deepest.map((value, at) => (open[at] === 0 ? value : -1));
}

/** More cycles than this tell a reader nothing new. */
const CYCLES_SHOWN = 50;

/** One cycle after the other, each without the jobs of those before it, until none is left. */
function cycles(
  jobs: readonly GraphNode[],
  above: Lists,
  below: Lists,
  stage: readonly number[],
): GraphFault[] {
  const faults: GraphFault[] = [];
  const left = new Set<number>();
  stage.forEach((value, at) => {
    if (value < 0) left.add(at);
  });
  for (;;) {
    dropAcyclic(left, above, below);
    const start = Math.min(...left);
    if (left.size === 0 || faults.length === CYCLES_SHOWN) return faults;
    const path = [start];
    const seenAt = new Map([[start, 0]]);
    for (;;) {
      const next = (above[path.at(-1) as number] as readonly number[]).find((at) => left.has(at)) as number;
      const seen = seenAt.get(next);
      path.push(next);
      if (seen === undefined) {
        seenAt.set(next, path.length - 1);
        continue;
      }
      const loop = path.slice(seen);
      const names = rotate(loop.slice(1)).map((at) => (jobs[at] as GraphNode).id);
      faults.push({ kind: "cycle", id: names[0] as string, path: [...names, names[0] as string] });
      for (const at of loop) left.delete(at);
      break;
    }
  }
}

/** Same cycle, told from its smallest id on. */
function rotate(loop: readonly number[]): number[] {
  const from = loop.indexOf(Math.min(...loop));
  return [...loop.slice(from), ...loop.slice(0, from)];
}

/** Leaves only jobs that depend on one of `left` and that one of `left` depends on. */
function dropAcyclic(left: Set<number>, above: Lists, below: Lists): void {
  const within = (list: readonly number[]): boolean => list.some((at) => left.has(at));
  const doubtful = [...left];
  while (doubtful.length > 0) {
    const at = doubtful.pop() as number;
    const [up, down] = [above[at] as readonly number[], below[at] as readonly number[]];
    if (!left.has(at) || (within(up) && within(down))) continue;
    left.delete(at);
    for (const other of [...up, ...down]) if (left.has(other)) doubtful.push(other);
  }
}

function inPlanOrder(jobs: readonly GraphNode[], above: Lists, stage: readonly number[]): JobGraph {
  const order = jobs.map((_, at) => at).sort((a, b) => (stage[a] as number) - (stage[b] as number) || a - b);
  const place: number[] = [];
  order.forEach((at, i) => {
    place[at] = i;
  });
  const ids = order.map((at) => (jobs[at] as GraphNode).id);
  const dependencies = order.map((at) =>
    (above[at] as readonly number[]).map((i) => place[i] as number).sort((a, b) => a - b),
  );
  return {
    ids,
    position: new Map(ids.map((id, i) => [id, i])),
    dependencies,
    dependents: reverse(dependencies),
    stage: order.map((at) => stage[at] as number),
  };
}

/**
 * For each marked job the number of marked jobs taken away after it when it was the only one free, or -1 when another
 * was free beside it. Unmarked jobs go first, as they order nothing themselves.
 */
function peel(above: Lists, below: Lists, isMarked: readonly boolean[], total: number): number[] {
  const open = above.map((list) => list.length);
  const after = above.map(() => -1);
  const plain: number[] = [];
  let marked: number[] = [];
  const release = (at: number): void => {
    (isMarked[at] ? marked : plain).push(at);
  };
  const take = (at: number): void => {
    for (const next of below[at] as readonly number[]) {
      open[next] = (open[next] as number) - 1;
      if (open[next] === 0) release(next);
    }
  };
  open.forEach((count, at) => {
    if (count === 0) release(at);
  });
  let left = total;
  for (;;) {
    for (let at = plain.pop(); at !== undefined; at = plain.pop()) take(at);
    if (marked.length === 0) return after;
    const alone = marked.length === 1;
    const batch = marked;
    marked = [];
    // Jobs that are free together stay unordered whatever comes later: all of them can go at once.
    for (const at of batch) {
      left -= 1;
      if (alone) after[at] = left;
    }
    for (const at of batch) take(at);
  }
}
