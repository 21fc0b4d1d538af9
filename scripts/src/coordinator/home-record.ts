/** What the user said about the decision plane, kept in the home: no file of a project can say it for them. */
import { join } from "node:path";
import { CONFIG_DIR } from "../core/layout.ts";
import { ensureDir, readTextIfPresent, replaceFile } from "../host/files.ts";

export interface HomeRecord {
  /** Ids of confirmed leaves to send content (`approve --egress`). */
  readonly egress: readonly string[];
  readonly egressDenied: readonly string[];
  /** Digests of calibration records that this user's `calibrate` wrote, each with its project. */
  readonly calibrations: readonly string[];
}

const FILE = "plane.json";
const LISTS = ["egress", "egressDenied", "calibrations"] as const;

/** Empty where there is no such file, or none that can be read: nothing is confirmed then. */
export function readHomeRecord(home: string): HomeRecord {
  const text = readTextIfPresent(join(home, CONFIG_DIR, FILE));
  const value = text === null ? {} : parsed(text);
  const list = (name: (typeof LISTS)[number]): string[] => {
    const found = value[name];
    return Array.isArray(found) ? found.filter((entry): entry is string => typeof entry === "string") : [];
  };
  return {
    egress: list("egress"),
    egressDenied: list("egressDenied"),
    calibrations: list("calibrations"),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    const known = typeof value === "object" && value !== null && (value as { schemaVersion?: unknown });
    return known && known.schemaVersion === 1 ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Replaces lists of the record; the others stay. */
export function updateHomeRecord(home: string, change: (before: HomeRecord) => Partial<HomeRecord>): void {
  const before = readHomeRecord(home);
  const dir = join(home, CONFIG_DIR);
  ensureDir(dir);
  const after = { schemaVersion: 1, ...before, ...change(before) };
  replaceFile(join(dir, FILE), `${JSON.stringify(after, null, 2)}\n`);
}

export const withEntry = (list: readonly string[], entry: string): string[] => [
  ...list.filter((known) => known !== entry),
  entry,
];
export const withoutEntry = (list: readonly string[], entry: string): string[] =>
  list.filter((known) => known !== entry);
