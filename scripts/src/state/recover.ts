/** From the bytes of state.json and journal.jsonl to the state they promise, or a named refusal. Pure. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { POLICY } from "../core/policy.ts";
import { err, ok, type Result } from "../core/result.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { TOOL } from "../core/tool-word.ts";
import type { StateFault } from "./fault.ts";
import { type Garbage, indexJournal, type LineRef, parseLine, sealBefore, withoutFenced } from "./journal.ts";
import type { JournalRecord, State } from "./records.ts";
import { parseStateFile, type StateFileProblem } from "./state-file.ts";
import { applyAll } from "./transition.ts";

export interface Recovered {
  readonly state: State;
  /** What a writer cuts or rewrites, in words for the report. Empty after a clean stop and after most kills. */
  readonly repairs: string[];
  /** Size of state.json in bytes. */
  readonly stateBytes: number;
  /** Where a reader that follows the journal goes on. */
  readonly journalNext: number;
  /** What stands right before that place: the seal of the line that was read last. */
  readonly journalSeal: Buffer;
}

export interface RunBytes {
  /** For messages only. */
  readonly runDir: string;
  readonly state: Buffer | null;
  readonly journal: Buffer | null;
}

/**
 * state = state.json plus each journal line whose seq is the next one. A torn tail was never promised and is left out;
 * a damaged or missing line before the end was, so the run is refused rather than set back.
 */
export function recover(files: RunBytes): Result<Recovered, StateFault> {
  const statePath = join(files.runDir, RUN_FILES.state);
  if (files.state === null) return err(noState(files, statePath));
  const document = parseStateFile(files.state);
  if (!document.ok) return err(stateFault(document.error, files.runDir, statePath));
  const { state } = document.value;
  const repairs = [...document.value.repairs];
  if (files.journal === null) {
    if (files.state.length > POLICY.STATE_INLINE_BYTES.value) return err(journalMissing(files.runDir));
    repairs.push("journal.jsonl was missing; state.json was whole without it");
    return ok({
      state,
      repairs,
      stateBytes: files.state.length,
      journalNext: 0,
      journalSeal: Buffer.alloc(0),
    });
  }
  const index = indexJournal(files.journal);
  const kept = withoutFenced(index.lines).filter(
    (line) => line.seq <= state.seq || line.epoch >= state.epoch,
  );
  const last = kept.at(-1);
  const replayed = replay(state, files.journal, kept, { runDir: files.runDir, garbage: index.garbage });
  if (!replayed.ok) return replayed;
  const lost = index.garbage.find((g) => g.ours && g.start >= (last?.end ?? 0));
  if (lost !== undefined)
    return err(
      journalDamaged(files.runDir, lost.start, state.seq, "its last line does not match its checksum"),
    );
  repairs.push(...journalRepairs(index.garbage, index.lines.length - kept.length, index.unterminated));
  const journalSeal = sealBefore(files.journal, index.next);
  return ok({ state, repairs, stateBytes: files.state.length, journalNext: index.next, journalSeal });
}

/**
 * Applies the lines that are news, and tells `applied` of each record. Stops at the first line that cannot follow: damaged
 * is the journal there, or where the `garbage` before it stands for what is missing.
 */
