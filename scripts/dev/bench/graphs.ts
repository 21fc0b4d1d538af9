/** The same independent no-op jobs in the form of every tool that is measured side by side. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface GraphFiles {
  readonly folder: string;
  readonly jobs: number;
  /** Beside `folder`: wireit keeps a folder for each script, and what is in the working folder is part of every job. */
  readonly wireit: string;
  readonly yaml: string;
  readonly json: string;
  /** The same jobs, which all fail: their run is over without a verdict. */
  readonly failing: string;
  /** Jobs for models, without a runtime of their own, as `init` shows them. */
  readonly plain: string;
  /** A loop over `child_process.spawn` with nothing else. */
  readonly nodeLoop: string;
}

const PROGRAM = "/bin/true";
export const AT_ONCE = 2;

/** Writes all forms into `folder`; the operator's runtime that the spec names goes into `home`. */
export function writeGraph(o: {
  readonly folder: string;
  readonly home: string;
  readonly jobs: number;
}): GraphFiles {
  const { folder, jobs: count } = o;
  const wireit = `${folder}-wireit`;
  mkdirSync(folder, { recursive: true });
  mkdirSync(wireit, { recursive: true });
  mkdirSync(join(o.home, ".orchestrate"), { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  writeFileSync(
    join(o.home, ".orchestrate/runtimes.yaml"),
    "runtimes:\n  - id: shell\n    command: bash\n    agent: false\n    version_args: [--version]\n",
  );
  const ids = Array.from({ length: count }, (_, index) => `j${index}`);
  write(
    "Makefile",
    `all: ${ids.join(" ")}\n.PHONY: all ${ids.join(" ")}\n${ids.join(" ")}:\n\t@${PROGRAM}\n`,
  );
  write(
    "build.ninja",
    `rule job\n  command = ${PROGRAM}\n${ids.map((id) => `build ${id}: job\n`).join("")}build all: phony ${ids.join(" ")}\n`,
  );
  const scripts = Object.fromEntries(ids.map((id) => [id, { command: PROGRAM }]));
  writeFileSync(
    join(wireit, "package.json"),
    JSON.stringify({
      name: "bench",
      version: "1.0.0",
      scripts: { all: "wireit", ...Object.fromEntries(ids.map((id) => [id, "wireit"])) },
      wireit: { all: { dependencies: ids }, ...scripts },
    }),
  );
  const job = (id: string) => ({
    id,
    runtime: "shell",
    task: "scout",
    prompt: `no-op ${id}`,
    expected_output: "none needed",
    timeout: "60s",
    effect: "observe",
    invocation: { command: PROGRAM, args: [] },
  });
  const spec = { version: 1, concurrency: AT_ONCE, jobs: ids.map(job) };
  return {
    folder,
    jobs: count,
    wireit,
    json: write("jobs.json", JSON.stringify(spec)),
    yaml: write(
      "jobs.yaml",
      `version: 1\nconcurrency: ${AT_ONCE}\njobs:\n${ids.map((id) => yamlJob(job(id))).join("")}`,
    ),
    failing: write(
      "failing.json",
      JSON.stringify({
        ...spec,
        jobs: ids.map((id) => ({ ...job(id), invocation: { command: "/bin/false", args: [] } })),
      }),
    ),
    plain: write("plain.yaml", `version: 1\njobs:\n${ids.map(plainJob).join("")}`),
    nodeLoop: write("loop.mjs", LOOP),
  };
}

const plainJob = (id: string): string =>
  `  - id: ${id}\n    task: scout\n    prompt: Look at part ${id}.\n    expected_output: What is there.\n    timeout: 5m\n`;

const yamlJob = ({ invocation, ...fields }: Record<string, unknown> & { invocation: unknown }): string =>
  `  - ${Object.entries(fields)
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join("\n    ")}\n    invocation: ${JSON.stringify(invocation)}\n`;

/** loop.mjs COUNT AT_ONCE pipe|ignore */
const LOOP = `
import { spawn } from "node:child_process";
let [left, room, stdio] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4]];
const next = () => {
  if (left-- <= 0) return;
  const child = spawn("${PROGRAM}", [], { stdio: ["ignore", stdio, stdio], detached: stdio === "pipe" });
  child.stdout?.on("data", () => {});
  child.stderr?.on("data", () => {});
  child.on("close", next);
};
for (let lane = 0; lane < room; lane += 1) next();
`;
