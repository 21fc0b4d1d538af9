import fc from "fast-check";
import { expect, test } from "vitest";
import { ATTEMPT_EDGES, type Edge, RUN_EDGES } from "../../src/state/machine.ts";
import type { AttemptStatus, JournalRecord, RunStatus, State } from "../../src/state/records.ts";
import { apply, applyAll, computed, IllegalTransition } from "../../src/state/transition.ts";
import { AT, attempt, blankJob, blankState, lifeOf, SHA } from "./support.ts";

const ATTEMPT_STATUSES: readonly AttemptStatus[] = [
  "queued",
  "running",
  "success",
  "failed",
  "timed_out",
  "blocked",
  "interrupted",
  "unsettled",
];
const RUN_STATUSES: readonly RunStatus[] = [
  "preparing",
  "running",
  "waiting",
  "accepted",
  "ended",
  "cancelled",
  "interrupted",
];
const pairs = <S>(all: readonly S[]): [S, S][] => all.flatMap((from) => all.map((to): [S, S] => [from, to]));
const has = (edges: readonly Edge<string>[], from: string, to: string): boolean =>
  edges.some((edge) => edge.from === from && edge.to === to);

function withAttempt(status: AttemptStatus): State {
  const state = blankState(["a"]);
  state.jobs["a"] = computed(blankJob({ riskTier: "R0", attemptRecords: [attempt(1, { status })] }));
  return state;
}

const patch = (change: object): JournalRecord => ({ type: "attempt", jobId: "a", attempt: 1, patch: change });

test.each(pairs(ATTEMPT_STATUSES))("an attempt goes from %s to %s only by the table", (from, to) => {
  const act = () => apply(withAttempt(from), patch({ status: to }));
  if (has(ATTEMPT_EDGES, from, to)) expect(act().jobs["a"]?.attemptRecords[0]?.status).toBe(to);
  else expect(act).toThrow(new IllegalTransition(`attempt 1 of \`a\` cannot go from ${from} to ${to}`));
});

test.each(pairs(RUN_STATUSES))("a run goes from %s to %s only by the table", (from, to) => {
  const act = () => apply(blankState([], { status: from }), { type: "run", patch: { status: to } });
  if (from === to || has(RUN_EDGES, from, to)) expect(act().status).toBe(to);
  else expect(act).toThrow(new IllegalTransition(`the run cannot go from ${from} to ${to}`));
});

test("each edge is in its table once and says why", () => {
  for (const edges of [ATTEMPT_EDGES, RUN_EDGES]) {
    const keys = edges.map((edge) => `${edge.from}>${edge.to}`);
    expect(new Set(keys).size).toBe(keys.length);
    for (const edge of edges) expect(edge.why).not.toBe("");
  }
});

test.each([
  ["queued", "attempt 2 of `a` cannot open: attempt 1 is queued"],
  ["running", "attempt 2 of `a` cannot open: attempt 1 is running"],
  ["unsettled", "attempt 2 of `a` cannot open: attempt 1 is unsettled"],
  ["success", "attempt 2 of `a` cannot open: attempt 1 succeeded and the job was not reopened"],
] as const)("no second attempt opens beside one that is %s", (status, message) => {
  expect(() => apply(withAttempt(status), { type: "attempt-open", jobId: "a", attempt: attempt(2) })).toThrow(
    new IllegalTransition(message),
  );
});

test.each(["failed", "timed_out", "blocked", "interrupted"] as const)(
  "an attempt follows one that is %s",
  (status) => {
    const state = apply(withAttempt(status), { type: "attempt-open", jobId: "a", attempt: attempt(2) });
    expect(state.jobs["a"]).toMatchObject({ status: "queued", attempts: 2 });
  },
);

test("a reopened job takes an attempt although an earlier round succeeded", () => {
  const reopened = apply(withAttempt("success"), { type: "job", jobId: "a", patch: { reopenedAt: 1 } });
  expect(reopened.jobs["a"]).toMatchObject({ status: "queued", outcome: "pending" });
  const open = apply(reopened, {
    type: "attempt-open",
    jobId: "a",
    attempt: attempt(2, { status: "running" }),
  });
  expect(open.jobs["a"]).toMatchObject({ status: "running", attempts: 2 });
});

test.each([
  [
    { type: "attempt-open", jobId: "a", attempt: attempt(3) },
    "attempt 3 of `a` cannot open: the next ordinal is 1",
  ],
  [
    { type: "attempt-open", jobId: "a", attempt: attempt(1, { status: "success" }) },
    "attempt 1 of `a` cannot open: it is success",
  ],
  [{ type: "attempt", jobId: "a", attempt: 1, patch: {} }, "`a` has no attempt 1"],
  [{ type: "job", jobId: "b", patch: {} }, "there is no job `b`"],
  [{ type: "job", jobId: "constructor", patch: {} }, "there is no job `constructor`"],
] as [JournalRecord, string][])("an impossible record throws: %j", (record, message) => {
  expect(() => apply(blankState(["a"]), record)).toThrow(new IllegalTransition(message));
});

