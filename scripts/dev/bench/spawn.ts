/**
 * What supervising one no-op job costs, against the barest loop that node allows with two pipes and a process group.
 *
 *   npx tsx scripts/dev/bench/spawn.ts [--jobs 1000] [--rounds 5] [--at-once 2]
 *
 * CPU counts the parent and the children. Goal: at most 1.3 times the bare loop.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/host/clock.ts";
import { superviseProcess } from "../../src/run/supervise.ts";
import { again, cpuWithChildren, figure, median, option, table } from "./measure.ts";

interface Figures {
  readonly cpuMs: number;
  readonly wallMs: number;
}

const jobs = Number(option("jobs", "1000"));
const rounds = Number(option("rounds", "5"));
const atOnce = Number(option("at-once", "2"));
const WARM_UP = 100;

function bareJob(): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn("/bin/true", [], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: { PATH: "/bin" },
    });
    child.stdout.on("data", () => {});
    child.stderr.on("data", () => {});
    child.on("close", () => resolve());
  });
}

async function supervisedJob(folder: string, number: number): Promise<void> {
  const result = await superviseProcess({
    argv: ["/bin/true"],
    cwd: "/",
    env: { PATH: "/bin" },
    stdin: null,
    marker: `bench-${process.pid}-${number}`,
    timeoutMs: 60_000,
    stallAfterMs: null,
    stdoutPath: join(folder, `${number}.out`),
    stderrPath: join(folder, `${number}.err`),
    maxOutputBytes: 1_048_576,
    secretValues: [],
    // As the coordinator does: the start is recorded before the output is looked at.
    onStart: () => new Promise((resolve) => setImmediate(resolve)),
    clock: systemClock,
  }).done;
  if (result.exitCode !== 0 || !result.treeGone) throw new Error(JSON.stringify(result));
}

async function loop(count: number, job: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await job(next);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

async function measure(variant: string): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "bench-spawn-"));
  const job = variant === "bare" ? bareJob : (number: number) => supervisedJob(folder, number);
  await loop(WARM_UP, job);
  const cpu = cpuWithChildren();
  const wall = performance.now();
  await loop(jobs, job);
  const figures = { cpuMs: (cpuWithChildren() - cpu) / jobs, wallMs: (performance.now() - wall) / jobs };
  rmSync(folder, { recursive: true, force: true });
  return figures;
}

const variant = option("variant", "");
if (variant !== "") console.log(JSON.stringify(await measure(variant)));
else {
  const all: Record<string, Figures[]> = { bare: [], supervised: [] };
  for (let round = 0; round < rounds; round += 1)
    for (const [name, list] of Object.entries(all))
      list.push(await again(["--variant", name, "--jobs", String(jobs), "--at-once", String(atOnce)]));
  const cpuOf = (name: string): number => median((all[name] ?? []).map((figures) => figures.cpuMs));
  console.log(
    table(
      ["loop", "cpu ms a job", "spread", "wall ms a job", "x bare"],
      Object.entries(all).map(([name, list]) => [
        name,
        cpuOf(name).toFixed(2),
        `${Math.min(...list.map((f) => f.cpuMs)).toFixed(2)}..${Math.max(...list.map((f) => f.cpuMs)).toFixed(2)}`,
        median(list.map((f) => f.wallMs)).toFixed(2),
        (cpuOf(name) / cpuOf("bare")).toFixed(2),
      ]),
    ),
  );
  figure({
    name: "supervising a job, to a bare loop with pipes",
    value: cpuOf("supervised") / cpuOf("bare"),
    unit: "x",
    limit: 1.3,
  });
}
