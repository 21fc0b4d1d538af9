/** `.orchestrate/calibration.json` of a project, and the home's word that this user's `calibrate` wrote it. */
import { join } from "node:path";
import canonicalize from "canonicalize";
import type { CalibrationFile } from "../core/generated/calibration.ts";
import validate from "../core/generated/calibration.validate.js";
import { CONFIG_DIR } from "../core/layout.ts";
import { ensureDir, readTextIfPresent, replaceFile, sha256 } from "../host/files.ts";
import { type CalibrationRecord, type ClassifierIdentity, sameClassifier } from "../plane/calibration.ts";
import { readHomeRecord, updateHomeRecord, withEntry } from "./home-record.ts";

const FILE = "calibration.json";

export const calibrationPath = (root: string): string => join(root, CONFIG_DIR, FILE);

/** Null: there is no such file. A file of another shape is `invalid`, never read in part. */
export function readCalibrationFile(root: string): CalibrationFile | "invalid" | null {
  const text = readTextIfPresent(calibrationPath(root));
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as unknown;
    return validate(value) ? (value as CalibrationFile) : "invalid";
  } catch {
    return "invalid";
  }
}

/** The project's record for a classifier id: of this very version and wording when there is one, else any, to say why not. */
export function recordFor(
  file: CalibrationFile | "invalid" | null,
  classifier: ClassifierIdentity,
): CalibrationRecord | null {
  if (file === null || file === "invalid") return null;
  const own = file.records.filter((record) => record.classifier.id === classifier.id);
  return own.find((record) => sameClassifier(record.classifier, classifier)) ?? own[0] ?? null;
}

const ownDigest = (root: string, record: CalibrationRecord): string =>
  sha256(canonicalize({ root, record }) as string);

export const isOwnRecord = (home: string, root: string, record: CalibrationRecord): boolean =>
  readHomeRecord(home).calibrations.includes(ownDigest(root, record));

/** Replaces the records of the measured classifiers' ids, keeps the others, and notes in the home that we wrote them. */
export function writeCalibration(o: {
  readonly home: string;
  readonly root: string;
  readonly records: readonly CalibrationRecord[];
}): void {
  const before = readCalibrationFile(o.root);
  const known = before === null || before === "invalid" ? [] : before.records;
  const ids = new Set(o.records.map((record) => record.classifier.id));
  const file: CalibrationFile = {
    schemaVersion: 1,
    records: [...known.filter((record) => !ids.has(record.classifier.id)), ...o.records],
  };
  // First the home's word, then the file: a crash in between leaves a digest of a record that is nowhere.
  updateHomeRecord(o.home, ({ calibrations }) => ({
    calibrations: o.records.reduce(
      (list: readonly string[], record) => withEntry(list, ownDigest(o.root, record)),
      calibrations,
    ),
  }));
  ensureDir(join(o.root, CONFIG_DIR));
  replaceFile(calibrationPath(o.root), `${JSON.stringify(file, null, 2)}\n`);
}
