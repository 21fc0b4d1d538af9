/** The evidence bundle: what an arbiter is shown, bounded, redacted and bound to one digest. */
import canonicalize from "canonicalize";
import { POLICY } from "../core/policy.ts";
import type { Attempt, Graph, PlanJob, State } from "../core/runtime.ts";
import { sha256 } from "../host/files.ts";
import { isProgram } from "./accept.ts";
import { type ElasticPiece, fitPieces, jsonBytes } from "./bundle-fit.ts";
import { arbiterPrompt } from "./bundle-prompt.ts";
import { currentAttempt } from "./current-attempt.ts";
import { openFindings } from "./review-findings.ts";

export interface AttemptRef {
  readonly jobId: string;
  readonly attempt: number;
}

/** For maps and sets of attempts: an id has no `#`. */
export const attemptKey = ({ jobId, attempt }: AttemptRef): string => `${jobId}#${attempt}`;

/** What one attempt left behind, already bounded by the reader; null means that there is none. */
export interface AttemptEvidence {
  readonly resultText: string | null;
  readonly diff: string | null;
  /** Output tails of the executed checks, by check id. */
  readonly checkTails: readonly { readonly id: string; readonly text: string }[];
  /** Where the whole text is, for what does not fit inline. */
  readonly resultPath?: string | null;
  readonly diffPath?: string | null;
}

interface BundleInput {
  readonly graph: Graph;
  readonly state: State;
  readonly attempts: readonly AttemptRef[];
  readonly evidence: (jobId: string, attempt: number) => AttemptEvidence;
  readonly redact: (text: string) => string;
  readonly nonce: string;
  /** What came of merging the unaccepted work and running its checks on it, one for each repository with such work. */
  readonly unions?: readonly BundledUnion[];
  /** Bytes of `text`; default ARBITER_MAX_BYTES. */
  readonly maxBytes?: number;
}

interface BundledAttempt extends AttemptRef {
  readonly treeSha256: string | null;
}

/** One attempt as the arbiter sees it. Text of other parties is in `claims`, `diff`, `checks[].tail` and the intent. */
export interface BundledWork {
  readonly jobId: string;
  readonly attempt: number;
  readonly treeSha256: string | null;
  /** A plain program did it: no model is inside, so it has no family and makes no claims. */
  readonly program: boolean;
  readonly task: string | null;
  readonly riskTier: string;
  readonly tierDerivation: readonly string[];
  readonly runtime: string;
  readonly model: string | null;
  readonly family: string | null;
  readonly dependsOn: readonly { readonly jobId: string; readonly standing: string }[];
  readonly ownedPaths: readonly string[];
  readonly flags: readonly string[];
  readonly escalation: readonly string[];
  readonly injectionFixture: string;
  readonly diffStat: string | null;
  readonly intent: string;
  readonly expectedOutput: string;
  readonly reviewChecks: readonly string[];
  readonly artifacts: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
  readonly changedPaths: readonly string[];
  readonly checks: readonly BundledCheck[];
  readonly checkTails: readonly { readonly id: string; readonly text: string }[];
  readonly claims: string;
  readonly openQuestion: string;
  readonly diff: string;
  /** Reviews whose finding a verdict on this work has to answer by name. */
  readonly findings: readonly BundledFinding[];
}

/** The trial merge of work that is not accepted yet over what is. */
export interface BundledUnion {
  readonly commit: string;
  readonly jobs: readonly string[];
  readonly over: readonly string[];
  readonly checks: readonly { readonly jobId: string; readonly check: string; readonly ok: boolean }[];
}

/** A review that found fault with the work. Its text is here when it is not among the attempts themselves. */
export interface BundledFinding {
  readonly review: string;
  readonly attempt: number;
  readonly text: string;
}

interface BundledCheck {
  readonly id: string;
  readonly ok: boolean;
  readonly detail: string;
  readonly exitCode: number | null;
}

export interface BundleDocument {
  readonly schemaVersion: 1;
  readonly runId: string;
  /** Digest of the call's nonce: two calls about the same evidence differ in theirs, and so in the bundle's. */
  readonly call: string;
  readonly outcome: string | null;
  readonly constraints: readonly string[];
  readonly acceptance: readonly string[];
  readonly unions: readonly BundledUnion[];
  readonly work: readonly BundledWork[];
}

export interface Bundle {
  readonly bundle: BundleDocument;
  /** Canonical JSON of `bundle`: the bytes that `sha256` is taken over. */
  readonly text: string;
  readonly sha256: string;
  /** The arbiter's whole brief, Markdown. */
  readonly prompt: string;
  /** Exactly the attempts a verdict must name. */
  readonly attempts: readonly BundledAttempt[];
  /** One sentence for each thing that was cut or left out. */
  readonly omitted: readonly string[];
}

