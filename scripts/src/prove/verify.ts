/** Layer 1: the deterministic checks of one attempt, judged from gathered evidence. Pure: `gather` reads, this decides. */
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { riskAtLeast } from "../core/tiers.ts";
import { type Attributed, attribute, boundary, noChange } from "./boundary.ts";
import { check, names } from "./check-record.ts";
import { type Claim, trailingQuestion } from "./claims.ts";
import type { FixtureResult } from "./fixture.ts";
import { outputOf, ownedBy } from "./ownership.ts";

type Artifact = Attempt["artifacts"][number];
type Check = Attempt["checks"][number];

/** The part of `run/changes` that the judge needs, as a value. Paths are relative to the checkout's root. */
export interface ChangeFacts {
  readonly measured: boolean;
  readonly created: readonly string[];
  readonly modified: readonly string[];
  readonly deleted: readonly string[];
  readonly ignored: readonly string[];
  readonly tracked: readonly string[];
  readonly headMoved: { readonly from: string | null; readonly to: string | null } | null;
}

/** Another attempt that ran in the same checkout at some moment of this one. */
export interface WindowPeer {
  readonly jobId: string;
  readonly effect: PlanJob["effect"];
  readonly cwdPrefix: string;
  readonly ownedPaths: readonly string[];
  readonly outputs: readonly string[];
}

export interface OutputFact {
  /** As declared, relative to the job's cwd. */
  readonly path: string;
  readonly required: boolean;
  readonly fromResult: boolean;
  readonly declaredSha256: string | null;
  /** Null when there is no such file; `fault` says why one that is there could not be read. */
  readonly found: { readonly sha256: string; readonly bytes: number } | null;
  readonly fault: string | null;
}

export interface VerificationFact {
  /** From 1, the order of the spec. */
  readonly index: number;
  readonly argv: readonly string[];
  /** False: not started, see `reason`. */
  readonly ran: boolean;
  readonly reason: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly spawnError: string | null;
  readonly wallMs: number | null;
  readonly stdoutTail: string;
  readonly stderrTail: string;
  /** Workspace files that decide what the command does, relative to the root; `implied` ones are not on the argv (package.json of `npm test`). */
  readonly files: readonly {
    readonly path: string;
    readonly sha256: string | null;
    readonly implied: boolean;
    readonly reads: boolean;
  }[];
  /** What it runs that is no file of the workspace: absolute paths, bare names on the search path. */
  readonly outside: readonly {
    readonly path: string;
    readonly sha256: string | null;
    readonly content: boolean;
  }[];
  /** Of what the job changed, code of packages that the command may load. */
  readonly installed: readonly string[];
}

/** A structured claim found in the output, with the recorded fact it is compared with. */
export interface ClaimFact extends Claim {
  readonly recorded: string;
  readonly contradicts: boolean;
}

export interface LayerOneEvidence {
  readonly job: Pick<
    PlanJob,
    "id" | "task" | "effect" | "writer" | "riskTier" | "ownedPaths" | "isolation" | "dependsOn"
  >;
  /** False for a plain program (`agent: false`). */
  readonly agent: boolean;
  /** Runs in its own worktree. */
  readonly ownWorktree: boolean;
  /** Path of the job's cwd below the checkout's root; empty when it is the root. `/` separated. */
  readonly cwdPrefix: string;
  readonly settled: boolean;
  /** Who saw that it ended: our own supervision, or a harness that says so. */
  readonly settledBy: "process" | "harness";
  /** A valid result with a non-zero exit. */
  readonly suspect: boolean;
  readonly resultText: string | null;
  readonly resultTruncated: boolean;
  /** Tool events seen; null when the runtime does not show them. */
  readonly toolEvents: number | null;
  readonly changes: ChangeFacts;
  readonly peers: readonly WindowPeer[];
  readonly outputs: readonly OutputFact[];
  readonly verification: readonly VerificationFact[];
  readonly claims: readonly ClaimFact[];
  readonly fixture: FixtureResult;
}

export interface LayerOneResult {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  readonly failureClass: "BAD_OUTPUT" | "TEST_FAILURE" | null;
  /** Code of the first failing check; null when all hold. */
  readonly reason: string | null;
  readonly detail: string | null;
  readonly flags: readonly Extract<
    Attempt["flags"][number],
    "trailing-question" | "check-edited" | "zero-work" | "suspect" | "truncated"
  >[];
  readonly artifacts: readonly Artifact[];
  /** Changes attributed to this job, relative to the checkout's root, sorted; ignored files of an own worktree are listed too. */
  readonly changedPaths: readonly string[];
  /**
   * Files that decided what the checks did, and their bytes: a later pass holds only while they are the same. Programs that
   * the system installs are not among them: a resume after an update must not repeat work that was paid for.
   */
  readonly scripts: readonly {
    readonly index: number;
    /** Relative to the checkout's root; with `outside` absolute, or a bare name on the search path. */
    readonly path: string;
    readonly sha256: string | null;
    readonly outside?: true;
  }[];
  /** The question the output ends with, bounded. */
  readonly question: string | null;
  readonly injectionFixture: Attempt["injectionFixture"];
}

