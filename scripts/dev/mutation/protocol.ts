/** What the command tells the runner in the test process, and what that one tells back: files of one folder. */
import { join } from "node:path";

/** The folder; set for the test process alone. */
export const FOLDER_VARIABLE = "ORCHESTRATE_MUTATION";

export const paths = (folder: string) => ({
  /** Absolute path → instrumented text. */
  sources: join(folder, "sources.json"),
  /** Mutants that nobody has to try: known to hang. */
  hung: join(folder, "hung.json"),
  /** Tests that take long; only they try mutants when the file is there before a pass. */
  slow: join(folder, "slow.json"),
  /** `Progress` of the test files that are through. */
  progress: join(folder, "progress.json"),
  /** Id of the mutant that is being tried; empty between two. */
  active: join(folder, "active"),
});

export interface Progress {
  /** Mutant → the test that noticed it. */
  readonly killed: Record<string, string>;
  /** Mutants that some test reaches. */
  readonly reached: Record<string, true>;
  /** Mutants that run while a module is loaded, where switching comes too late. */
  readonly onLoad: Record<string, true>;
  /** Tests that fail when they are run again: nothing they notice counts. */
  readonly unrepeatable: string[];
  /** Ids of tests that take long and have tried nothing yet. */
  readonly slow: string[];
}

export const noProgress = (): Progress => ({
  killed: {},
  reached: {},
  onLoad: {},
  unrepeatable: [],
  slow: [],
});
