import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  ownUsage,
  planSession,
  recordSession,
  type SessionPlan,
} from "../../src/coordinator/agent-sessions.ts";
import { indexJobs } from "../../src/coordinator/readiness.ts";
import type { Session } from "../../src/coordinator/session.ts";
import type { Workplace } from "../../src/coordinator/workplace.ts";
import type { Attempt, PlanJob } from "../../src/core/runtime.ts";
import { ensureDir } from "../../src/host/files.ts";
import { claude } from "../../src/runtimes/claude.ts";
import { codex } from "../../src/runtimes/codex.ts";
import { gemini } from "../../src/runtimes/gemini.ts";
import { initialState, USAGE_NONE } from "../../src/runtimes/observed.ts";
import { attempt, jobState, planJob } from "../plan/plan-support.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

const place = (cwd: string): Workplace => ({
  cwd,
  root: cwd,
  gitDir: null,
  worktree: null,
  baseCommit: null,
  notes: [],
});

/** `first` ended on `runtime`; `second` goes on with its session. */
function scene(o: { mode?: "continue" | "fork"; attempts?: readonly Partial<Attempt>[] } = {}) {
  const runDir = temporaryFolder();
  const first: PlanJob = { ...planJob({}), id: "first", dependsOn: [], session: null };
  const second: PlanJob = {
    ...planJob({}),
    id: "second",
    index: 1,
    dependsOn: ["first"],
    session: { fromJob: "first", mode: o.mode ?? "continue" },
  };
  const records = (o.attempts ?? [{ attempt: 1 }]).map((one) => attempt(one));
  const jobs = { first: jobState({ attemptRecords: records }), second: jobState({}) };
  const session = {
    runDir,
    index: indexJobs([first, second]),
    store: { state: { jobs } },
  } as unknown as Session;
  ensureDir(join(runDir, "first"));
  ensureDir(join(runDir, "second"));
  return { session, first, second, runDir };
}

function leave(
  s: ReturnType<typeof scene>,
  o: { adapter?: typeof codex; attempt?: number; folder?: string; usage?: Attempt["usage"] } = {},
): void {
  const adapter = o.adapter ?? codex;
  const planned = planSession(s.session, s.first, { adapter, place: place(o.folder ?? "/code") });
  if (!planned.ok) throw new Error(planned.error.detail);
  recordSession(s.session, s.first, {
    attempt: o.attempt ?? 1,
    adapter,
    place: place(o.folder ?? "/code"),
    plan: planned.value,
    observed: { ...initialState, sessionHandle: "handle-1", usage: o.usage ?? null },
  });
}

const why = (s: ReturnType<typeof scene>, adapter = codex, folder = "/code"): string => {
  const planned = planSession(s.session, s.second, { adapter, place: place(folder) });
  return planned.ok
    ? `goes on with ${planned.value.resume?.handle}`
    : `${planned.error.code}: ${planned.error.detail}`;
};

describe("going on with a session", () => {
  it("takes the handle of the job's last attempt, in another folder too where that was proven", () => {
    const s = scene();
    leave(s);
    expect(why(s)).toBe("goes on with handle-1");
    expect(why(s, codex, "/elsewhere")).toBe("goes on with handle-1");
  });

  it("is blocked where the runtime goes on only in the folder of the first turn", () => {
    const s = scene({ mode: "fork" });
    leave(s, { adapter: claude });
    expect(why(s, claude)).toBe("goes on with handle-1");
    expect(why(s, claude, "/elsewhere")).toBe(
      "session-unsupported: cannot fork the session of `first`: `claude` goes on only in the folder it was made in, `/code`, and this job works in `/elsewhere`",
    );
  });

  it("is blocked when the job ended on another runtime than it was planned on", () => {
    const s = scene();
    leave(s, { adapter: claude });
    expect(why(s)).toBe(
      "session-unsupported: cannot continue the session of `first`: it ended on `claude`, and this job is planned on `codex`",
    );
  });

  it("is blocked when the last attempt left no session, or an earlier one did", () => {
    const none =
      "session-unsupported: cannot continue the session of `first`: no session of its last attempt is recorded";
    expect(why(scene())).toBe(none);
    const s = scene({ attempts: [{ attempt: 1 }, { attempt: 2 }] });
    leave(s, { attempt: 1 });
    expect(why(s)).toBe(none);
  });

  it("is blocked on a runtime that nobody proved to do it", () => {
    const s = scene();
    leave(s, { adapter: gemini });
    expect(why(s, gemini)).toBe(
      "session-unsupported: cannot continue the session of `first`: nobody proved that `gemini` can",
    );
  });

  it("reads a damaged record as none", () => {
    const s = scene();
    leave(s);
    writeFileSync(join(s.runDir, "first/session.json"), '{"handle":');
    expect(why(s)).toContain("no session of its last attempt is recorded");
  });

  it("keeps sessions below the run, for the runtimes that can be told where", () => {
    const s = scene();
    leave(s);
    expect(existsSync(join(s.runDir, "supervisor/sessions/codex"))).toBe(true);
    const planned = planSession(s.session, s.first, { adapter: codex, place: place("/code") });
    expect(planned).toMatchObject({ ok: true, value: { resume: null, keep: true } });
  });
});

describe("the usage of an attempt in a thread", () => {
  const total = {
    ...USAGE_NONE,
    inputTokens: 3_000,
    outputTokens: 60,
    cachedTokens: 300,
    source: "codex thread total",
  };
  const before = { ...USAGE_NONE, inputTokens: 1_000, outputTokens: 20, cachedTokens: 100, source: "x" };
  const plan = (usedBefore: SessionPlan["usedBefore"], resumed = true): SessionPlan => ({
    resume: resumed ? { handle: "h", mode: "continue" } : null,
    keep: false,
    store: null,
    usedBefore,
  });

  it("is what came on top, where the runtime counts the thread", () => {
    expect(ownUsage(codex, plan(before), total)).toEqual({
      ...total,
      inputTokens: 2_000,
      outputTokens: 40,
      cachedTokens: 200,
      source: "codex thread total, its last turn",
    });
  });

  it("is unknown and marked when nobody knows what came before", () => {
    expect(ownUsage(codex, plan(null), total)).toEqual({
      ...USAGE_NONE,
      source: "codex thread total, not divided",
    });
  });

  it("is as reported in a fresh session, and by a runtime that counts turns", () => {
    expect(ownUsage(codex, plan(null, false), total)).toBe(total);
    expect(ownUsage(claude, plan(before), total)).toBe(total);
    expect(ownUsage(codex, plan(before), null)).toBeNull();
  });
});
