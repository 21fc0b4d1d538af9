/** What the benches share: CPU of this process and of the children it has waited for, medians, a table, a run of itself. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../repo.ts";

/** CPU ms of this process and of all its ended children; the children's part to 10 ms. */
export function cpuWithChildren(): number {
  const own = process.cpuUsage();
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (own.user + own.system) / 1_000 + (Number(fields[13]) + Number(fields[14])) * 10;
}

export function cpuOwn(): number {
  const own = process.cpuUsage();
  return (own.user + own.system) / 1_000;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[half] ?? Number.NaN)
    : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
}

let bundle: string | null = null;

/**
 * Runs the same script in a fresh process with other arguments; it prints one line of JSON. It runs as a bundle, as
 * the product does: under a TypeScript loader a process is so large that every fork costs several times as much.
 */
export async function again<T>(args: readonly string[]): Promise<T> {
  const answer = spawnSync(process.execPath, [await bundled(process.argv[1] ?? ""), ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (answer.status !== 0) throw new Error(`${args.join(" ")} ended with ${answer.status}`);
  return JSON.parse(answer.stdout) as T;
}

async function bundled(script: string): Promise<string> {
  if (bundle !== null) return bundle;
  const { buildSync } = await import("esbuild");
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  bundle = join(folder, "bench.mjs");
  buildSync({
    entryPoints: [script],
    bundle: true,
    platform: "node",
    format: "esm",
    outfile: bundle,
    external: ["esbuild"],
    logLevel: "error",
  });
  return bundle;
}

/** A file with this program and its packages in it, as the product is built. */
export async function bundleOf(program: string): Promise<string> {
  const { buildSync } = await import("esbuild");
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, "program.mjs");
  buildSync({
    stdin: { contents: program, resolveDir: ROOT },
    bundle: true,
    platform: "node",
    format: "esm",
    mainFields: ["module", "main"],
    alias: { yaml: join(ROOT, "node_modules/yaml/browser/index.js") },
    outfile,
    logLevel: "error",
  });
  return outfile;
}

export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly limit: number;
  readonly atLeast?: true;
}

export const FIGURE = "figure: ";

/** One figure with its goal; with `--figures` also as a line that the table reads. */
export function figure(one: Figure): void {
  const met = one.atLeast === true ? one.value >= one.limit : one.value <= one.limit;
  const shown = Number(one.value.toPrecision(4));
  console.log(
    `goal ${one.atLeast === true ? "at least" : "at most"} ${one.limit} ${one.unit}: ${met ? "met" : "missed"}, ${shown} (${one.name})`,
  );
  if (process.argv.includes("--figures")) console.log(`${FIGURE}${JSON.stringify(one)}`);
}

export function option(name: string, fallback: string): string {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...rows.map(line)].join(
    "\n",
  );
}
