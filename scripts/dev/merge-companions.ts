/**
 * Puts chunks that are mostly loaded together into one file. Finding, opening and linking a module costs a command as
 * much as some tens of kilobytes of source, and the commands share their modules in many different sets.
 */
import { type ChunkSet, COSTLY_BUILTIN, importedBy, moveInto } from "./merge-chunks.ts";

/** What a file costs on top of its text, in characters: measured as 3 ms against 0.055 ms for 1,000 characters. */
const FILE_COST = 40_000;

/** Parts that a command loads at need, when the chunks that they share with it are there. */
const LATE: ReadonlySet<string> = new Set(["excerpt.mjs", "git.mjs", "registry.mjs"]);

/** What a chunk that is loaded by name reads more counts less, the seldomer it is called: once in a run, or less. */
const WEIGHTS: ReadonlyMap<string, number> = new Map([
  ["hidden-coordinate.mjs", 0.5],
  ...[
    ...["approve", "calibrate", "clean", "completion", "confirm-policy", "credentials", "deny", "doctor"],
    ...["init", "integrate", "onboard", "policy-set", "policy-show", "probe", "schema", "smoke", "verify"],
  ].map((name): [string, number] => [`${name}.mjs`, 0.1]),
]);

/** The chunks with those merged that save more than they cost, summed over all chunks that are loaded by name. */
export async function mergeCompanions(set: ChunkSet): Promise<ReadonlyMap<string, string>> {
  let { chunks } = set;
  for (;;) {
    const best = bestPair({ ...set, chunks });
    if (best === null) return chunks;
    chunks = await moveInto({ ...set, chunks, main: best.into }, new Set([best.moved]));
  }
}

interface Pair {
  readonly moved: string;
  readonly into: string;
  readonly gain: number;
}

/** File → the files that it imports. */
type Imports = ReadonlyMap<string, readonly string[]>;

function bestPair(set: ChunkSet): Pair | null {
  const imports: Imports = new Map([...set.chunks].map(([file, text]) => [file, importedBy(text)]));
  const situation = situationOf(set, imports);
  const shared = [...set.chunks.keys()].filter((file) => !set.entries.has(file)).sort();
  let best: Pair | null = null;
  for (const moved of shared)
    for (const into of [set.main, ...shared]) {
      if (into === moved) continue;
      const gain = gainOf(situation, moved, into);
      if (gain > (best?.gain ?? 0) && !needEachOther(imports, moved, into)) best = { moved, into, gain };
    }
  return best;
}

interface Situation {
  readonly chunks: ChunkSet["chunks"];
  /** Chunk that is loaded by name → all that it loads, itself included. */
  readonly loads: ReadonlyMap<string, ReadonlySet<string>>;
  /** Chunk → itself and all that it stands on. */
  readonly needs: ReadonlyMap<string, ReadonlySet<string>>;
}

function situationOf({ chunks, entries }: ChunkSet, imports: Imports): Situation {
  const needs = new Map([...imports.keys()].map((file) => [file, reachable(imports, [file])]));
  const loads = new Map([...needs].filter(([file]) => entries.has(file) && !LATE.has(file)));
  return { chunks, loads, needs };
}

/**
 * Every named chunk that loads both saves a file; one that loads only one of them now reads the other as well, with all
 * that the other stands on, and none that is called often may lose more by that than a file costs.
 */
function gainOf(o: Situation, a: string, b: string): number {
  let gain = 0;
  for (const [file, loads] of o.loads) {
    const weight = WEIGHTS.get(file) ?? 1;
    const [hasA, hasB] = [loads.has(a), loads.has(b)];
    if (hasA && hasB) gain += weight * FILE_COST;
    else if (hasA || hasB) {
      const added = [...(o.needs.get(hasA ? b : a) ?? [])].filter((file) => !loads.has(file));
      const texts = added.map((file) => o.chunks.get(file) ?? "");
      const cost = texts.reduce((sum, text) => sum + text.length, 0);
      if (weight * cost > FILE_COST || texts.some((text) => COSTLY_BUILTIN.test(text))) return 0;
      gain -= weight * (cost + (added.length - 1) * FILE_COST);
    }
  }
  return gain;
}

/** One leads to the other through a third file, which would then be in a circle with the merged one. */
function needEachOther(imports: Imports, a: string, b: string): boolean {
  const around = (from: string, to: string): boolean =>
    reachable(
      imports,
      (imports.get(from) ?? []).filter((file) => file !== to),
    ).has(to);
  return around(a, b) || around(b, a);
}

function reachable(imports: Imports, start: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const needed of imports.get(file) ?? []) visit(needed);
  };
  for (const file of start) visit(file);
  return found;
}
