import { describe, expect, it } from "vitest";
import { parseSpec } from "../../src/plan/spec.ts";

const INPUTS = process.env["ORCHESTRATE_SOAK"] === "1" ? 100_000 : 5_000;
const SEED = 20_261_129;
const CPU_MS = 1_000;
/** What one input may leave to the collector is far less; what all of them together keep must be nothing. */
const HEAP_BYTES = 600 * 1_048_576;

/** A small generator of numbers, so that a failing input can be made again from the seed alone. */
function randomNumbers(seed: number) {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return { below, pick: <T>(list: readonly T[]): T => list[below(list.length)] as T };
}

type Random = ReturnType<typeof randomNumbers>;

function soundSpec({ below }: Random): string {
  let text = "version: 1\nconcurrency: 2\ndefaults: {timeout: 10m}\njobs:\n";
  const count = 1 + below(5);
  for (let index = 0; index < count; index += 1)
    text += `  - id: j${index}
    task: implement
    runtime: tool
    cwd: .
    prompt: "do ${index}"
    timeout: 60s
    expected_output: |
      a file
      and a report
    depends_on: [${index > 0 ? `j${below(index)}` : ""}]
    owned_paths: [src/a${index}/**]
    allowed_tools: [read, shell(npm test)]
    outputs: [{path: out/${index}.md, required: false}]
    retry: {max_attempts: 2, backoff: 2s}
    invocation:
      command: /bin/true
      args: ["a", "{{x}}"]
`;
  return text;
}

const WORDS = [
  ..."~ null true no 0 -1 1e999 .nan .inf 0x10 0o17 1_000 99999999999999999999 2026-01-01 1:30 {} [] [[]] @ * ! # : - ? |".split(
    " ",
  ),
  ...[
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    "a/b",
    "a\\b",
  ],
  ...["con", "-rf", "--yolo", "$(id)", "`id`", ";id", "<workspace-root>", "<none>", "<"],
  ...[
    "\0",
    "\u202e",
    "é",
    "e\u0301",
    "\ud800",
    "😀",
    "\u0085",
    "\u2028",
    "\ufeff",
    "\u0002",
    "\u001f",
    "\r",
    "\t",
  ],
  ...[
    "!!js/function x",
    "!!binary aaaa",
    "&a *a",
    "*a",
    "<<",
    "{a: {b: {c: 1}}}",
    "|-\n  x",
    ">+",
    '"',
    "'",
    "'''",
  ],
  ...[
    "%TAG ! x",
    "---",
    "...",
    "- - - -",
    "? ? ?",
    "x".repeat(5_000),
    "",
    " ",
    "\n\n",
    `ghp_${"a1".repeat(18)}`,
  ],
];

const line = (
  text: string,
  change: (line: string, lines: string[]) => string | readonly string[],
  { below }: Random,
): string => {
  const lines = text.split("\n");
  const at = below(lines.length);
  lines.splice(at, 1, ...[change(lines[at] ?? "", lines)].flat());
  return lines.join("\n");
};

const MUTATIONS: readonly ((text: string, random: Random) => string)[] = [
  (text, { below }) => text.slice(0, below(text.length)),
  (text, { below, pick }) => {
    const at = below(text.length);
    return text.slice(0, at) + pick(WORDS) + text.slice(at);
  },
  (text, { below }) => {
    const at = below(text.length);
    return text.slice(0, at) + text.slice(at + below(20));
  },
  (text, random) => line(text, (old) => old.replace(/:.*/, `: ${random.pick(WORDS)}`), random),
  (text, random) => line(text, (old) => old.replace(/[a-z_]+:/, `${random.pick(WORDS)}:`), random),
  (text, random) => line(text, (old, lines) => [old, lines[random.below(lines.length)] ?? ""], random),
  (text, random) => line(text, (old) => " ".repeat(random.below(12)) + old.trimStart(), random),
  (text, { below }) => {
    const bytes = Buffer.from(text);
    const at = below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    return bytes.toString("latin1");
  },
  (text, { pick }) => text.replaceAll("  ", pick(["\t", " ", "    ", " \t"])),
  (text) => text.replaceAll("\n", "\r\n"),
  (text, { pick }) =>
    `${text}\n${pick(["jobs:\n", "--- \n", "x: &x [*x]\n", "<<: {jobs: []}\n", "...\nx: 1\n"])}`,
  (text, { below }) => `${text}z: ${"[".repeat(below(20_000))}`,
  (text, { below }) => text + "? ".repeat(below(5_000)),
  (text, { below }) => text + "- ".repeat(below(5_000)),
  (text, { below }) => `${text}z: {${"a: {".repeat(below(3_000))}`,
  (text, { below }) => `${text}z: [${",".repeat(below(3_000))}`,
  (text, { below }) => text + "k: 1\n".repeat(below(300)),
  (text) => text.replace(/j0/g, "j1"),
  (text) => text.replace("depends_on: []", "depends_on: [j0, j1]"),
  (text, { below }) => text.replace(/prompt: .*/, `prompt: "${"a".repeat(below(100_000))}!"`),
  (text, { below }) => text.replace(/prompt: .*/, `prompt: "${"TOKEN=".repeat(below(5_000))}"`),
  aliasBomb,
];

