/** One call of an arbiter: its evidence bundle, its folder, and its entry in state. */
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import type { Arbiter } from "../core/generated/state.ts";
import { POLICY } from "../core/policy.ts";
import { isoTime } from "../host/clock.ts";
import { ensureDir, writePrivate } from "../host/files.ts";
import type { ArbiterCall } from "../prove/arbiter-choice.ts";
import { type AttemptRef, attemptKey, type Bundle, type BundledUnion, buildBundle } from "../prove/bundle.ts";
import { currentAttempt, MOCK_RUNTIME } from "../prove/current-attempt.ts";
import { openFindings } from "../prove/review-findings.ts";
import { attemptEvidence, wholeEvidence } from "./evidence-of.ts";
import { arbiterFiles } from "./next-actions.ts";
import type { Session } from "./session.ts";

export interface PreparedCall {
  readonly arbiter: Arbiter;
  readonly choice: ArbiterCall;
  readonly bundle: Bundle;
  /** Texts that the bundle names by path, relative to `base`. */
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly promptFile: string;
}

/**
 * Builds the bundle and writes the call's folder; the entry is the caller's to commit. A call that cannot hold all of the
 * wanted attempts holds the first ones: `arbiter.attempts` says which.
 */
export async function prepareCall(
  s: Session,
  o: {
    readonly arbiterId: string;
    readonly choice: ArbiterCall;
    readonly unions: readonly BundledUnion[];
    readonly attempts?: readonly AttemptRef[];
  },
): Promise<PreparedCall> {
  // Evidence is read of what one call can hold: of all that waits, it would be read again for every call.
  const attempts = (o.attempts ?? o.choice.attempts).slice(0, POLICY.ARBITER_MAX_ATTEMPTS.value);
  const nonce = randomBytes(12).toString("base64url");
  const { promptFile } = arbiterFiles(s.runDir, o.arbiterId);
  const dir = dirname(promptFile);
  // A CLI gets the files in a folder of its own; for a harness they lie beside the prompt.
  const base = o.choice.via === "native" ? `${dir}/` : "";
  const evidence = new Map<string, Awaited<ReturnType<typeof attemptEvidence>>>();
  for (const ref of [...attempts, ...reviewsOf(s, attempts)]) {
    const found = await attemptEvidence(s, ref);
    const folder = `${base}evidence/${ref.jobId}-${ref.attempt}`;
    evidence.set(attemptKey(ref), {
      ...found,
      resultPath: found.resultText === null ? null : `${folder}/result.md`,
      diffPath: found.diff === null ? null : `${folder}/changes.diff`,
    });
  }
  const bundle = buildBundle({
    graph: s.graph,
    state: s.store.state,
    attempts,
    evidence: (jobId, attempt) =>
      evidence.get(attemptKey({ jobId, attempt })) ?? { resultText: null, diff: null, checkTails: [] },
    redact: s.redact,
    nonce,
    unions: o.unions,
  });
  const files = await wholeTexts(s, bundle);
  ensureDir(dir);
  writePrivate(promptFile, bundle.prompt);
  writePrivate(join(dir, "bundle.json"), bundle.text);
  writeFiles(dir, files);
  return { arbiter: entryOf(s, { ...o, bundle, nonce }), choice: o.choice, bundle, files, promptFile };
}

/** What the bundle names by path, since it did not fit inline. */
async function wholeTexts(s: Session, bundle: Bundle): Promise<PreparedCall["files"]> {
  const files: { path: string; text: string }[] = [];
  for (const ref of bundle.attempts) {
    const folder = `evidence/${ref.jobId}-${ref.attempt}/`;
    const named = bundle.omitted.filter((line) => line.includes(folder));
    if (named.length === 0) continue;
    const whole = await wholeEvidence(s, ref);
    for (const [name, text] of [
      ["result.md", whole.resultText],
      ["changes.diff", whole.diff],
    ] as const) {
      const path = `${folder}${name}`;
      if (text !== null && named.some((line) => line.includes(path))) files.push({ path, text });
    }
  }
  return files;
}

export function writeFiles(dir: string, files: PreparedCall["files"]): void {
  for (const file of files) {
    const path = join(dir, file.path);
    ensureDir(dirname(path));
    writePrivate(path, file.text);
  }
}

/** Reviews with a finding about the work that are not judged in the same call. */
function reviewsOf(s: Session, attempts: readonly AttemptRef[]): AttemptRef[] {
  const open = openFindings(s.graph, s.store.state);
  const named = new Set(attempts.flatMap((ref) => open.get(ref.jobId) ?? []));
  return [...named].flatMap((jobId) => {
    const attempt = currentAttempt(s.store.state, jobId)?.attempt;
    return attempt === undefined || attempts.some((ref) => ref.jobId === jobId) ? [] : [{ jobId, attempt }];
  });
}

function entryOf(
  s: Session,
  o: {
    readonly arbiterId: string;
    readonly choice: ArbiterCall;
    readonly bundle: Bundle;
    readonly nonce: string;
  },
): Arbiter {
  const { choice, bundle } = o;
  return {
    arbiterId: o.arbiterId,
    status: choice.via === "native" ? "offered" : "running",
    via: choice.via,
    runtime: runtimeOf(s, choice),
    family: choice.family,
    model: choice.candidate?.model ?? null,
    independence: null,
    bundleSha256: bundle.sha256,
    nonce: o.nonce,
    createdAt: isoTime(s.clock.now()),
    answeredAt: null,
    overall: null,
    handle: null,
    reason: null,
    pid: null,
    processStartTime: null,
    bootId: null,
    rule: choice.rule,
    effortLevel: choice.candidate?.effort ?? null,
    failureClass: null,
    exitCode: null,
    wallMs: null,
    usage: null,
    attempts: bundle.attempts.map((a) => ({
      jobId: a.jobId,
      attempt: a.attempt,
      treeSha256: a.treeSha256,
      verdict: null,
      reasons: [],
    })),
  };
}

/** Null for a verdict that no attested harness stands behind. */
function runtimeOf(s: Session, choice: ArbiterCall): string | null {
  if (choice.via === "mock") return MOCK_RUNTIME;
  if (choice.via === "cli") return choice.candidate?.runtime ?? null;
  return s.records.get("internal")?.state === "available" ? "internal" : null;
}
