/** Measures classifiers from the runs of a project: recorded, C3-audited attempts only, each classifier by itself. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import canonicalize from "canonicalize";
import { REPORTS_DIR } from "../core/layout.ts";
import { POLICY } from "../core/policy.ts";
import type { Attempt } from "../core/runtime.ts";
import {
  type CalibrationRecord,
  type CalibrationState,
  type ClassifierIdentity,
  calibrationState,
  isComparable,
  measure,
} from "../plane/calibration.ts";
import { readRun } from "../state/store.ts";

export interface Measured {
  readonly record: CalibrationRecord;
  /** Comparable attempts that it gave signals for, whether they cleared or not. */
  readonly audited: number;
  /** As it would stand in a spec that asks for no more than the floor. */
  readonly state: CalibrationState;
}

export interface Measurement {
  readonly runs: number;
  /** Run folders that were left out, and why. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  readonly measured: readonly Measured[];
}

/** Every run folder of the project, oldest first. */
export function runFolders(root: string): string[] {
  try {
    return readdirSync(join(root, REPORTS_DIR), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name.startsWith("orchestrate-"))
      .map((entry) => join(root, REPORTS_DIR, entry.name))
      .sort();
  } catch {
    return [];
  }
}

export function measureRuns(o: {
  readonly folders: readonly string[];
  readonly now: number;
  /** Only this classifier; null: all. */
  readonly classifier: string | null;
}): Measurement {
  const skipped: { path: string; reason: string }[] = [];
  const attempts: Attempt[] = [];
  // A run that was copied is no second one: its outcomes count once.
  const counted = new Set<string>();
  for (const path of o.folders) {
    const reason = notOurs(path);
    const read = reason === null ? readRun(path) : null;
    if (read === null || !read.ok) {
      skipped.push({ path, reason: reason ?? (read?.ok === false ? read.error.message : "unreadable") });
      continue;
    }
    const { runId } = read.value.state;
    if (counted.has(runId)) {
      skipped.push({ path, reason: `is a copy of the run \`${runId}\`, which is counted already` });
      continue;
    }
    counted.add(runId);
    for (const job of Object.values(read.value.state.jobs)) attempts.push(...job.attemptRecords);
  }
  return { runs: counted.size, skipped, measured: identitiesOf(attempts, o.classifier).map(measureOne) };

  function measureOne(classifier: ClassifierIdentity): Measured {
    const record = measure({ classifier, attempts, minimum: POLICY.MINIMUM_SAMPLES.value, now: o.now });
    const audited = attempts.filter(
      (attempt) =>
        attempt.microArbiter != null &&
        canonicalize(attempt.microArbiter.classifier) === canonicalize(classifier) &&
        isComparable(attempt),
    ).length;
    const state = calibrationState({
      record,
      classifier,
      specMinimum: POLICY.MINIMUM_SAMPLES.value,
      ownRecord: true,
      now: o.now,
    });
    return { record, audited, state };
  }
}

/** A run folder is made private by this tool; one that came with a checkout is not, and its verdicts are a project's claims. */
function notOurs(path: string): string | null {
  try {
    const facts = statSync(path);
    const uid = process.getuid?.();
    if (uid === undefined) return null;
    if (facts.uid !== uid) return "belongs to another user";
    return (facts.mode & 0o077) === 0 ? null : "is not private, so this tool did not make it here";
  } catch {
    return "is not there";
  }
}

function identitiesOf(attempts: readonly Attempt[], only: string | null): ClassifierIdentity[] {
  const found = new Map<string, ClassifierIdentity>();
  for (const { microArbiter } of attempts)
    if (microArbiter != null && (only === null || microArbiter.classifier.id === only))
      found.set(canonicalize(microArbiter.classifier) as string, microArbiter.classifier);
  return [...found.values()];
}
