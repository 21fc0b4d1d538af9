/**
 * Speed and safety of streaming redaction on text like a build log.
 *
 *   npx tsx scripts/dev/bench/redact.ts [--mb 100] [--rounds 3]
 *
 * Goal: at least 100 MB per CPU second on clean text, no planted value left at any chunk size, the worst 64 KB chunk of
 * bad input at most 20 ms.
 */
import { SECRET_PATTERNS } from "../../src/core/secret-patterns.ts";
import { createRedactor } from "../../src/run/redact.ts";
import { again, cpuOwn, figure, median, option, table } from "./measure.ts";

interface Figures {
  readonly mbPerCpuSecond: number;
  readonly worstChunkMs: number;
  readonly masked: number;
}

const mb = Number(option("mb", "100"));
const rounds = Number(option("rounds", "3"));
const MB = 1_048_576;
const CHUNK = 65_536;

const LINES = [
  "  CC src/core/scheduler.o",
  "info: compiled 214 modules in 3.2s (cache hit 91%)",
  "PASS tests/unit/plan.test.ts (41 tests, 0 failed, 812 ms)",
  "    at Object.<anonymous> (/srv/app/src/index.ts:214:17)",
  "diff --git a/src/a.ts b/src/a.ts",
  '+  const text = await read(join(root, "state.json"), "utf8");',
  "GET https://example.invalid/v1/items?page=3 200 12ms",
  "warning: unused variable `token_count` in module graph::visit",
  '{"type":"event","seq":18231,"job":"build-api","usage":{"input_tokens":12,"output_tokens":7}}',
  "sha512-0b5n1a8Jq9f0vPz7KfQv3o1sX2yT4uW6zA8cE0gI2kM4oQ6sU8wY==",
];
const KNOWN = Array.from(
  { length: 20 },
  (_, index) => `knownSecret${index}x${(index * 7_919).toString(36)}Zq`,
);
const PLANTED = ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "AKIAABCDEFGHIJKLMNOP", ...KNOWN];

let seed = 7;
function random(): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
}

function block(secrets: number): Buffer {
  let text = "";
  while (text.length < MB) text += `${LINES[Math.floor(random() * LINES.length)]}\n`;
  const bytes = Buffer.from(text.slice(0, MB));
  // Every other one across the edge of a chunk; one at each edge: a value over another one would leave a piece that nobody can know.
  for (let count = 0; count < secrets; count += 1) {
    const value = ` ${PLANTED[Math.floor(random() * PLANTED.length)]} `;
    const edge = (count + 1) * CHUNK;
    bytes.write(value, count % 2 === 0 ? edge - 10 : edge + 3_000, "latin1");
  }
  return bytes;
}

function measure(variant: string): Figures {
  const bytes = block(variant === "clean" ? 0 : 12);
  const redactor = createRedactor({ values: KNOWN });
  let worstChunkMs = 0;
  const cpu = cpuOwn();
  for (let count = 0; count < mb; count += 1)
    for (let at = 0; at < MB; at += CHUNK) {
      const began = performance.now();
      redactor.push(bytes.subarray(at, at + CHUNK));
      worstChunkMs = Math.max(worstChunkMs, performance.now() - began);
    }
  redactor.flush();
  return { mbPerCpuSecond: mb / ((cpuOwn() - cpu) / 1_000), worstChunkMs, masked: redactor.count };
}

function leaksAt(size: number): number {
  const bytes = block(12);
  const redactor = createRedactor({ values: KNOWN });
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) out.push(redactor.push(bytes.subarray(at, at + size)));
  out.push(redactor.flush());
  const text = Buffer.concat(out).toString("latin1");
  return PLANTED.filter((value) =>
    Array.from({ length: value.length - 11 }, (_, at) => value.slice(at, at + 12)).some((part) =>
      text.includes(part),
    ),
  ).length;
}

function worstInput(): { id: string; ms: number } {
  const tails = [
    "",
    "a",
    "=",
    ": ",
    `=${"b".repeat(99)}`,
    " ".repeat(30),
    "a".repeat(200),
    `${"A".repeat(40)}.`,
    "\\\n",
  ];
  let worst = { id: "", ms: 0 };
  for (const row of SECRET_PATTERNS)
    for (const anchor of row.anchors)
      for (const tail of tails) {
        const unit = anchor + tail;
        const bytes = Buffer.from(unit.repeat(Math.ceil(CHUNK / unit.length)).slice(0, CHUNK));
        const times = [1, 2, 3].map(() => {
          const redactor = createRedactor({ values: [] });
          const cpu = cpuOwn();
          redactor.push(bytes);
          return cpuOwn() - cpu;
        });
        const ms = Math.min(...times);
        if (ms > worst.ms) worst = { id: row.id, ms };
      }
  return worst;
}

const variant = option("variant", "");
if (variant !== "") console.log(JSON.stringify(measure(variant)));
else {
  const rows: string[][] = [];
  const speeds: Record<string, number> = {};
  for (const name of ["clean", "secrets"]) {
    const list: Figures[] = [];
    for (let round = 0; round < rounds; round += 1)
      list.push(await again(["--variant", name, "--mb", String(mb)]));
    speeds[name] = median(list.map((figures) => figures.mbPerCpuSecond));
    rows.push([
      name,
      (speeds[name] ?? 0).toFixed(0),
      Math.min(...list.map((figures) => figures.worstChunkMs)).toFixed(1),
      String(list[0]?.masked ?? 0),
    ]);
  }
  console.log(table(["text", "MB per cpu second", "worst chunk ms (wall)", "masked"], rows));
  const leaks = [1, 7, 64, 1_000, 4_096, 65_536].map((size) => [size, leaksAt(size)] as const);
  console.log(`planted values that leak, by chunk size: ${leaks.map((pair) => pair.join(": ")).join(", ")}`);
  const worst = worstInput();
  console.log(`worst 64 KB of bad input: ${worst.ms.toFixed(1)} ms cpu (${worst.id})`);
  const leaked = leaks.reduce((sum, [, count]) => sum + count, 0);
  figure({
    name: "redaction, clean text",
    value: speeds["clean"] ?? 0,
    unit: "MB a cpu s",
    limit: 100,
    atLeast: true,
  });
  figure({ name: "planted secrets that leak", value: leaked, unit: "", limit: 0 });
  figure({ name: "redaction, worst 64 KB", value: worst.ms, unit: "cpu ms", limit: 20 });
}
