/** What the tests of supervised processes share: a folder of their own, defaults, and proof that nothing is left. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { systemClock } from "../../src/host/clock.ts";
import { sweepMarker } from "../../src/run/kill.ts";
import { type Supervised, type SuperviseOptions, superviseProcess } from "../../src/run/supervise.ts";

export const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
export const HOSTILE = join(import.meta.dirname, "../fixtures/hostile/misbehave.sh");
export const NODE_FIXTURES = join(import.meta.dirname, "../fixtures/hostile");

/** A new folder that goes when the file's tests are done. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "orchestrate-run-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let count = 0;
export const freshMarker = (): string => {
  count += 1;
  return `test-${process.pid}-${Math.random().toString(36).slice(2)}-${count}`;
};

export interface Started extends Supervised {
  readonly marker: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
}

/** Starts a child with defaults that suit a test; its output goes to files in `folder`. */
export function start(
  folder: string,
  options: Partial<SuperviseOptions> & { argv: readonly string[] },
): Started {
  const marker = options.marker ?? freshMarker();
  const stdoutPath = join(folder, `${marker}.out`);
  const stderrPath = join(folder, `${marker}.err`);
  const supervised = superviseProcess({
    cwd: folder,
    env: { PATH },
    stdin: null,
    marker,
    timeoutMs: 60_000,
    stallAfterMs: null,
    graceMs: 5_000,
    stdoutPath,
    stderrPath,
    maxOutputBytes: 1_048_576,
    secretValues: [],
    clock: systemClock,
    ...options,
  });
  return { ...supervised, marker, stdoutPath, stderrPath };
}

export const misbehave = (...args: string[]): string[] => ["/bin/sh", HOSTILE, ...args];
export const nodeFixture = (name: string, ...args: string[]): string[] => [
  process.execPath,
  join(NODE_FIXTURES, name),
  ...args,
];

export const survivors = (marker: string): Promise<readonly number[]> => sweepMarker(marker);

export const textOf = (path: string): string => readFileSync(path, "utf8");

/** Resolves with the first line that `wanted` accepts. */
export function lineGate(wanted: (line: string) => boolean): {
  onLine: (line: string) => void;
  seen: Promise<string>;
} {
  let resolve: (line: string) => void = () => {};
  const seen = new Promise<string>((done) => {
    resolve = done;
  });
  return { seen, onLine: (line) => (wanted(line) ? resolve(line) : undefined) };
}