/**
 * Builds the bundle within `maxBytes`. Facts come first; free text and lists share what is left evenly. When even the
 * facts of all attempts are too much, the last attempts are left for a further call: `attempts` says which are in.
 * Throws when an attempt is unknown: a bug of the caller.
 */
export function buildBundle(input: BundleInput): Bundle {
  const limit = input.maxBytes ?? POLICY.ARBITER_MAX_BYTES.value;
  const context = contextOf(input);
  const found = lookUp(input);
  const parts = input.attempts.slice(0, POLICY.ARBITER_MAX_ATTEMPTS.value).map(found.partOf);
  let count = parts.length;
  while (count > 1 && factBytes(context, parts.slice(0, count)) > limit) count -= 1;
  const shown = new Set(input.attempts.slice(0, count).map(name));
  const works = parts.slice(0, count).map(
    ({ job, attempt, facts }): Work => ({
      facts,
      elastic: elasticOf({
        job,
        attempt,
        redact: input.redact,
        evidence: input.evidence(job.id, attempt.attempt),
        findings: findingsOf(input, { reviews: found.reviewsOf(job.id), shown }),
      }),
    }),
  );
  const { document, omitted } = withinLimit(context, works, limit);
  const text = canonical(document);
  const digest = sha256(text);
  return {
    bundle: document,
    text,
    sha256: digest,
    prompt: arbiterPrompt({ document, sha256: digest, nonce: input.nonce, omitted }),
    attempts: document.work.map(({ jobId, attempt, treeSha256 }) => ({ jobId, attempt, treeSha256 })),
    omitted: [
      ...omitted,
      ...input.attempts.slice(count).map((ref) => `${name(ref)}: left for a further call`),
    ],
  };
}

const name = (ref: AttemptRef): string => `\`${ref.jobId}\` attempt ${ref.attempt}`;

function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error("the bundle holds a value that JSON cannot state");
  return text;
}

type Context = Omit<BundleDocument, "work">;

function contextOf({ graph, state, redact, nonce, unions = [] }: BundleInput): Context {
  return {
    schemaVersion: 1,
    runId: state.runId,
    call: sha256(`call:${nonce}`).slice(0, 16),
    outcome: graph.outcome === null ? null : redact(graph.outcome).slice(0, 2_000),
    constraints: graph.constraints.slice(0, 10).map((text) => redact(text).slice(0, 500)),
    acceptance: graph.acceptance.slice(0, 10).map((text) => redact(text).slice(0, 500)),
    unions: unions.slice(0, UNIONS_MAX).map(boundUnion),
  };
}

const UNIONS_MAX = 8;

const boundUnion = (union: BundledUnion): BundledUnion => ({
  ...union,
  jobs: union.jobs.slice(0, 40),
  over: union.over.slice(0, 40),
  checks: union.checks.slice(0, 60),
});

interface Work {
  readonly facts: BundledWork;
  /** Field of `facts` → its whole value. */
  readonly elastic: ReadonlyMap<keyof BundledWork, ElasticPiece>;
}

interface Part {
  readonly job: PlanJob;
  readonly attempt: Attempt;
  readonly facts: BundledWork;
}

interface LookUp {
  readonly partOf: (ref: AttemptRef) => Part;
  readonly reviewsOf: (jobId: string) => readonly string[];
}

/** The graph is read once for all attempts of a call: it can be of 10,000 jobs. */
function lookUp(input: BundleInput): LookUp {
  const { graph, state, attempts } = input;
  const wanted = new Set(attempts.map((ref) => ref.jobId));
  const jobs = new Map(graph.jobs.filter((job) => wanted.has(job.id)).map((job) => [job.id, job]));
  const reviews = openFindings(graph, state);
  return {
    partOf: (ref) => {
      const job = jobs.get(ref.jobId);
      const records = state.jobs[ref.jobId]?.attemptRecords ?? [];
      const attempt = records.find((record) => record.attempt === ref.attempt);
      if (job === undefined || attempt === undefined) throw new Error(`the run has no ${name(ref)}`);
      return { job, attempt, facts: factsOf(input, job, attempt) };
    },
    reviewsOf: (jobId) => reviews.get(jobId) ?? [],
  };
}

const EMPTY = {
  intent: "",
  expectedOutput: "",
  reviewChecks: [],
  ownedPaths: [],
  artifacts: [],
  changedPaths: [],
  checks: [],
  checkTails: [],
  claims: "",
  openQuestion: "",
  diff: "",
  findings: [],
} as const satisfies Partial<BundledWork>;

