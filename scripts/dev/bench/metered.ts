/** Runs whole commands and adds up their CPU, coordinators that they leave behind included. Needs `cc` and Linux. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../repo.ts";

export interface Metered {
  readonly status: number;
  /** User and system time of the command and of everything it started. */
  readonly cpuMs: number;
  /** Of the largest process: the client, which read the spec, or the coordinator. */
  readonly peakMb: number;
}

const BUILT = mkdtempSync(join(tmpdir(), "orchestrate-bench-native-"));
process.on("exit", () => rmSync(BUILT, { recursive: true, force: true }));
const built = new Map<string, string>();

/** Path of a helper in `native/`, compiled once for this run. */
export function native(name: "meter" | "floor"): string {
  const known = built.get(name);
  if (known !== undefined) return known;
  const path = join(BUILT, name);
  const source = join(ROOT, `scripts/dev/bench/native/${name}.c`);
  const { status, stderr, error } = spawnSync("cc", ["-O2", "-o", path, source], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot compile ${source}: ${error?.message ?? stderr}`);
  built.set(name, path);
  return path;
}

export function metered(
  argv: readonly string[],
  o: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Metered {
  const out = join(BUILT, "meter.json");
  const { status } = spawnSync(native("meter"), [out, ...argv], {
    cwd: o.cwd,
    env: { ...process.env, ...o.env },
    stdio: "ignore",
  });
  if (status !== 0) throw new Error(`the meter failed on ${argv.join(" ")}`);
  const read = JSON.parse(readFileSync(out, "utf8")) as {
    readonly status: number;
    readonly userMs: number;
    readonly systemMs: number;
    readonly processes: readonly { readonly peakKb: number }[];
  };
  return {
    status: read.status,
    cpuMs: read.userMs + read.systemMs,
    // What the command waited for is in its own figure.
    peakMb: Math.max(...read.processes.map(({ peakKb }) => peakKb)) / 1024,
  };
}

/** Whether a program can be found. */
export const present = (program: string): boolean =>
  spawnSync("sh", ["-c", 'command -v "$1"', "sh", program], { stdio: "ignore" }).status === 0;
