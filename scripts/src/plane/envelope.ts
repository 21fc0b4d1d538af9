/** What a classifier is shown: redacted, bounded, every piece with its origin. */
import canonicalize from "canonicalize";
import type { Piece, PlaneEnvelope } from "../core/generated/plane-envelope.ts";
import { PLANE_LIMITS } from "../core/policy.ts";
import { sha256 } from "../host/files.ts";
import { type ContentClass, PLANE_TASKS, type PlaneTask } from "./tasks.ts";

export interface StatePiece {
  readonly label: string;
  readonly provenance: Piece["provenance"];
  readonly contentClass: ContentClass;
  readonly text: string;
}

export interface Envelope {
  /** Canonical JSON, one line. */
  readonly text: string;
  /** `sha256:` and the digest of `text`. */
  readonly ref: string;
}

/**
 * Builds the envelope of one question. Pieces without leave are left out; the rest share the byte limit evenly, so that
 * no long text pushes the others out. Only the coordinator's own records are trusted.
 */
export function buildEnvelope(o: {
  readonly task: PlaneTask;
  readonly pieces: readonly StatePiece[];
  readonly allowed: ReadonlySet<ContentClass>;
  readonly redact: (text: string) => string;
}): Envelope {
  const pieces = o.pieces.filter((piece) => o.allowed.has(piece.contentClass));
  const share = Math.floor(PLANE_LIMITS.inputMaxBytes / Math.max(1, pieces.length));
  const spec = PLANE_TASKS[o.task];
  const envelope: PlaneEnvelope = {
    schemaVersion: 1,
    task: o.task,
    instruction: spec.instruction,
    questions: spec.questions as PlaneEnvelope["questions"],
    state: pieces.map((piece) => {
      const text = o.redact(piece.text);
      const shown = cut(text, share);
      return {
        label: piece.label,
        provenance: piece.provenance,
        trust: piece.provenance === "coordinator" ? "trusted" : "untrusted",
        contentClass: piece.contentClass,
        text: shown,
        truncated: shown !== text,
      };
    }),
    answerSchema: "plane-answer",
  };
  const text = canonicalize(envelope) as string;
  return { text, ref: `sha256:${sha256(text)}` };
}

/** At most `bytes` of UTF-8, never half a character. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const whole = Buffer.from(text).subarray(0, bytes).toString("utf8");
  return whole.replace(/\ufffd$/u, "");
}
