/** Puts together what a job is told and given: the brief, its inputs, and what its dependencies left. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { err, ok, type Result } from "../core/result.ts";
import type { PlanJob } from "../core/runtime.ts";
import { sha256 } from "../host/files.ts";
import { type DependencyFacts, writeBrief } from "../run/brief.ts";
import { type InputFact, placeInputs, writeMaterial } from "../run/handoff.ts";
import { diffText } from "../run/merge.ts";
import { redactDiff } from "./redact-diff.ts";
import { jobFile, jobState, type Session } from "./session.ts";
import type { Workplace } from "./workplace.ts";

export interface Briefing {
  readonly text: string;
  /** Of the text as delivered. */
  readonly sha256: string;
  readonly inputs: readonly InputFact[];
}

export interface BriefingFault {
  readonly code: string;
  readonly detail: string;
}

/** Files that many agents read by themselves; the brief names those that exist. */
const INSTRUCTION_FILES = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];

/** Larger texts travel as files; this bounds what is read to put them there. */
const MATERIAL_MAX_BYTES = 4 * 1024 * 1024;

export async function makeBriefing(
  s: Session,
  job: PlanJob,
  place: Workplace,
): Promise<Result<Briefing, BriefingFault>> {
  const inputs = await placeJobInputs(s, { cwd: place.cwd, inputs: job.inputs });
  if (!inputs.ok) return inputs;
  const brief = writeBrief({
    job,
    cwd: place.cwd,
    worktree: place.worktree === null ? null : { path: place.worktree.path, branch: place.worktree.branch },
    dependencies: await Promise.all(job.dependsOn.map((id) => dependencyFacts(s, id))),
    instructionFiles: INSTRUCTION_FILES.filter((name) => existsSync(join(place.cwd, name))),
    outcome: s.graph.outcome,
    constraints: s.graph.constraints,
    acceptance: s.graph.acceptance,
    nonce: randomBytes(9).toString("base64url"),
  });
  if (brief.material.length > 0) {
    const written = await writeMaterial({ cwd: place.cwd, jobId: job.id, material: brief.material });
    if (!written.ok) return err({ code: written.error.code, detail: written.error.detail });
  }
  return ok({ text: brief.text, sha256: sha256(brief.text), inputs: inputs.value });
}

/** Verifies plain inputs in `cwd` and copies there what other jobs hand over. */
export async function placeJobInputs(
  s: Session,
  o: { readonly cwd: string; readonly inputs: PlanJob["inputs"] },
): Promise<Result<readonly InputFact[], BriefingFault>> {
  const placed = await placeInputs({
    ...o,
    source: (id) => {
      const last = jobState(s, id).attemptRecords.at(-1);
      return last === undefined
        ? null
        : { artifactsDir: jobFile(s.runDir, id, "artifacts"), artifacts: last.artifacts };
    },
  });
  return placed.ok ? placed : err({ code: placed.error.code, detail: placed.error.detail });
}

/** The part of a brief that the frozen plan alone decides; what dependencies and inputs add is fingerprinted apart. */
export function fixedBriefSha256(s: Session, job: PlanJob): string {
  const brief = writeBrief({
    job,
    cwd: job.cwd,
    worktree: null,
    dependencies: [],
    instructionFiles: [],
    outcome: s.graph.outcome,
    constraints: s.graph.constraints,
    acceptance: s.graph.acceptance,
    nonce: "fixed",
  });
  return sha256(brief.text);
}

async function dependencyFacts(s: Session, id: string): Promise<DependencyFacts> {
  const state = jobState(s, id);
  const last = state.attemptRecords.at(-1);
  return {
    jobId: id,
    status: state.status,
    attempt: last?.attempt ?? null,
    artifacts: last?.artifacts ?? [],
    diffStat: last?.diffStat ?? null,
    commit: last?.commit ?? null,
    resultText: readBounded(jobFile(s.runDir, id, "result")),
    diff: await dependencyDiff(s, id),
  };
}

async function dependencyDiff(s: Session, id: string): Promise<string | null> {
  const last = jobState(s, id).attemptRecords.at(-1);
  const repo = s.index.byId.get(id)?.repo;
  if (
    last === undefined ||
    last.commit === null ||
    last.baseCommit === null ||
    repo === null ||
    repo === undefined
  )
    return null;
  if (last.commit === last.baseCommit) return null;
  const diff = await diffText({ repo, from: last.baseCommit, to: last.commit, maxBytes: MATERIAL_MAX_BYTES });
  return diff.ok ? redactDiff(diff.value.text, s.redact) : null;
}

function readBounded(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8");
    return text === "" ? null : text.slice(0, MATERIAL_MAX_BYTES);
  } catch {
    return null;
  }
}

/** The brief of a plain program is its declared intent: written only where it is delivered. */
export const deliversBrief = (job: PlanJob, agent: boolean): boolean =>
  agent || job.invocation?.stdin === "prompt";