function factsOf({ state, redact }: BundleInput, job: PlanJob, attempt: Attempt): BundledWork {
  return {
    jobId: job.id,
    attempt: attempt.attempt,
    treeSha256: attempt.treeSha256,
    program: isProgram(job, attempt.runtime),
    task: job.task,
    riskTier: attempt.riskTier,
    tierDerivation: attempt.tierDerivation.slice(0, 10),
    runtime: attempt.runtime,
    model: attempt.model,
    family: attempt.family,
    dependsOn: job.dependsOn.slice(0, 10).map((id) => ({ jobId: id, standing: standingOf(state, id) })),
    flags: attempt.flags,
    escalation: attempt.c3EscalationReason.slice(0, 20),
    injectionFixture:
      isProgram(job, attempt.runtime) && attempt.injectionFixture === "not-run"
        ? "not-applicable"
        : attempt.injectionFixture,
    diffStat: attempt.diffStat === null ? null : redact(attempt.diffStat).slice(0, 300),
    ...EMPTY,
  };
}

function standingOf(state: State, jobId: string): string {
  const attempt = currentAttempt(state, jobId);
  return attempt === null
    ? "no attempt"
    : `attempt ${attempt.attempt}, ${attempt.status}, ${attempt.acceptance}`;
}

function elasticOf(from: {
  readonly job: PlanJob;
  readonly attempt: Attempt;
  readonly redact: (text: string) => string;
  readonly evidence: AttemptEvidence;
  readonly findings: readonly BundledFinding[];
}): ReadonlyMap<keyof BundledWork, ElasticPiece> {
  const { job, attempt, redact, evidence, findings } = from;
  const of = name({ jobId: job.id, attempt: attempt.attempt });
  const piece = (label: string, value: ElasticPiece["value"], path: string | null = null): ElasticPiece => ({
    label: `${of}, ${label}`,
    value,
    path,
  });
  const intent = job.prompt ?? (job.skill === null ? "" : `Use the skill ${job.skill}.`);
  return new Map<keyof BundledWork, ElasticPiece>([
    ["intent", piece("intent", redact(intent))],
    ["ownedPaths", piece("owned paths", job.ownedPaths.map(redact))],
    ["expectedOutput", piece("expected output", redact(job.expectedOutput))],
    ["reviewChecks", piece("checks for the reviewer", job.checks.map(redact))],
    [
      "checks",
      piece(
        "check results",
        attempt.checks.map((check) => checkOf(check, redact)),
      ),
    ],
    [
      "artifacts",
      piece(
        "artifacts",
        attempt.artifacts.map((artifact) => ({ ...artifact, path: redact(artifact.path) })),
      ),
    ],
    ["changedPaths", piece("changed paths", attempt.changedPaths.map(redact))],
    ["claims", piece("final text", redact(evidence.resultText ?? ""), evidence.resultPath ?? null)],
    ["openQuestion", piece("open question", redact(attempt.question ?? ""))],
    ["diff", piece("diff", redact(evidence.diff ?? ""), evidence.diffPath ?? null)],
    ["findings", piece("findings of reviews", findings)],
    [
      "checkTails",
      piece(
        "check output",
        evidence.checkTails.map(({ id, text }) => ({ id, text: redact(text) })),
      ),
    ],
  ]);
}

/** Of a review that is judged in the same call, the name is enough: its text is among the attempts. */
function findingsOf(
  input: BundleInput,
  o: { readonly reviews: readonly string[]; readonly shown: ReadonlySet<string> },
): BundledFinding[] {
  return o.reviews.map((review) => {
    const attempt = currentAttempt(input.state, review)?.attempt ?? 0;
    const shown = o.shown.has(name({ jobId: review, attempt }));
    const text = shown ? "" : (input.evidence(review, attempt).resultText ?? "");
    return { review, attempt, text: input.redact(text).slice(0, 8_000) };
  });
}

const checkOf = (check: Attempt["checks"][number], redact: (text: string) => string): BundledCheck => ({
  id: check.id,
  ok: check.ok,
  detail: redact(check.detail).slice(0, 500),
  exitCode: check.exitCode,
});

/** Room that cut texts need at least, so that each attempt still shows something. */
const MIN_TEXT_BYTES = 600;

const factBytes = (context: Context, parts: readonly Part[]): number =>
  jsonBytes({ ...context, work: parts.map((part) => part.facts) }) + parts.length * MIN_TEXT_BYTES;

function withinLimit(
  context: Context,
  works: readonly Work[],
  limit: number,
): { readonly document: BundleDocument; readonly omitted: readonly string[] } {
  const keys = works.flatMap((work) => [...work.elastic.keys()]);
  const pieces = works.flatMap((work) => [...work.elastic.values()]);
  const bare = jsonBytes({ ...context, work: works.map((work) => work.facts) });
  const fitted = fitPieces(pieces, limit - bare);
  let at = 0;
  const work = works.map(({ facts, elastic }) => {
    const filled = new Map<string, unknown>(Object.entries(facts));
    for (let i = 0; i < elastic.size; i += 1, at += 1) filled.set(keys[at] ?? "", fitted[at]?.value);
    return Object.fromEntries(filled) as unknown as BundledWork;
  });
  return {
    document: { ...context, work },
    omitted: fitted.flatMap((piece) => (piece.omission === null ? [] : [piece.omission])),
  };
}
