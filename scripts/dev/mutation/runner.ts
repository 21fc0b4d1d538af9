/**
 * Runs each test once as it is, and then once for every mutant that it reached and that no test has noticed yet. All in one
 * process with the modules loaded once: a mutant costs a call of a test function, not a test run.
 */
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { type RunnerTestCase, TestRunner } from "vitest";
import { FOLDER_VARIABLE, noProgress, type Progress, paths } from "./protocol.ts";

/** A test that takes more CPU time than that tries mutants after all quick ones have, and only for so long. */
const QUICK_MS = 60;
const SLOW_BUDGET_MS = 45_000;
/** A property is looked at for so long with each mutant. */
const PROPERTY_MS = 400;

/** The names are those of the instrumented code. */
interface Switch {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

export default class MutationRunner extends TestRunner {
  readonly #at = paths(process.env[FOLDER_VARIABLE] ?? "");
  readonly #switch: Switch = { mutantCoverage: { static: {}, perTest: {} } };
  readonly #progress: Progress = read(this.#at.progress) ?? noProgress();
  readonly #hung = new Set<string>(read<string[]>(this.#at.hung) ?? []);
  /** Null: the pass of the quick ones. */
  readonly #slow = read<string[]>(this.#at.slow);

  constructor(...args: ConstructorParameters<typeof TestRunner>) {
    super(...args);
    Object.assign(globalThis, { __stryker__: this.#switch });
    // A counterexample is enough: nobody reads the smallest one.
    fc.configureGlobal({ endOnFailure: true, interruptAfterTimeLimit: PROPERTY_MS });
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const call = TestRunner.getTestFn(test);
    const { mutantCoverage: seen } = this.#switch;
    this.#switch.currentTestId = test.id;
    const begun = cpuMs();
    try {
      await call();
    } finally {
      this.#switch.currentTestId = undefined;
    }
    const took = cpuMs() - begun;
    const reached = Object.entries(seen.perTest[test.id] ?? {});
    delete seen.perTest[test.id];
    for (const [mutant] of reached) this.#progress.reached[mutant] = true;
    if (this.#slow === null && took > QUICK_MS) this.#progress.slow.push(test.id);
    else if (this.#slow?.includes(test.id) !== false) await this.#tryMutants(test, reached);
  }

  async #tryMutants(test: RunnerTestCase, reached: readonly [string, number][]): Promise<void> {
    const killed: string[] = [];
    const begun = cpuMs();
    for (const [mutant, hits] of reached) {
      if (mutant in this.#progress.killed || this.#hung.has(mutant)) continue;
      if (cpuMs() - begun > SLOW_BUDGET_MS) break;
      if (await this.#notices(test, { mutant, hits })) killed.push(mutant);
    }
    if (killed.length === 0) return;
    if (await this.#fails(test)) this.#progress.unrepeatable.push(`${test.file.name}: ${test.name}`);
    else for (const mutant of killed) this.#progress.killed[mutant] = test.name;
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    for (const mutant of Object.keys(this.#switch.mutantCoverage.static))
      this.#progress.onLoad[mutant] = true;
    writeFileSync(this.#at.progress, JSON.stringify(this.#progress));
  }

  async #notices(test: RunnerTestCase, o: { mutant: string; hits: number }): Promise<boolean> {
    writeFileSync(this.#at.active, o.mutant);
    Object.assign(this.#switch, { activeMutant: o.mutant, hitCount: 0, hitLimit: o.hits * 100 + 1_000 });
    const noticed = await this.#fails(test);
    Object.assign(this.#switch, { activeMutant: undefined, hitCount: undefined, hitLimit: undefined });
    writeFileSync(this.#at.active, "");
    return noticed;
  }

  async #fails(test: RunnerTestCase): Promise<boolean> {
    this.onBeforeTryTask(test);
    try {
      await TestRunner.getTestFn(test)();
      return false;
    } catch {
      return true;
    } finally {
      this.onBeforeTryTask(test);
    }
  }
}

/** CPU time of this process, in ms: on a busy machine it says more than the clock. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function read<T>(file: string): T | null {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return null;
  }
}
