/**
 * `npm run check`: everything that must hold before a change lands, cheapest and most telling first.
 * `tsx scripts/dev/check.ts [STEP...]` runs some of the steps; `docs` is `npm run docs:check`.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildPayload, payloadDrift } from "./build.ts";
import { repositoryFiles, runChecks, type StepResult } from "./checks/run.ts";
import { selfTest } from "./checks/self-test.ts";
import { expectedContent, findDrift } from "./generate.ts";
import { PAYLOAD, ROOT } from "./repo.ts";

interface Step {
  readonly id: string;
  readonly title: string;
  run(): Promise<StepResult>;
}

const STEPS: readonly Step[] = [
  { id: "self-test", title: "the checks find what is planted for them", run: checkChecks },
  {
    id: "lint",
    title: "format and lint",
    run: async () => tools([["biome", "check"], ["markdownlint-cli2"], ["knip"]]),
  },
  { id: "types", title: "types", run: async () => tools([["tsc", "-p", "."]]) },
  { id: "generated", title: "generated parts", run: checkGenerated },
  { id: "imports", title: "import rules", run: () => runChecks("imports", repositoryFiles()) },
  { id: "docs", title: "links and examples", run: checkDocs },
  { id: "tests", title: "tests", run: async () => tools([["vitest", "run"]]) },
  { id: "bundle", title: "the built tool is the one that the sources give", run: checkBundle },
];

async function checkChecks(): Promise<StepResult> {
  const lines = await selfTest();
  return { ok: lines.length === 0, summary: "every check finds its planted faults", lines };
}

async function checkGenerated(): Promise<StepResult> {
  const expected = await expectedContent();
  const lines = findDrift(expected).map(
    ({ path, problem }) => `${path}: ${problem}; run \`npm run generate\``,
  );
  return { ok: lines.length === 0, summary: `${expected.size} files in step`, lines };
}

async function checkDocs(): Promise<StepResult> {
  const checked = await runChecks("docs", repositoryFiles());
  const validated = tools([
    ["skills-ref", "validate", PAYLOAD],
    ["skill-check", "check", PAYLOAD, "--strict", "--no-security-scan"],
    ["cspell", "--no-progress", "--no-summary", "*.md", "docs/**/*.md", "plugins/**/*.md"],
  ]);
  return {
    ok: checked.ok && validated.ok,
    summary: `${checked.summary}; ${validated.summary}`,
    lines: [...checked.lines, ...validated.lines],
  };
}

async function checkBundle(): Promise<StepResult> {
  const files = await buildPayload();
  const lines = payloadDrift(files);
  return { ok: lines.length === 0, summary: `${files.size} files byte for byte`, lines };
}

/** Programs of node_modules, each run to its end; what they print is shown only when one fails. */
function tools(commands: readonly (readonly [string, ...string[]])[]): StepResult {
  const lines: string[] = [];
  for (const [name, ...args] of commands) {
    const result = spawnSync(join(ROOT, "node_modules/.bin", name), args, {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, FORCE_COLOR: "0", NO_COLOR: "1" },
    });
    if (result.error !== undefined) lines.push(`${name}: ${result.error.message}`);
    else if (result.status !== 0) lines.push(`${[name, ...args].join(" ")}:`, result.stdout, result.stderr);
  }
  return { ok: lines.length === 0, summary: commands.map(([name]) => name).join(", "), lines };
}

async function main(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.filter((id) => !STEPS.some((step) => step.id === id));
  if (unknown.length > 0) {
    console.error(`unknown step ${unknown.join(", ")}; steps: ${STEPS.map(({ id }) => id).join(", ")}`);
    return 2;
  }
  let failed = 0;
  // A step that cannot be trusted is not run: the self-test comes first, whatever was asked for.
  const steps =
    wanted.length === 0 ? STEPS : STEPS.filter(({ id }) => id === "self-test" || wanted.includes(id));
  for (const step of steps) {
    const started = performance.now();
    const result = await step.run();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(
      `${result.ok ? "ok  " : "FAIL"} ${step.id} (${seconds} s): ${result.ok ? result.summary : step.title}`,
    );
    for (const line of result.lines) console.log(line.replace(/^/gm, "     "));
    if (!result.ok) failed += 1;
    if (!result.ok && step.id === "self-test") break;
  }
  console.log(failed === 0 ? `${steps.length} steps ok` : `${failed} of ${steps.length} steps failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
