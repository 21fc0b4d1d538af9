/**
 * One tiny inference in a worktree of a throwaway repository, at a path that nothing has seen before: what a job would
 * meet there (trust, login, a silent prompt) shows now. Opt-in; it alone spends. What it proves is raised in the record.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { BASE_ENVIRONMENT } from "../core/child-environment.ts";
import { REPORTS_DIR, RUN_FILES } from "../core/layout.ts";
import type { Candidate, FailureClass, RuntimeRecord } from "../core/runtime.ts";
import { looksSecretName } from "../core/secret-patterns.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { ensureDir, writePrivate } from "../host/files.ts";
import { git } from "../host/git.ts";
import { childEnvironment } from "../run/child-env.ts";
import { redactText } from "../run/redact.ts";
import { type SuperviseResult, superviseProcess } from "../run/supervise.ts";
import type { Adapter, ObservedState, Settlement, StartInput, StartPlan } from "../runtimes/adapter.ts";

export interface Smoke {
  readonly runtime: string;
  readonly ok: boolean;
  /** Null when it answered. */
  readonly failureClass: FailureClass | "TRUST" | null;
  readonly detail: string | null;
  readonly model: string | null;
  readonly wallMs: number;
  /** The record with what this proved, or with what it disproved. */
  readonly record: RuntimeRecord;
}

export interface SmokeRequest {
  readonly adapter: Adapter;
  readonly record: RuntimeRecord;
  readonly env: Environment;
  readonly clock: Clock;
  readonly self: readonly string[];
  /** Workspace root: the path lies where a run's worktrees lie. */
  readonly root: string;
  readonly timeoutMs: number;
}

const PROMPT =
  "Answer with the single word `ready` and nothing else. Use no tools, read nothing and change nothing.\n";

/** Agents that can be asked: found, not known to be unusable, and with a process of their own. */
export const canSmoke = (record: RuntimeRecord): boolean =>
  record.kind === "cli" &&
  record.role === "agent" &&
  record.binary !== null &&
  record.reason !== "not-probed" &&
  record.state !== "unavailable";

export async function smokeTest(o: SmokeRequest): Promise<Smoke> {
  const place = await makePlace(o);
  try {
    const planned = o.adapter.start(startInput(o, place));
    if (!planned.ok)
      return failed(o, {
        failureClass: "BAD_FLAG",
        detail: `${planned.error.code}: ${planned.error.detail}`,
        wallMs: 0,
      });
    return await ask(o, place, planned.value);
  } finally {
    place.remove();
  }
}

interface Place {
  readonly cwd: string;
  readonly scratch: string;
  remove(): void;
}

/** Where a run would put a worktree; in the temporary folder when the workspace cannot be written. */
async function makePlace({ root, env }: SmokeRequest): Promise<Place> {
  const top = newFolder([join(root, REPORTS_DIR), env.tmp]);
  writeFileSync(join(top, ".gitignore"), "*\n");
  const repo = join(top, "repo");
  const cwd = join(top, RUN_FILES.worktrees, "smoke");
  mkdirSync(repo);
  writeFileSync(join(repo, "README.md"), "A throwaway repository for one question.\n");
  const steps = [
    ["init", "-q"],
    ["add", "README.md"],
    ["commit", "-q", "--no-verify", "-m", "Start"],
    ["worktree", "add", "-q", "--detach", cwd],
  ];
  const config = ["user.name=orchestrate", "user.email=orchestrate@localhost", "commit.gpgSign=false"];
  for (const step of steps) if ((await git(step, { cwd: repo, config })).exitCode !== 0) break;
  // Without git it is a plain folder: still one that nobody trusted before.
  mkdirSync(cwd, { recursive: true });
  const scratch = join(top, "scratch");
  mkdirSync(scratch);
  return { cwd, scratch, remove: () => rmSync(top, { recursive: true, force: true }) };
}

function newFolder(parents: readonly string[]): string {
  for (const parent of parents)
    try {
      ensureDir(parent);
      return mkdtempSync(join(parent, "orchestrate-smoke-"));
    } catch {}
  throw new Error(`no folder can be made below ${parents.join(" or ")}`);
}

function startInput({ record, self }: SmokeRequest, place: Place): StartInput {
  const promptFile = join(place.scratch, "prompt.md");
  writePrivate(promptFile, PROMPT);
  const candidate: Candidate = {
    runtime: record.id,
    kind: "cli",
    model: null,
    effort: null,
    provider: record.provider,
    family: record.family,
    capability: record.capability,
    capabilitySource: record.capabilitySource,
    familySource: record.familySource,
    independence: null,
    weaker: [],
    strength: [],
  };
  return {
    job: {
      id: "smoke",
      effect: "observe",
      tools: { allowed: ["read", "search"], disallowed: [], origin: "tier" },
      riskTier: "R0",
      verification: [],
      invocation: null,
      session: null,
      mock: null,
      task: "scout",
      maxOutputBytes: 1024 * 1024,
      outputs: [],
    },
    attempt: 1,
    candidate,
    record,
    cwd: place.cwd,
    prompt: PROMPT,
    promptFile,
    scratch: place.scratch,
    self,
    worktree: true,
    resumeSession: null,
  };
}