test("a blocked job takes no attempt", () => {
  const blocked = apply(blankState(["a"]), {
    type: "job",
    jobId: "a",
    patch: { block: { code: "needs-approval", detail: "R3" } },
  });
  expect(() => apply(blocked, { type: "attempt-open", jobId: "a", attempt: attempt(1) })).toThrow(
    new IllegalTransition("attempt 1 of `a` cannot open: the job is blocked: needs-approval"),
  );
});

test("what was accepted stays accepted, and only a success can be", () => {
  const won = apply(withAttempt("success"), patch({ acceptance: "accepted" }));
  expect(() => apply(won, patch({ acceptance: "rejected" }))).toThrow(
    "attempt 1 of `a` is accepted for good",
  );
  expect(() => apply(won, patch({ status: "failed" }))).toThrow(
    "attempt 1 of `a` cannot be accepted while failed",
  );
  expect(() => apply(withAttempt("failed"), patch({ acceptance: "accepted" }))).toThrow(
    "attempt 1 of `a` cannot be accepted while failed",
  );
  expect(() => apply(won, patch({ attempt: 2 }))).toThrow("attempt 1 of `a` cannot change its ordinal");
});

const block = { code: "no-git", detail: "there is no repository" };
const quota = { relation: "retry", reason: "quota" } as const;

test.each([
  ["nothing", {}, [], "queued", "pending", null],
  ["a queued attempt", {}, [{ status: "queued" }], "queued", "pending", null],
  ["a running attempt", {}, [{ status: "running" }], "running", "pending", null],
  ["a success", {}, [{ status: "success" }], "success", "pending", null],
  ["an accepted success", {}, [{ status: "success", acceptance: "accepted" }], "success", "accepted", null],
  ["a rejected success", {}, [{ status: "success", acceptance: "rejected" }], "success", "rejected", null],
  ["a failure", {}, [{ status: "failed", reason: "no-change" }], "failed", "failed", "no-change"],
  ["a timeout", {}, [{ status: "timed_out" }], "failed", "failed", null],
  ["an unsettled attempt", {}, [{ status: "unsettled" }], "failed", "failed", null],
  ["a boundary", {}, [{ status: "blocked", reason: "PERMISSION" }], "blocked", "blocked", "PERMISSION"],
  ["an interruption", {}, [{ status: "interrupted" }], "interrupted", "pending", null],
  ["a decided retry", { pendingAttempt: quota }, [{ status: "failed" }], "queued", "pending", "quota"],
  ["a block", { block }, [], "blocked", "blocked", "no-git"],
  ["a block over a failure", { block }, [{ status: "failed" }], "blocked", "blocked", "no-git"],
  ["a block over a decided retry", { block, pendingAttempt: quota }, [], "blocked", "blocked", "no-git"],
  ["a block while it still runs", { block }, [{ status: "running" }], "running", "pending", "no-git"],
  [
    "work that waits for a verdict",
    { outcomeBlock: { code: "needs-arbiter", detail: "" } },
    [{ status: "success" }],
    "success",
    "blocked",
    "needs-arbiter",
  ],
  [
    "work under a rejection",
    { outcomeBlock: { code: "dependency-rejected", detail: "" } },
    [{ status: "success" }],
    "success",
    "rejected",
    "dependency-rejected",
  ],
  ["an earlier round", { reopenedAt: 1 }, [{ status: "failed", reason: "x" }], "queued", "pending", null],
] as const)("a job with %s reads as it must", (_name, members, attempts, status, outcome, reason) => {
  const job = computed(
    blankJob({
      riskTier: "R0",
      ...members,
      attemptRecords: attempts.map((known, i) => attempt(i + 1, known)),
    }),
  );
  expect({ status: job.status, outcome: job.outcome, reason: job.reason }).toEqual({
    status,
    outcome,
    reason,
  });
});

