/**
 * What the user confirmed of project files: by entry, bound to its project, so that the same words elsewhere, where a
 * command may be another program, count for nothing. The list lives in the user's home.
 */
import { err, ok, type Result } from "../core/result.ts";

export type ConfirmedKind = "policy" | "runtimes";

/** One thing the user said yes to. */
export interface ConfirmedEntry {
  readonly digest: string;
  readonly kind: ConfirmedKind;
  /** Real path of the project. */
  readonly project: string;
  /** The entry as one line of JSON, as it was shown. */
  readonly words: string;
  readonly at: string;
  /** False when it was said on a terminal; else a harness says that its user said so. */
  readonly attested: boolean;
}

export interface ConfirmedFile {
  readonly schemaVersion: 1;
  readonly entries: readonly ConfirmedEntry[];
}

export const NO_CONFIRMATIONS: ConfirmedFile = { schemaVersion: 1, entries: [] };

/** The stored list. A damaged or newer one is refused as a whole, never read as empty by a writer. */
export function parseConfirmed(text: string): Result<ConfirmedFile, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err("is no JSON");
  }
  const file = value as Partial<Record<"schemaVersion" | "entries", unknown>> | null;
  if (typeof file !== "object" || file === null) return err("is no object");
  if (file.schemaVersion !== 1)
    return err(`has schema version ${String(file.schemaVersion)}; this version reads 1`);
  if (!Array.isArray(file.entries) || !file.entries.every(isEntry)) return err("has entries of another form");
  return ok({ schemaVersion: 1, entries: file.entries });
}

function isEntry(value: unknown): value is ConfirmedEntry {
  const entry = value as Partial<Record<keyof ConfirmedEntry, unknown>> | null;
  if (typeof entry !== "object" || entry === null) return false;
  const { digest, kind, project, words, at, attested } = entry;
  return (
    typeof digest === "string" &&
    /^[0-9a-f]{64}$/.test(digest) &&
    (kind === "policy" || kind === "runtimes") &&
    [project, words, at].every((text) => typeof text === "string") &&
    typeof attested === "boolean"
  );
}

/** The same list with these entries in it; what was confirmed before stays as it was said. */
export function withConfirmed(file: ConfirmedFile, added: readonly ConfirmedEntry[]): ConfirmedFile {
  const known = new Set(file.entries.map((entry) => entry.digest));
  return {
    schemaVersion: 1,
    entries: [...file.entries, ...added.filter(({ digest }) => !known.has(digest))],
  };
}

export function withoutConfirmed(file: ConfirmedFile, digests: ReadonlySet<string>): ConfirmedFile {
  return { schemaVersion: 1, entries: file.entries.filter(({ digest }) => !digests.has(digest)) };
}
