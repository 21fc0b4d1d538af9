/** The judgement of crash tests is worth what it finds: a planted history breaks each rule. */
import { describe, expect, it } from "vitest";
import type { State } from "../../src/core/runtime.ts";
import { blankAttempt, blankJob } from "../state/support.ts";
import { type History, type Life, violations } from "./harness/invariants.ts";
import type { LedgerLine } from "./harness/lane.ts";

const JOBS = [
  { id: "a", after: [], seconds: 0 },
  { id: "b", after: ["a"], seconds: 0 },
] as const;

type Status = "queued" | "running" | "success" | "interrupted" | "failed";

/** `{a: "success", b: "running"}`, with one attempt for each job that is not queued, or as many as are stated. */
function state(
  jobs: Record<string, Status | readonly [Status, number]>,
  status: State["status"] = "running",
): State {
  return {
    status,
    reason: null,
    jobs: Object.fromEntries(
      Object.entries(jobs).map(([id, stated]) => {
        const [word, count] =
          typeof stated === "string" ? ([stated, stated === "queued" ? 0 : 1] as const) : stated;
        const attemptRecords = Array.from({ length: count }, (_, i) =>
          blankAttempt({
            attempt: i + 1,
            relation: "first",
            runtime: "program",
            status: i + 1 < count || word === "queued" ? "interrupted" : word,
            createdAt: "2026-01-01T00:00:00.000Z",
            riskTier: "R0",
          }),
        );
        const outcome = word === "success" ? "blocked" : "pending";
        return [
          id,
          { ...blankJob({ riskTier: "R0" }), status: word, outcome, attempts: count, attemptRecords },
        ];
      }),
    ),
  } as unknown as State;
}

/** `S a 1 100 10`: what, job, attempt, pid, parent. */
const ledger = (...lines: string[]): LedgerLine[] =>
  lines.map((line) => {
    const [what, job, attempt, pid, parent] = line.split(" ");
    return {
      what: what as "S",
      job: job as string,
      attempt: Number(attempt),
      pid: Number(pid),
      parent: Number(parent),
    };
  });

const killed = { code: null, signal: "SIGKILL", stderr: "" } as const;
const done = { code: 0, signal: null, stderr: "" } as const;
const life = (pid: number, exit: Life["exit"], found: Life["state"]): Life => ({ pid, exit, state: found });

const FINISHED = state({ a: "success", b: "success" }, "waiting");

function history(change: Partial<History>): History {
  return {
    jobs: JOBS,
    ledger: ledger("S a 1 100 10", "E a 1 100 10", "S b 1 101 20", "E b 1 101 20"),
    lives: [life(10, killed, state({ a: "success", b: "queued" })), life(20, done, FINISHED)],
    survivors: [],
    untidy: [],
    finished: { status: "waiting", outcome: "blocked" },
    ...change,
  };
}

describe("the rules of a crash", () => {
  it("holds for a crash between two jobs, and for one in the middle of a job", () => {
    expect(violations(history({}))).toEqual([]);
    expect(
      violations(
        history({
          ledger: ledger("S a 1 100 10", "S a 2 101 20", "E a 2 101 20", "S b 1 102 20", "E b 1 102 20"),
          lives: [
            life(10, killed, state({ a: "running", b: "queued" })),
            life(20, done, state({ a: ["success", 2], b: "success" }, "waiting")),
          ],
        }),
      ),
    ).toEqual([]);
  });

  it("holds for a job that wrote its line when its coordinator was dead and somebody else its parent", () => {
    expect(
      violations(
        history({
          ledger: ledger("S a 1 100 1", "S a 2 101 20", "E a 2 101 20", "S b 1 102 20", "E b 1 102 20"),
          lives: [
            life(10, killed, state({ a: "running", b: "queued" })),
            life(20, done, state({ a: ["success", 2], b: "success" }, "waiting")),
          ],
        }),
      ),
    ).toEqual([]);
  });

  it.each<readonly [string, Partial<History>, string]>([
    [
      "a state that cannot be read",
      { lives: [life(10, killed, "state.json is damaged"), life(20, done, FINISHED)] },
      "readable after each crash: coordinator 1: state.json is damaged",
    ],
    [
      "a resume that fails",
      {
        lives: [
          life(10, killed, state({ a: "success", b: "queued" })),
          life(20, { code: 4, signal: null, stderr: "why\n" }, FINISHED),
        ],
      },
      "the last coordinator finishes the run: exit 4: why",
    ],
    [
      "a first coordinator that says it is done and is not",
      { lives: [life(10, done, state({ a: "success", b: "queued" })), life(20, done, FINISHED)] },
      "exit 0 only for a finished run: coordinator 1: b is queued, pending (null)",
    ],
    [
      "a process whose attempt is not on disk",
      { lives: [life(10, killed, state({ a: "queued", b: "queued" })), life(20, done, FINISHED)] },
      "no process without a durable intent: a ran as attempt 1 with 0 on disk",
    ],
    [
      "an attempt that starts twice",
      { ledger: ledger("S a 1 100 10", "S a 1 101 20", "E a 1 101 20", "S b 1 102 20", "E b 1 102 20") },
      "an attempt starts once: a attempt 1",
    ],
    [
      "a job that starts again although nothing cut it off",
      {
        ledger: ledger(
          "S a 1 100 10",
          "E a 1 100 10",
          "S b 1 101 20",
          "E b 1 101 20",
          "S b 2 102 20",
          "E b 2 102 20",
        ),
      },
      "one more attempt only for a job that was cut off: b started 2 times, cut off 0 times",
    ],
    [
      "success that is run again",
      {
        ledger: ledger(
          "S a 1 100 10",
          "E a 1 100 10",
          "S a 2 101 20",
          "E a 2 101 20",
          "S b 1 102 20",
          "E b 1 102 20",
        ),
      },
      "success on disk is never run again: a was started by coordinator 2 after 1 had recorded its success",
    ],
    [
      "two live processes of one job",
      {
        ledger: ledger(
          "S a 1 100 10",
          "S a 2 101 20",
          "E a 1 100 10",
          "E a 2 101 20",
          "S b 1 102 20",
          "E b 1 102 20",
        ),
      },
      "one live process a job: a: process 101 started while 100 was alive",
    ],
    [
      "a dependent that ran on what was not on disk",
      {
        ledger: ledger("S a 1 100 10", "E a 1 100 10", "S b 1 101 10", "E b 1 101 10"),
        lives: [life(10, killed, state({ a: "running", b: "running" })), life(20, done, FINISHED)],
      },
      "a dependent starts after durable success: b ran while a was running on disk",
    ],
    [
      "a dependent that ran too early",
      { ledger: ledger("S b 1 101 20", "S a 1 100 20", "E a 1 100 20", "E b 1 101 20") },
      "a dependent starts after its dependencies ended: b started before a had ended",
    ],
    [
      "two coordinators in turn",
      { ledger: ledger("S a 1 100 10", "S a 2 101 20", "E a 2 101 20", "S b 1 102 10", "E b 1 102 10") },
      "one coordinator at a time: coordinator 10 came back",
    ],
    ["a process that is left", { survivors: [4711] }, "nothing stays alive: process 4711"],
    [
      "a temporary file that is left",
      { untidy: ["report.md.1.1.tmp"] },
      "the next start is silent: report.md.1.1.tmp",
    ],
  ])("finds %s", (_name, change, expected) => {
    expect(violations(history(change))).toContain(expected);
  });
});