function aliasBomb(text: string): string {
  let bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (let level = 1; level < 9; level += 1)
    bomb += `a${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(",")}]\n`;
  return bomb + text;
}

function mutated(random: Random): string | Uint8Array {
  let text = soundSpec(random);
  for (let rounds = 1 + random.below(3); rounds > 0; rounds -= 1) text = random.pick(MUTATIONS)(text, random);
  const form = random.below(10);
  if (form === 0) return Buffer.from(text, "latin1");
  if (form === 1) return Buffer.from(text, "utf16le");
  return form < 5 ? Buffer.from(text) : text;
}

/** What is wrong with the answer to one input, or null; `onSound` hears of inputs that were accepted. */
function fault(input: string | Uint8Array, fileName: string, onSound: () => void = () => {}): string | null {
  const from = process.cpuUsage();
  let answer: ReturnType<typeof parseSpec>;
  try {
    answer = parseSpec(input, { fileName });
  } catch (error) {
    return `threw ${error instanceof Error ? error.stack : String(error)}`;
  }
  const { user, system } = process.cpuUsage(from);
  const ms = (user + system) / 1_000;
  if (ms > CPU_MS) return `took ${ms} ms`;
  const errors = answer.diagnostics.filter((d) => d.severity === "error");
  if (answer.spec !== null) onSound();
  if ((answer.spec === null) !== errors.length > 0) return "a spec beside errors, or none without";
  for (const { line: at, column, message, file } of answer.diagnostics)
    if (
      !(at !== undefined && at >= 1 && column !== undefined && column >= 1) ||
      message === "" ||
      file !== fileName
    )
      return `no place or no words: ${at}:${column} ${message}`;
  return leaks(input, JSON.stringify(answer.diagnostics)) ? "a credential in a message" : null;
}

/** Half of a credential is one too, unless the file itself holds no more than a half: then nobody can know it. */
const leaks = (input: string | Uint8Array, said: string): boolean =>
  PART.test(said) && !PART.test(Buffer.from(input).toString("latin1").replace(WHOLE, ""));
const WHOLE = /ghp_[A-Za-z0-9]{36,255}/g;
const PART = /ghp_(?:a1){6}/;

const clean = (): boolean =>
  Object.keys({}).length === 0 &&
  ({} as Record<string, unknown>)["polluted"] === undefined &&
  Object.keys([]).length === 0;

describe("a spec that was tampered with", () => {
  it(`is answered in time, with places, and without a trace (${INPUTS} inputs, seed ${SEED})`, {
    timeout: 3_600_000,
  }, () => {
    const random = randomNumbers(SEED);
    let accepted = 0;
    for (let index = 0; index < INPUTS; index += 1) {
      const input = mutated(random);
      const fileName = random.below(8) === 0 ? "jobs.json" : "jobs.yaml";
      const found = fault(input, fileName, () => {
        accepted += 1;
      });
      if (found !== null)
        expect.fail(
          `input ${index}: ${found}\n${JSON.stringify(Buffer.from(input).toString().slice(0, 2_000))}`,
        );
      if (index % 1_000 === 0) {
        expect(clean()).toBe(true);
        expect(process.memoryUsage().heapUsed).toBeLessThan(HEAP_BYTES);
      }
    }
    expect(clean()).toBe(true);
    // Some must get through, or the inputs have stopped to be like specs.
    expect(accepted).toBeGreaterThan(INPUTS / 100);
  });
});

describe("a sound spec as JSON that was tampered with", () => {
  it("is answered in time, with places, and without a trace", () => {
    const random = randomNumbers(SEED + 2);
    const sound = JSON.stringify(parseSpec(soundSpec(random), { fileName: "jobs.yaml" }).spec, null, 1);
    for (let index = 0; index < INPUTS / 5; index += 1) {
      let text = sound;
      for (let rounds = 1 + random.below(3); rounds > 0; rounds -= 1)
        text = random.pick(JSON_MUTATIONS)(text, random);
      const found = fault(text, "jobs.json");
      if (found !== null) expect.fail(`input ${index}: ${found}\n${JSON.stringify(text.slice(0, 2_000))}`);
    }
    expect(clean()).toBe(true);
  });
});

const PIECES = [
  '"',
  "\\",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\n",
  "//",
  "/*",
  '"id":',
  '"__proto__":{},',
  "\\u0000",
  "\\ud800",
  "1e999",
  "null",
];

const JSON_MUTATIONS: readonly ((text: string, random: Random) => string)[] = [
  (text, { below }) => text.slice(0, below(text.length)),
  (text, { below, pick }) => {
    const at = below(text.length);
    return text.slice(0, at) + pick(PIECES) + text.slice(at + below(3));
  },
  (text, { below }) => text.slice(below(text.length)),
  (text, { below }) => text + "[".repeat(below(50_000)),
  (text, { below }) => text.replace('"jobs"', `"x": ${'{"a":'.repeat(below(3_000))} "jobs"`),
  (text, { pick }) => text.replace(/"j0"/, `"${pick(WORDS)}"`),
  (text, { below, pick }) => text.replace(/: "/, `: ${pick(WORDS)}${" ".repeat(below(5))}"`),
];
