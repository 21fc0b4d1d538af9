/** The committed scores: one entry for each policy module, bound to the bytes that were measured. */
import { createHash } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readRepoFile } from "../repo.ts";
import type { Measured } from "./measure.ts";
import { LEFT_OUT, POLICY_FOLDERS, TESTS } from "./policy.ts";

const RECORD = "scripts/dev/mutation/record.json";
const SOURCES = "scripts/src";

export interface Entry extends Omit<Measured, "survivors"> {
  /** Percent, one decimal. */
  readonly score: number;
  /** `line: before → after`, for those who look whether they are equivalent. */
  readonly survivors: readonly string[];
}

export type MutationRecord = Readonly<Record<string, Entry>>;

/** Paths from the root, sorted. */
export function policyFiles(): string[] {
  const left = new Set(Object.values(LEFT_OUT).flat());
  return modules()
    .filter((name) => !left.has(name))
    .map(pathOf);
}

/** Every module of the policy folders, as `plan/gate`. */
export const modules = (): string[] =>
  POLICY_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, SOURCES, folder)).map((name) => `${folder}/${name.replace(/\.ts$/, "")}`),
  ).sort();

const pathOf = (name: string): string => `${SOURCES}/${name}.ts`;

/** The test files of a policy file, from the root. */
export function testsOf(file: string): string[] {
  const name = file.slice(SOURCES.length + 1).replace(/\.ts$/, "");
  return (TESTS[name] ?? [name]).map((test) => `scripts/tests/${test}.test.ts`);
}

export const readRecord = (): MutationRecord =>
  JSON.parse(readRepoFile(RECORD, null) ?? "{}") as MutationRecord;

/** Entries of modules that are policy no more are dropped. */
export function writeRecord(record: MutationRecord): void {
  const kept = policyFiles().flatMap((file) => (record[file] === undefined ? [] : [[file, record[file]]]));
  writeFileSync(join(ROOT, RECORD), `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
}

export const sha256Of = (file: string): string =>
  createHash("sha256").update(readRepoFile(file)).digest("hex");

/** Policy files that are not what the record measured. */
export const changedFiles = (record: MutationRecord): string[] =>
  policyFiles().filter((file) => record[file]?.sha256 !== sha256Of(file));

export function entryOf({ survivors, ...counts }: Measured): Entry {
  return {
    score: counts.mutants === 0 ? 100 : Math.floor((counts.killed / counts.mutants) * 1_000) / 10,
    ...counts,
    survivors: survivors.map(
      ({ line, before, after, reached }) =>
        `${line}: ${before} → ${after === "" ? "nothing" : after}${reached ? "" : " (no test runs it)"}`,
    ),
  };
}
