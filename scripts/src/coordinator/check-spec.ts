/** What `validate` does: everything that a spec can be told without looking at runtimes or starting a process. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { hasErrors } from "../core/diagnostic.ts";
import { deriveJobs } from "../plan/derive.ts";
import { stagesById } from "../plan/job-graph.ts";
import type { DeriveFacts, RepoState } from "../plan/plan-input.ts";
import { unsupportedFields } from "../plan/unsupported.ts";
import { inFile, type LoadedSpec, loadSpec, type SpecInput } from "./load-spec.ts";

export interface CheckedSpec {
  /** Null when the spec cannot be used. */
  readonly summary: { readonly jobs: number; readonly stages: number } | null;
  readonly diagnostics: Diagnostic[];
}

export async function checkSpec(input: SpecInput): Promise<CheckedSpec> {
  const { loaded, diagnostics } = loadSpec(input);
  if (loaded === null) return { summary: null, diagnostics };
  const derived = await derive(loaded);
  diagnostics.push(...derived.diagnostics.map((one) => inFile(one, input.path)));
  // Valid all the same: only `run` refuses these.
  diagnostics.push(
    ...unsupportedFields(loaded.spec).map(
      (d): Diagnostic => ({ ...inFile(d, input.path), severity: "warning" }),
    ),
  );
  if (derived.value === null || hasErrors(diagnostics)) return { summary: null, diagnostics };
  const stages = stagesById(derived.value.graph).length;
  return { summary: { jobs: loaded.jobs.length, stages }, diagnostics };
}

/**
 * Tracked files are fetched only when an answer depends on them: then the pure derivation is asked once more. Adapters
 * and git are loaded only for specs that need them, since checking a small spec costs little more than starting Node.
 */
async function derive(loaded: LoadedSpec): Promise<ReturnType<typeof deriveJobs>> {
  const tracked = new Map<string, readonly string[]>();
  const asked = new Set<string>();
  const facts: DeriveFacts = {
    traits: await traitsFor(loaded),
    repoOf: repoAround,
    trackedFiles: (topLevel) => {
      if (!tracked.has(topLevel)) asked.add(topLevel);
      return tracked.get(topLevel) ?? [];
    },
    locate: loaded.locate,
  };
  const first = deriveJobs(loaded.jobs, facts);
  if (asked.size === 0) return first;
  const { trackedFiles } = await import("../host/git.ts");
  for (const topLevel of asked) tracked.set(topLevel, await trackedFiles(topLevel));
  return deriveJobs(loaded.jobs, facts);
}

async function traitsFor({ jobs, config }: LoadedSpec): Promise<DeriveFacts["traits"]> {
  if (jobs.every((job) => job.runtime === null)) return () => null;
  const { adapterFor } = await import("../runtimes/registry.ts");
  const entries = config.declared.map(({ entry }) => entry);
  return (id) => adapterFor(id, entries);
}

/**
 * The repository around a folder, found as git finds it but without starting git: for a spec's rules it only matters
 * which repository it is. Head and changes stay unknown here.
 */
function repoAround(cwd: string): RepoState | null {
  for (let at = cwd; ; at = dirname(at)) {
    const entry = join(at, ".git");
    if (existsSync(entry))
      return { topLevel: at, commonDir: commonDir(entry), baseRef: "HEAD", baseCommit: null, dirty: 0 };
    if (dirname(at) === at) return null;
  }
}

/** `.git` is a folder, or in a linked worktree a file that names one, which names the shared one. */
function commonDir(entry: string): string {
  const pointer = readOrNull(entry)
    ?.replace(/^gitdir: /, "")
    .trim();
  const own = pointer === undefined ? entry : resolve(dirname(entry), pointer);
  const shared = readOrNull(join(own, "commondir"))?.trim();
  const found = shared === undefined ? own : resolve(own, shared);
  return existsSync(found) ? realpathSync(found) : found;
}

/** Content of a regular file; null for everything else. */
function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