export function replay(
  state: State,
  journal: Buffer,
  lines: readonly LineRef[],
  o: {
    readonly runDir: string;
    readonly garbage?: readonly Garbage[];
    readonly applied?: (record: JournalRecord) => void;
  },
): Result<null, StateFault> {
  const { runDir, garbage = [], applied } = o;
  let good = 0;
  for (const line of lines) {
    const refuse = (what: string) => {
      const lost = garbage.find((g) => g.ours && g.start >= good && g.start < line.start);
      return err(journalDamaged(runDir, lost?.start ?? line.start, state.seq, what));
    };
    if (line.seq <= state.seq) {
      good = line.end;
      continue;
    }
    if (line.seq !== state.seq + 1)
      return refuse(`record ${state.seq + 1} is missing before record ${line.seq}`);
    try {
      const { records, ts } = parseLine(journal, line);
      applyAll(state, records);
      state.updatedAt = ts;
      if (applied !== undefined) for (const record of records) applied(record);
    } catch (error) {
      return refuse(
        `record ${line.seq} cannot be applied: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    state.seq = line.seq;
    state.epoch = line.epoch;
    good = line.end;
  }
  return ok(null);
}

function journalRepairs(garbage: readonly Garbage[], fenced: number, unterminated: boolean): string[] {
  const bytes = garbage.reduce((sum, g) => sum + g.end - g.start, 0);
  const repairs: string[] = [];
  if (garbage.length > 0)
    repairs.push(
      `journal.jsonl held ${bytes} bytes that are no record (a write that was cut off); they are removed`,
    );
  if (unterminated) repairs.push("the last line of journal.jsonl had no line end; it is put back");
  if (fenced > 0)
    repairs.push(
      `journal.jsonl held ${fenced} lines of a coordinator that had lost its lock; they are removed`,
    );
  return repairs;
}

function noState(files: RunBytes, path: string): StateFault {
  const orphan = files.journal !== null && files.journal.length > 0;
  return {
    code: orphan ? "state-damaged" : "no-run",
    message: orphan
      ? `\`${path}\` is missing although its journal holds records.`
      : `\`${files.runDir}\` holds no run: there is no state.json.`,
    hint: orphan ? startAgain(files.runDir) : "Name a run directory, or start a run with `run SPEC`.",
    path,
    errno: null,
  };
}

function stateFault(problem: StateFileProblem, runDir: string, path: string): StateFault {
  const fault = (message: string, hint: string): StateFault => ({
    code: problem.code,
    message,
    hint,
    path,
    errno: null,
  });
  switch (problem.code) {
    case "state-newer":
      return fault(
        `\`${path}\` was written by a newer version: ${problem.what}.`,
        "Update Orchestrate, then run the command again.",
      );
    case "state-foreign":
      return fault(
        `\`${path}\` is not a state file of Orchestrate: ${problem.what}. It was left as it is.`,
        "Name another run directory, or start a run with `run SPEC`.",
      );
    case "state-damaged":
      return fault(
        `\`${path}\` is damaged: ${problem.what}. It was left as it is.`,
        problem.parses
          ? `If you changed it and stand by its content, take its checksum out and resume: \`${dropSeal(path)} && ${resume(runDir)}\`. Otherwise: ${startAgain(runDir)}`
          : startAgain(runDir),
      );
  }
}

function journalMissing(runDir: string): StateFault {
  const path = join(runDir, RUN_FILES.journal);
  return {
    code: "journal-missing",
    message: `\`${path}\` is missing, and with it every record since the last snapshot.`,
    hint: `Put it back, or go on from the snapshot: \`: > ${quoteShell(path)} && ${resume(runDir)}\`.`,
    path,
    errno: null,
  };
}

function journalDamaged(runDir: string, offset: number, seq: number, what: string): StateFault {
  const path = join(runDir, RUN_FILES.journal);
  return {
    code: "journal-damaged",
    message: `\`${path}\` is damaged at byte ${offset}: ${what}. What was recorded after record ${seq} would be lost, so nothing was changed.`,
    hint: `To go on from record ${seq}, where later work may run again: \`node -e 'fs.truncateSync(process.argv[1], ${offset})' ${quoteShell(path)} && ${resume(runDir)}\`.`,
    path,
    errno: null,
  };
}

const resume = (runDir: string): string => `${TOOL} resume ${quoteShell(runDir)}`;
const startAgain = (runDir: string): string =>
  `Start again from the frozen spec: \`${TOOL} run ${quoteShell(join(runDir, RUN_FILES.spec))}\`; captures, worktrees and branches of this run stay where they are.`;
const dropSeal = (path: string): string =>
  `node -e 'const [f]=process.argv.slice(1),s=JSON.parse(fs.readFileSync(f));delete s.crc;fs.writeFileSync(f,JSON.stringify(s))' ${quoteShell(path)}`;