/** Every check is made and recorded; the first that fails names the failure. */
export function verifyLayerOne(e: LayerOneEvidence): LayerOneResult {
  const changes = attribute(e);
  const artifacts = artifactsOf(e);
  const scripts = checkScripts(e, changes);
  const checks = [
    ...settlement(e),
    ...finalText(e, artifacts),
    ...e.outputs.map(outputCheck),
    ...boundary(e, changes),
    ...noChange(e, changes, artifacts),
    ...scripts.checks,
    ...e.verification.map(verificationCheck),
    ...e.claims.filter((claim) => claim.contradicts).map(contradiction),
    fixtureCheck(e.fixture),
  ];
  const failed = checks.find((check) => !check.ok);
  const question = e.agent && e.resultText !== null ? trailingQuestion(e.resultText) : null;
  const flags: LayerOneResult["flags"][number][] = [];
  if (question !== null) flags.push("trailing-question");
  if (scripts.edited) flags.push("check-edited");
  if (isZeroWork(e, changes, artifacts)) flags.push("zero-work");
  if (e.suspect) flags.push("suspect");
  if (e.resultTruncated) flags.push("truncated");
  return {
    ok: failed === undefined,
    checks,
    failureClass:
      failed === undefined ? null : TEST_CODES.has(failed.code ?? "") ? "TEST_FAILURE" : "BAD_OUTPUT",
    reason: failed?.code ?? null,
    detail: failed?.detail ?? null,
    flags,
    artifacts,
    changedPaths: [...changes.own, ...changes.listed].sort(),
    scripts: e.verification.flatMap(({ index, files, outside }) => [
      ...files.map(({ path, sha256 }) => ({ index, path, sha256 })),
      ...outside
        .filter((file) => file.content)
        .map(({ path, sha256 }) => ({ index, path, sha256, outside: true as const })),
    ]),
    question,
    injectionFixture: e.fixture.status,
  };
}

const SETTLED_WORDS = {
  process: "the process tree is gone and the result is complete",
  harness: "the harness reported its end and handed in its result",
} as const;

const TEST_CODES = new Set(["check-failed", "check-timed-out", "check-not-started"]);

function settlement(e: LayerOneEvidence): Check[] {
  const checks = [
    e.settled
      ? check("settled", true, SETTLED_WORDS[e.settledBy])
      : check("settled", false, "the attempt is not settled", "unsettled"),
  ];
  if (e.suspect) {
    const high = riskAtLeast(e.job.riskTier, "R2");
    checks.push(
      high
        ? check("exit", false, "the runtime gave a result and then exited with a failure", "suspect-exit")
        : check("exit", true, "the result was kept although the runtime exited with a failure"),
    );
  }
  return checks;
}

const artifactsOf = (e: LayerOneEvidence): Artifact[] =>
  e.outputs.flatMap((output) =>
    output.found === null
      ? []
      : [{ path: output.path, sha256: output.found.sha256, bytes: output.found.bytes }],
  );

/** Without a declared artifact the final text is the artifact of an agent's job. A program needs none. */
function finalText(e: LayerOneEvidence, artifacts: readonly Artifact[]): Check[] {
  if (!e.agent) return [];
  const isArtifact = artifacts.length === 0 || e.outputs.some((output) => output.fromResult);
  const empty = e.resultText === null || e.resultText.trim() === "";
  if (isArtifact && empty)
    return [check("final-text", false, "the agent ended without a final text", "empty-result")];
  if (isArtifact && e.resultTruncated)
    return [check("final-text", false, "the final text was cut off at the output limit", "result-truncated")];
  return [
    check("final-text", true, empty ? "no final text; the declared outputs are the result" : "present"),
  ];
}

function outputCheck(output: OutputFact): Check {
  const id = `output:${output.path}`;
  const path = `\`${output.path}\``;
  if (output.fault !== null) return check(id, false, output.fault, "unsafe-artifact");
  if (output.found === null)
    return output.required
      ? check(id, false, `${path} does not exist`, "missing-artifact")
      : check(id, true, `${path} is optional and was not made`);
  if (output.found.bytes === 0) return check(id, false, `${path} is empty`, "empty-artifact");
  const declared = output.declaredSha256?.toLowerCase() ?? output.found.sha256;
  return declared === output.found.sha256
    ? check(id, true, `${path}: ${output.found.bytes} bytes, SHA-256 ${output.found.sha256}`)
    : check(id, false, `${path} has SHA-256 ${output.found.sha256}, declared ${declared}`, "artifact-hash");
}