async function ask(o: SmokeRequest, place: Place, plan: StartPlan): Promise<Smoke> {
  const { adapter, env, clock } = o;
  for (const file of plan.files) {
    const path = resolve(place.scratch, file.path);
    ensureDir(dirname(path));
    writePrivate(path, file.content);
  }
  const marker = `smoke-${process.pid}-${adapter.id}-${clock.now()}`;
  const secretValues = Object.entries(env.all()).flatMap(([name, value]) =>
    looksSecretName(name) && value.length >= 8 ? [value] : [],
  );
  const before = readdirSync(place.cwd);
  let observed: ObservedState = adapter.initial();
  const result = await superviseProcess({
    argv: plan.argv,
    cwd: place.cwd,
    env: childEnvironment({
      parent: env.all(),
      allow: [...BASE_ENVIRONMENT, ...plan.envPass],
      set: plan.env,
      marker,
    }).env,
    stdin: plan.stdin,
    marker,
    timeoutMs: o.timeoutMs,
    stallAfterMs: null,
    stdoutPath: null,
    stderrPath: null,
    maxOutputBytes: 1024 * 1024,
    secretValues,
    clock,
    onLine: (line) => {
      observed = adapter.observe(observed, line).state;
    },
  }).done;
  const settlement = adapter.settle(observed, {
    exitCode: result.exitCode,
    signal: result.signal,
    endedBy: result.endedBy,
    spawnError: result.spawnError,
    stdoutTail: result.stdout.tail,
    stderrTail: result.stderr.tail,
    stdoutBytes: result.stdout.bytes,
    now: clock.now(),
  });
  const wallMs = Math.round(result.wallMs);
  const clean = (text: string | null): string | null =>
    text === null ? null : redactText(text, secretValues);
  if (!settlement.ok || (settlement.resultText ?? "").trim() === "")
    return failed(o, { ...faultOf(settlement, result, observed), detail: clean(settlement.detail), wallMs });
  const changed = readdirSync(place.cwd).filter((name) => !before.includes(name));
  return answered(o, observed, { wallMs, changed });
}

const TRUST = /\btrust(?:ed|s)?\b|\buntrusted\b/i;

/** A question about trust, asked to nobody, comes as a refusal or as silence. */
function faultOf(
  settlement: Settlement,
  result: SuperviseResult,
  observed: ObservedState,
): { failureClass: FailureClass | "TRUST" } {
  const silent = observed.events === 0 || result.endedBy !== "self" || result.exitCode !== 0;
  if (silent && TRUST.test(`${settlement.detail ?? ""}\n${result.stderr.tail}`))
    return { failureClass: "TRUST" };
  return { failureClass: settlement.failureClass ?? "BAD_OUTPUT" };
}

function failed(
  o: SmokeRequest,
  fault: { failureClass: FailureClass | "TRUST"; detail: string | null; wallMs: number },
): Smoke {
  const { record } = o;
  const { failureClass, detail, wallMs } = fault;
  const reason = failureClass === "TRUST" ? "trust" : `smoke-failed: ${failureClass}`;
  return {
    runtime: record.id,
    ok: false,
    failureClass,
    detail,
    model: null,
    wallMs,
    record: {
      ...record,
      state: "unavailable",
      reason,
      authenticated: failureClass === "AUTH" ? false : record.authenticated,
      evidence: [
        ...record.evidence,
        { source: "smoke", finding: `${reason}${detail === null ? "" : `: ${detail}`}`, sha256: null },
      ],
    },
  };
}

function answered(
  o: SmokeRequest,
  observed: ObservedState,
  seen: { readonly wallMs: number; readonly changed: readonly string[] },
): Smoke {
  const { record, adapter } = o;
  const { model } = observed;
  const capture = record.capture.value;
  const finding = `answered in ${(seen.wallMs / 1000).toFixed(1)} s in a fresh worktree${model === null ? "" : ` as ${model}`}`;
  return {
    runtime: record.id,
    ok: true,
    failureClass: null,
    detail: null,
    model,
    wallMs: seen.wallMs,
    record: {
      ...record,
      state: record.state === "unverified" ? "available" : record.state,
      authenticated: true,
      headless: true,
      structuredOutput: record.structuredOutput || adapter.output !== "text",
      capture: {
        value: capture === "unverified" ? (adapter.output === "text" ? "text" : "structured") : capture,
        evidence: "verified",
      },
      provider: record.provider ?? observed.provider,
      evidence: [...record.evidence, { source: "smoke", finding, sha256: null }],
      notes: [
        ...record.notes,
        ...(seen.changed.length === 0
          ? []
          : [`it left ${seen.changed.join(", ")} in the folder though it was told to change nothing`]),
      ],
    },
  };
}
