/** Mutants of some source files, tried against the tests that reach them. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { ROOT, readRepoFile } from "../repo.ts";
import { FOLDER_VARIABLE, noProgress, type Progress, paths } from "./protocol.ts";

export interface Survivor {
  readonly line: number;
  readonly mutator: string;
  readonly before: string;
  readonly after: string;
  /** False: no test runs this place. */
  readonly reached: boolean;
}

export interface Measured {
  /** Of the text that was measured. */
  readonly sha256: string;
  readonly mutants: number;
  readonly killed: number;
  /** Of code that runs while the module is loaded: not tried, not counted. */
  readonly onLoad: number;
  readonly survivors: readonly Survivor[];
}

/** A mutant that nothing notices for this long has made a loop without an end. */
const HANG_MS = 180_000;

const SILENT = () => undefined;
const LOGGER = {
  isDebugEnabled: () => false,
  isTraceEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: SILENT,
  debug: SILENT,
  info: SILENT,
  warn: SILENT,
  error: SILENT,
  fatal: SILENT,
};

type Mutant = Awaited<ReturnType<Instrumenter["instrument"]>>["mutants"][number];

/** Source and test files as paths from the root. Throws when the tests fail as they are. */
export async function measure(
  files: readonly string[],
  tests: readonly string[],
): Promise<Map<string, Measured>> {
  const folder = mkdtempSync(join(tmpdir(), "orchestrate-mutation-"));
  try {
    const texts = new Map(files.map((file) => [file, readRepoFile(file)]));
    const made = await new Instrumenter(LOGGER).instrument(
      [...texts].map(([file, content]) => ({ name: join(ROOT, file), content, mutate: true })),
      { plugins: null, excludedMutations: [], ignorers: [] },
    );
    const sources = Object.fromEntries(made.files.map(({ name, content }) => [name, content]));
    writeFileSync(paths(folder).sources, JSON.stringify(sources));
    const progress = await tryAll(folder, tests);
    return new Map(
      files.map((file) => {
        const mutants = made.mutants.filter((mutant) => mutant.fileName === join(ROOT, file));
        return [file, measured({ source: texts.get(file) ?? "", mutants, progress })];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The quick tests of all files first, then the slow ones for what is left. */
async function tryAll(folder: string, tests: readonly string[]): Promise<Progress> {
  const at = paths(folder);
  const hung: string[] = [];
  const read = (): Progress => JSON.parse(readFileSync(at.progress, "utf8")) as Progress;
  writeFileSync(at.progress, JSON.stringify(noProgress()));
  await untilNoneHangs({ folder, tests, hung });
  const { slow } = read();
  if (slow.length > 0) {
    writeFileSync(at.slow, JSON.stringify(slow));
    await untilNoneHangs({ folder, tests, hung });
  }
  const progress = read();
  for (const test of progress.unrepeatable)
    console.log(`counts for nothing, as it cannot be repeated: ${test}`);
  for (const mutant of hung) progress.killed[mutant] = "it never ends, or takes the process with it";
  return progress;
}

/** A mutant that hangs or crashes is known the next time; what was tried in whole test files is kept. */
async function untilNoneHangs(o: {
  readonly folder: string;
  readonly tests: readonly string[];
  readonly hung: string[];
}): Promise<void> {
  for (;;) {
    writeFileSync(paths(o.folder).hung, JSON.stringify(o.hung));
    if ((await runTests(o.folder, o.tests)) === "ended") return;
    o.hung.push(readFileSync(paths(o.folder).active, "utf8"));
  }
}

function runTests(folder: string, tests: readonly string[]): Promise<"ended" | "hung"> {
  writeFileSync(paths(folder).active, "");
  // A test that is called again and again leaves its listeners behind: nothing to be told of.
  const env: NodeJS.ProcessEnv = { ...process.env, [FOLDER_VARIABLE]: folder, NODE_NO_WARNINGS: "1" };
  for (const name of Object.keys(env)) if (name.startsWith("VITEST")) delete env[name];
  const child = spawn(
    process.execPath,
    [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...tests, "--config=vitest.mutation.config.ts"],
    { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = (printed + text).slice(-20_000);
    });
  return new Promise((resolve, reject) => {
    let hung = false;
    const watch = setInterval(() => {
      const { mtimeMs, size } = statSync(paths(folder).active);
      if (size === 0 || Date.now() - mtimeMs < HANG_MS) return;
      hung = true;
      process.kill(-(child.pid as number), "SIGKILL");
    }, 1_000);
    child.on("error", reject);
    child.on("close", (code) => {
      clearInterval(watch);
      // A mutant that fills the memory ends the process in the middle of its trial.
      const crashed = code !== 0 && statSync(paths(folder).active).size > 0;
      if (hung || crashed) resolve("hung");
      else if (code === 0) resolve("ended");
      else reject(new Error(`the tests fail before anything is changed:\n${printed}`));
    });
  });
}

function measured(o: {
  readonly source: string;
  readonly mutants: readonly Mutant[];
  readonly progress: Progress;
}): Measured {
  const { source, mutants, progress } = o;
  const tried = mutants.filter(({ id }) => id in progress.reached || !(id in progress.onLoad));
  const alive = tried.filter(({ id }) => !(id in progress.killed));
  return {
    sha256: createHash("sha256").update(source).digest("hex"),
    mutants: tried.length,
    killed: tried.length - alive.length,
    onLoad: mutants.length - tried.length,
    survivors: alive.map(({ id, location, mutatorName, replacement }) => ({
      line: location.start.line + 1,
      mutator: mutatorName,
      before: oneLine(textAt(source, location)),
      after: oneLine(replacement),
      reached: id in progress.reached,
    })),
  };
}

function textAt(source: string, { start, end }: Mutant["location"]): string {
  const lines = source.split("\n").slice(start.line, end.line + 1);
  const last = lines.length - 1;
  return lines
    .map((line, at) => line.slice(at === 0 ? start.column : 0, at === last ? end.column : undefined))
    .join("\n");
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}