/** A check proves nothing when the work could rewrite it. */
function checkScripts(e: LayerOneEvidence, changes: Attributed): { checks: Check[]; edited: boolean } {
  const changed = new Set([...e.changes.created, ...e.changes.modified, ...e.changes.deleted]);
  const isOutput = outputOf({ cwdPrefix: e.cwdPrefix, outputs: e.outputs.map((output) => output.path) });
  const isOwned = ownedBy({ cwdPrefix: e.cwdPrefix, ownedPaths: e.job.ownedPaths });
  const mine = new Set([...changes.own, ...(e.ownWorktree ? e.changes.ignored : [])]);
  const checks: Check[] = [];
  let edited = false;
  for (const verification of e.verification) {
    // Ignored in an own worktree, so no boundary counts it; an agent that installs what its checks need does no wrong either.
    const installed = verification.installed.filter((path) => mine.has(path));
    if (installed.length > 0) {
      edited = true;
      checks.push(
        check(
          `check-packages:${verification.index}`,
          true,
          `the job changed ${names(installed)} of the packages that the check may load`,
        ),
      );
    }
    const touched = verification.files.filter((file) => changed.has(file.path));
    if (touched.length === 0) continue;
    const foreign = touched.filter((file) => !file.implied && !isOutput(file.path) && !isOwned(file.path));
    if (foreign.length > 0)
      checks.push(
        check(
          `check-script:${verification.index}`,
          false,
          `${names(foreign.map((file) => file.path))}, which the check runs, changed since the job's base and is not owned by the job`,
          "check-changed",
        ),
      );
    else if (touched.some((file) => !file.reads && mine.has(file.path))) edited = true;
  }
  return { checks, edited };
}

function verificationCheck(v: VerificationFact): Check {
  const command = `\`${v.argv.join(" ")}\``;
  const outcome = (ok: boolean, detail: string, code: string | null): Check => ({
    id: `verification:${v.index}`,
    ok,
    detail,
    code,
    exitCode: v.exitCode,
    wallMs: v.wallMs,
  });
  if (!v.ran)
    return outcome(false, `${command} was not run: ${v.reason ?? "unknown reason"}`, "check-not-run");
  if (v.spawnError !== null)
    return outcome(false, `${command} could not be started (${v.spawnError})`, "check-not-started");
  if (v.timedOut) return outcome(false, `${command} did not end in time`, "check-timed-out");
  if (v.exitCode === 0 && v.signal === null) return outcome(true, `${command} exited 0`, null);
  const how = v.exitCode === null ? `was ended by ${v.signal ?? "a signal"}` : `exited ${v.exitCode}`;
  const last = lastLine(v.stderrTail) || lastLine(v.stdoutTail);
  return outcome(false, `${command} ${how}${last === "" ? "" : `: ${last}`}`, "check-failed");
}

const lastLine = (text: string): string => (text.trim().split("\n").at(-1) ?? "").trim().slice(0, 200);

function contradiction(claim: ClaimFact): Check {
  const said: Readonly<Record<ClaimFact["kind"], string>> = {
    hash: `SHA-256 ${claim.claimed}`,
    "file-created": "was created",
    "file-deleted": "was deleted",
    "check-passed": "passed",
    "check-failed": "failed",
  };
  return check(
    `contradiction:${claim.subject}`,
    false,
    `the output says \`${claim.subject}\`: ${said[claim.kind]}; recorded: ${claim.recorded}`,
    "contradiction",
  );
}

const fixtureCheck = (fixture: FixtureResult): Check =>
  check(
    "injection-fixture",
    fixture.status !== "failed",
    fixture.detail,
    fixture.status === "passed"
      ? null
      : fixture.status === "failed"
        ? "injection-fixture"
        : "fixture-not-run",
  );

/** An agent that used no tool, changed nothing and left nothing but a few words. */
function isZeroWork(e: LayerOneEvidence, changes: Attributed, artifacts: readonly Artifact[]): boolean {
  if (!e.agent || changes.own.length > 0 || artifacts.some((artifact) => artifact.bytes > 0)) return false;
  if (e.toolEvents !== null) return e.toolEvents === 0;
  return (e.resultText ?? "").split(/\s+/).filter((word) => word !== "").length < 4;
}
