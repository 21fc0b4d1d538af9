/**
 * How fast a chatty child is captured, against a loop that reads its pipe, counts and drops.
 *
 *   npx tsx scripts/dev/bench/capture.ts [--mb 2048] [--rounds 3]
 *
 * CPU is the parent's. Goal: at least 600 MB per CPU second for what is dropped, at most 110 MB of memory, and on disk the
 * bound and one line.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/host/clock.ts";
import { superviseProcess } from "../../src/run/supervise.ts";
import { again, cpuOwn, figure, median, option, table } from "./measure.ts";

interface Figures {
  readonly mbPerCpuSecond: number;
  readonly rssMb: number;
  readonly diskBytes: number;
}

const mb = Number(option("mb", "2048"));
const rounds = Number(option("rounds", "3"));
const MB = 1_048_576;
/** Text lines, as fast as the pipe takes them. */
const EMITTER = `
  const { writeSync } = require("node:fs");
  const chunk = Buffer.from("the quick brown fox jumps over 13 lazy dogs, again and again\\n".repeat(1100)).subarray(0, 65536);
  for (let left = ${mb} * 16; left > 0; left -= 1) for (let at = 0; at < chunk.length; ) at += writeSync(1, chunk, at);
`;

function countAndDrop(): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    const child = spawn(process.execPath, ["-e", EMITTER], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    child.on("close", () => resolve(bytes));
  });
}

async function supervised(path: string, withLines: boolean): Promise<number> {
  const result = await superviseProcess({
    argv: [process.execPath, "-e", EMITTER],
    cwd: "/",
    env: {},
    stdin: null,
    marker: `bench-${process.pid}`,
    timeoutMs: 3_600_000,
    stallAfterMs: null,
    stdoutPath: path,
    stderrPath: null,
    maxOutputBytes: MB,
    secretValues: Array.from({ length: 20 }, (_, index) => `known-secret-value-${index * 7_919}`),
    ...(withLines ? { onLine: () => {} } : {}),
    clock: systemClock,
  }).done;
  return result.stdout.bytes;
}

async function measure(variant: string): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "bench-capture-"));
  const path = join(folder, "out.txt");
  const cpu = cpuOwn();
  const bytes = variant === "drop" ? await countAndDrop() : await supervised(path, variant === "lines");
  const seconds = (cpuOwn() - cpu) / 1_000;
  if (bytes !== mb * MB) throw new Error(`${bytes} bytes counted, ${mb * MB} written`);
  const diskBytes = variant === "drop" ? 0 : statSync(path).size;
  rmSync(folder, { recursive: true });
  return { mbPerCpuSecond: mb / seconds, rssMb: process.resourceUsage().maxRSS / 1_024, diskBytes };
}

const variant = option("variant", "");
if (variant !== "") console.log(JSON.stringify(await measure(variant)));
else {
  const all: Record<string, Figures[]> = { drop: [], supervised: [], lines: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const [name, list] of Object.entries(all))
      list.push(await again(["--variant", name, "--mb", String(mb)]));
  const speed = (name: string): number => median((all[name] ?? []).map((figures) => figures.mbPerCpuSecond));
  console.log(
    table(
      ["capture", "MB per cpu second", "of drop", "peak MB", "bytes on disk"],
      Object.entries(all).map(([name, list]) => [
        name,
        speed(name).toFixed(0),
        (speed(name) / speed("drop")).toFixed(2),
        Math.max(...list.map((figures) => figures.rssMb)).toFixed(0),
        String(Math.max(...list.map((figures) => figures.diskBytes))),
      ]),
    ),
  );
  const peak = Math.max(...(all["supervised"] ?? []).map(({ rssMb }) => rssMb));
  figure({
    name: "capture of a chatty child",
    value: speed("supervised"),
    unit: "MB a cpu s",
    limit: 600,
    atLeast: true,
  });
  figure({ name: "memory while capturing", value: peak, unit: "MB", limit: 110 });
}
