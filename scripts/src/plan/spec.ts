/** A job spec's text to a valid spec, or to everything that is wrong with it in one pass. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { JobsSpec } from "../core/generated/jobs.ts";
import { checkGraph } from "./check-graph.ts";
import { checkJob } from "./check-job.ts";
import { checkCwdPlaceholder } from "./check-placeholders.ts";
import { checkSecrets } from "./check-secrets.ts";
import { checkTop } from "./check-top.ts";
import type { Path, Place } from "./fault.ts";
import { readDocument } from "./read-yaml.ts";
import { sayIn } from "./rule.ts";
import { checkShape } from "./spec-shape.ts";

export type Spec = JobsSpec;

export interface ParsedSpec {
  /** Null when any diagnostic is an error. */
  readonly spec: Spec | null;
  readonly diagnostics: Diagnostic[];
  /** Place of a value in the text, or of its nearest ancestor. */
  readonly locate: (path: Path) => Place;
}

/** Never throws; every diagnostic has code, message, file, line and column, and none holds a credential. */
export function parseSpec(text: string | Uint8Array, options: { readonly fileName: string }): ParsedSpec {
  const document = readDocument(text, { fileName: options.fileName, format: "auto" });
  const { report } = document;
  if (document.value === null) return { spec: null, diagnostics: report.list(), locate: document.locate };
  const say = sayIn(document);
  checkSecrets(document.value, say);
  const { valid, loose } = checkShape(document);
  // A file that is no map at all has nothing else to be told.
  if (typeof document.value !== "object" || Array.isArray(document.value))
    return { spec: null, diagnostics: report.list(), locate: document.locate };
  const raw = document.value as { readonly jobs: readonly object[]; readonly defaults?: unknown };
  const timeoutByDefault =
    typeof raw.defaults === "object" && raw.defaults !== null && "timeout" in raw.defaults;
  checkTop(loose, say);
  checkCwdPlaceholder(loose.top.defaults?.cwd, ["defaults", "cwd"], say);
  for (const entry of loose.jobs) checkJob(entry, raw.jobs[entry.index]!, timeoutByDefault, say);
  checkGraph(loose, say);
  const usable = valid && !report.hasErrors();
  return {
    spec: usable ? (document.value as JobsSpec) : null,
    diagnostics: report.list(),
    locate: document.locate,
  };
}
