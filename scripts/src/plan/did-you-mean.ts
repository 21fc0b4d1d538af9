/** The known word that was probably meant, or null. */
import leven from "leven";

const LONGEST = 64;
const MOST_COMPARED = 300;

/** Names that other tools use for the same thing. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  needs: "depends_on",
  deps: "depends_on",
  dependencies: "depends_on",
  after: "depends_on",
  parallel: "concurrency",
  parallelism: "concurrency",
  max_parallel: "concurrency",
  tasks: "jobs",
  steps: "jobs",
  roots: "workspace_roots",
  workdir: "cwd",
  working_directory: "cwd",
  dir: "cwd",
  instructions: "prompt",
  description: "prompt",
  tools: "allowed_tools",
  paths: "owned_paths",
  owns: "owned_paths",
  files: "owned_paths",
  artifacts: "outputs",
  verify: "verification",
  tests: "verification",
  retries: "retry",
  reasoning: "effort",
  priority: "importance",
  fallback_runtimes: "fallback_runtime",
};

export function didYouMean(word: string, known: Iterable<string>): string | null {
  if (word.length > LONGEST) return null;
  const list = candidates(word, [...known]);
  const plain = simplify(word);
  const same = list.find((candidate) => simplify(candidate) === plain);
  if (same !== undefined) return same;
  const other = Object.hasOwn(OTHER_NAMES, word.toLowerCase()) ? OTHER_NAMES[word.toLowerCase()] : undefined;
  if (other !== undefined && list.includes(other)) return other;
  let best: string | null = null;
  let distance = mostEdits(word.length) + 1;
  for (const candidate of list) {
    // The difference in length alone is a lower bound: most candidates need no closer look.
    if (Math.abs(candidate.length - word.length) >= distance) continue;
    const next = leven(plain, simplify(candidate));
    if (next < distance) {
      distance = next;
      best = candidate;
    }
  }
  return best;
}

/** Of ten thousand ids the ones with the same beginning have to do: each comparison counts there. */
function candidates(word: string, known: readonly string[]): readonly string[] {
  if (known.length <= MOST_COMPARED) return known;
  const first = word.charAt(0);
  return known.filter((candidate) => candidate.startsWith(first)).slice(0, MOST_COMPARED);
}

/** Of two letters any two words are close; of four, two swapped letters are a typing error. */
const mostEdits = (length: number): number =>
  length < 3 ? 0 : length === 3 ? 1 : Math.max(2, Math.floor(length / 3));

const simplify = (word: string): string => word.toLowerCase().replace(/[-_. ]/g, "");