test("a job shows the route of its latest attempt and the highest tier of all", () => {
  let state = blankState(["a"]);
  const records: JournalRecord[] = [
    {
      type: "job",
      jobId: "a",
      patch: { runtime: "planned", model: "planned-model", notBefore: AT, pendingAttempt: quota },
    },
    {
      type: "attempt-open",
      jobId: "a",
      attempt: attempt(1, { runtime: "one", modelRequested: "m1", riskTier: "R2" }),
    },
    { type: "attempt", jobId: "a", attempt: 1, patch: { status: "failed", acceptedWithoutC3: true } },
    {
      type: "attempt-open",
      jobId: "a",
      attempt: attempt(2, { runtime: "two", modelRequested: "m2", riskTier: "R1" }),
    },
    { type: "attempt", jobId: "a", attempt: 2, patch: { model: "m2-observed" } },
  ];
  for (const record of records) state = apply(state, record);
  expect(state.jobs["a"]).toMatchObject({
    runtime: "two",
    model: "m2-observed",
    riskTier: "R2",
    attempts: 2,
    acceptedWithoutC3Count: 1,
    pendingAttempt: null,
    notBefore: null,
  });
});

test("approvals and arbiters are kept once each", () => {
  const approval = {
    id: "1",
    scope: SHA,
    jobId: "a",
    words: "deploy",
    actor: "user",
    via: "command",
    at: AT,
    note: null,
    decision: "approved",
    attested: true,
  } as const;
  const arbiter = {
    arbiterId: "arbiter-1",
    status: "offered",
    via: "native",
    runtime: null,
    family: null,
    model: null,
    independence: null,
    bundleSha256: SHA,
    nonce: "n",
    createdAt: AT,
    answeredAt: null,
    overall: null,
    handle: null,
    reason: null,
    pid: null,
    processStartTime: null,
    bootId: null,
    attempts: [],
  } as const;
  const state = blankState(["a"]);
  applyAll(state, [
    { type: "approval", approval },
    { type: "approval", approval: { ...approval, id: "2" } },
    { type: "approval", approval: { ...approval, decision: "denied" } },
    { type: "arbiter", arbiter: { ...arbiter, attempts: [] } },
    { type: "arbiter", arbiter: { ...arbiter, attempts: [], status: "answered" } },
  ]);
  expect(state.approvals.map((a) => [a.id, a.decision])).toEqual([
    ["1", "denied"],
    ["2", "approved"],
  ]);
  expect(state.arbiters.map((a) => a.status)).toEqual(["answered"]);
});

test("a member given as undefined is left alone, as the journal would leave it", () => {
  const state = apply(withAttempt("running"), patch({ phase: "working", reason: undefined, pid: 7 }));
  expect(state.jobs["a"]?.attemptRecords[0]).toEqual(
    attempt(1, { status: "running", phase: "working", pid: 7 }),
  );
});

/** Any record, legal or not, over two jobs. */
const anyRecord: fc.Arbitrary<JournalRecord> = fc.oneof(
  fc.record({
    type: fc.constant("attempt-open" as const),
    jobId: fc.constantFrom("a", "b", "c"),
    attempt: fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom("queued" as const, "running" as const))
      .map(([n, status]) => attempt(n, { status })),
  }),
  fc.record({
    type: fc.constant("attempt" as const),
    jobId: fc.constantFrom("a", "b"),
    attempt: fc.integer({ min: 1, max: 3 }),
    patch: fc.oneof(
      fc.record({ status: fc.constantFrom(...ATTEMPT_STATUSES) }),
      fc.record({ acceptance: fc.constantFrom("accepted" as const, "rejected" as const) }),
    ),
  }),
  fc.record({
    type: fc.constant("job" as const),
    jobId: fc.constantFrom("a", "b"),
    patch: fc.constantFrom({ block }, { block: null }, { pendingAttempt: quota }, { reopenedAt: 1 }),
  }),
  fc.constant<JournalRecord>({ type: "run", patch: { status: "running" }, note: "n" }),
);

test("records apply all or none, and never change a value that somebody holds", () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyRecord, { maxLength: 4 }), { maxLength: 30 }), (groups) => {
      const state = blankState(["a", "b"]);
      for (const group of groups) {
        const held = { ...state, jobs: { ...state.jobs } };
        const before = JSON.stringify(state);
        let pure: State | null = structuredClone(state);
        try {
          for (const record of group) pure = apply(pure as State, record);
        } catch {
          pure = null;
        }
        try {
          applyAll(state, group);
        } catch (error) {
          expect(error).toBeInstanceOf(IllegalTransition);
        }
        expect(JSON.stringify(state)).toBe(pure === null ? before : JSON.stringify(pure));
        expect(JSON.stringify(held)).toBe(before);
      }
    }),
    { seed: 20260101, numRuns: 500 },
  );
});

test("the four steps of a job that goes well end in an accepted job", () => {
  const state = blankState(["a"]);
  for (const step of lifeOf("a")) applyAll(state, step);
  expect(state.jobs["a"]).toMatchObject({ status: "success", outcome: "accepted", attempts: 1 });
});
