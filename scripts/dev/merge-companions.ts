/**
 * Puts chunks that are mostly loaded together into one file. Finding, opening and linking a module costs a command as
 * much as some tens of kilobytes of source, and the commands share their modules in many different sets.
 */
import { type ChunkSet, COSTLY_BUILTIN, importedBy, moveInto } from "./merge-chunks.ts";

/** What a file costs on top of its text, in characters: measured as 3 ms against 0.055 ms for 1,000 characters. */
const FILE_COST = 40_000;

/** Parts that a command loads at need, when the chunks that they share with it are there. */
const LATE: ReadonlySet<string> = new Set(["excerpt.mjs", "git.mjs", "registry.mjs"]);

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
  const loaders = loadersOf(set, imports);
  const shared = [...set.chunks.keys()].filter((file) => !set.entries.has(file)).sort();
  let best: Pair | null = null;
  for (const moved of shared)
    for (const into of [set.main, ...shared]) {
      if (into === moved) continue;
      const gain = gainOf(set, loaders, moved, into);
      if (gain > (best?.gain ?? 0) && !needEachOther(imports, moved, into)) best = { moved, into, gain };
    }
  return best;
}

/** Chunk → the named chunks that load it, directly or not. */
function loadersOf({ entries }: ChunkSet, imports: Imports): ReadonlyMap<string, ReadonlySet<string>> {
  const loaders = new Map([...imports.keys()].map((file) => [file, new Set<string>()]));
  for (const entry of [...entries].filter((file) => !LATE.has(file)))
    for (const file of reachable(imports, [entry])) loaders.get(file)?.add(entry);
  return loaders;
}

/**
 * Every named chunk that loads both saves a file; one that loads only one of them now reads the other as well, and none
 * may lose more by that than a file costs.
 */
function gainOf(
  { chunks }: ChunkSet,
  loaders: ReadonlyMap<string, ReadonlySet<string>>,
  a: string,
  b: string,
): number {
  const byA = [...(loaders.get(a) ?? [])];
  const byB = loaders.get(b) ?? new Set();
  const both = byA.filter((entry) => byB.has(entry)).length;
  const [onlyA, onlyB] = [byA.length - both, byB.size - both];
  const [textA, textB] = [chunks.get(a) ?? "", chunks.get(b) ?? ""];
  if ((onlyA > 0 && textB.length > FILE_COST) || (onlyB > 0 && textA.length > FILE_COST)) return 0;
  const gain = both * FILE_COST - onlyA * textB.length - onlyB * textA.length;
  if (gain <= 0) return 0;
  if ((onlyB > 0 && COSTLY_BUILTIN.test(textA)) || (onlyA > 0 && COSTLY_BUILTIN.test(textB))) return 0;
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
