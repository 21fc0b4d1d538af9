/** What one attempt left behind, read back bounded for an arbiter: for the bundle, and whole for what is named by path. */
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AttemptEvidence, AttemptRef } from "../prove/bundle.ts";
import { diffText } from "../run/merge.ts";
import { redactDiff } from "./redact-diff.ts";
import { attemptRecord, jobDir, jobFile, jobState, type Session } from "./session.ts";

const TEXT_MAX_BYTES = 65_536;
const DIFF_MAX_BYTES = 131_072;
const TAIL_BYTES = 4_096;
/** Of a text that an arbiter may read by path. */
const WHOLE_MAX_BYTES = 4_194_304;

interface Bounds {
  readonly text: number;
  readonly diff: number;
}

export const attemptEvidence = (s: Session, ref: AttemptRef): Promise<AttemptEvidence> =>
  evidenceWithin(s, ref, { text: TEXT_MAX_BYTES, diff: DIFF_MAX_BYTES });

/** Everything that was kept of an attempt's text and diff. */
export const wholeEvidence = (s: Session, ref: AttemptRef): Promise<AttemptEvidence> =>
  evidenceWithin(s, ref, { text: WHOLE_MAX_BYTES, diff: WHOLE_MAX_BYTES });

async function evidenceWithin(s: Session, ref: AttemptRef, bounds: Bounds): Promise<AttemptEvidence> {
  const attempt = attemptRecord(s, ref.jobId, ref.attempt);
  const latest = jobState(s, ref.jobId).attemptRecords.at(-1)?.attempt === ref.attempt;
  const dir = latest
    ? jobDir(s.runDir, ref.jobId)
    : join(jobDir(s.runDir, ref.jobId), `attempt-${ref.attempt}`);
  const resultPath = latest ? jobFile(s.runDir, ref.jobId, "result") : join(dir, "result.md");
  const stdout = readPart(join(dir, "stdout.txt"), bounds.text, "head");
  const result = readPart(resultPath, bounds.text, "head");
  const agent = s.adapters.get(attempt.runtime)?.agent ?? true;
  return {
    resultText: result ?? (agent ? null : stdout),
    diff: await diffOf(s, ref, bounds.diff),
    checkTails: checkTails(join(dir, "checks")),
    resultPath: result === null ? null : resultPath,
  };
}

async function diffOf(s: Session, ref: AttemptRef, maxBytes: number): Promise<string | null> {
  const attempt = attemptRecord(s, ref.jobId, ref.attempt);
  const repo = s.index.byId.get(ref.jobId)?.repo ?? null;
  if (
    repo === null ||
    attempt.commit === null ||
    attempt.baseCommit === null ||
    attempt.commit === attempt.baseCommit
  )
    return null;
  const diff = await diffText({
    repo,
    from: attempt.baseCommit,
    to: attempt.commit,
    maxBytes,
  });
  return diff.ok ? redactDiff(diff.value.text, s.redact) : null;
}

function checkTails(dir: string): { id: string; text: string }[] {
  let names: string[];
  try {
    names = readdirSync(dir).sort();
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const text = readPart(join(dir, name), TAIL_BYTES, "tail");
    return text === null || text === "" ? [] : [{ id: name.replace(/\.txt$/, ""), text }];
  });
}

function readPart(path: string, limit: number, part: "head" | "tail"): string | null {
  let fd: number;
  try {
    fd = openSync(path, "r");
  } catch {
    return null;
  }
  try {
    const size = statSync(path).size;
    const buffer = Buffer.alloc(Math.min(size, limit));
    readSync(fd, buffer, 0, buffer.length, part === "head" ? 0 : size - buffer.length);
    return buffer.toString("utf8");
  } finally {
    closeSync(fd);
  }
}
