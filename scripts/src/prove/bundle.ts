/** The evidence bundle: what an arbiter is shown, bounded, redacted and bound to one digest. */
import type { Graph, State } from "../core/runtime.ts";

export interface AttemptRef {
  readonly jobId: string;
  readonly attempt: number;
}

/** What one attempt left behind, already bounded by the reader; null means that there is none. */
export interface AttemptEvidence {
  readonly resultText: string | null;
  readonly diff: string | null;
  /** Output tails of the executed checks, by check id. */
  readonly checkTails: readonly { readonly id: string; readonly text: string }[];
  /** Where the whole text is, for what does not fit inline. */
  readonly resultPath?: string | null;
  readonly diffPath?: string | null;
}

export interface BundleInput {
  readonly graph: Graph;
  readonly state: State;
  readonly attempts: readonly AttemptRef[];
  readonly evidence: (jobId: string, attempt: number) => AttemptEvidence;
  readonly redact: (text: string) => string;
  readonly nonce: string;
  /** Bytes of `text`; default ARBITER_MAX_BYTES. */
  readonly maxBytes?: number;
}

export interface BundledAttempt extends AttemptRef {
  readonly treeSha256: string | null;
}

export interface Bundle {
  readonly bundle: Readonly<Record<string, unknown>>;
  /** Canonical JSON of `bundle`: the bytes that `sha256` is taken over. */
  readonly text: string;
  readonly sha256: string;
  /** The arbiter's whole brief, Markdown. */
  readonly prompt: string;
  /** Exactly the attempts a verdict must name. */
  readonly attempts: readonly BundledAttempt[];
  /** One sentence for each thing that was cut or left out. */
  readonly omitted: readonly string[];
}

/** Attempts in success whose acceptance is pending, in topological order, at most ARBITER_MAX_ATTEMPTS. */
export function pendingArbitration(_graph: Graph, _state: State): AttemptRef[] {
  throw new Error("not written yet");
}

export function buildBundle(_input: BundleInput): Bundle {
  throw new Error("not written yet");
}
