/** An arbiter's answer: read as hostile text, bound to what was asked, then read at its least favourable. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Verdict } from "../core/generated/verdict.ts";
import validateVerdict from "../core/generated/verdict.validate.js";
import { err, ok, type Result } from "../core/result.ts";
import type { Attempt, Graph, State } from "../core/runtime.ts";
import { currentAttempt, MOCK_RUNTIME } from "./current-attempt.ts";
import { duplicateKeys, VERDICT_MAX_CHARS, verdictObjects } from "./verdict-text.ts";

export type { Verdict };
export type VerdictWord = Verdict["overall"];
export type Arbiter = State["arbiters"][number];
type JobVerdict = Verdict["jobs"][number];

type VerdictFaultCode = "stale-verdict" | "wrong-attempts" | "malformed-verdict" | "mock-arbiter";
interface VerdictFault {
  readonly code: VerdictFaultCode;
  readonly detail: string;
}

/** How one attempt stands after a verdict. */
export interface EffectiveVerdict {
  readonly jobId: string;
  readonly attempt: number;
  /** What the arbiter's words about this attempt alone come to. */
  readonly own: VerdictWord;
  /** `own`, lowered by the dependencies it stands on. */
  readonly verdict: VerdictWord;
  /** The dependency whose outcome it shares, when that is what lowered it. */
  readonly sharedWith: string | null;
  readonly reasons: readonly string[];
}

/**
 * Reads the one verdict of a final message. Errors, all `malformed-verdict`: nothing there, nothing valid, several
 * that differ, words beside it, a key stated twice, or text beyond VERDICT_MAX_CHARS.
 */
export function parseVerdict(text: string): Result<Verdict, Diagnostic[]> {
  if (text.length > VERDICT_MAX_CHARS)
    return malformed([`the answer has ${text.length} characters; at most ${VERDICT_MAX_CHARS} are read`]);
  if (text.trim() === "") return malformed(["the answer is empty"]);
  const objects = verdictObjects(text);
  const last = objects.at(-1);
  if (last === undefined)
    return malformed(["the answer holds no JSON object with a `bundleSha256`; see `schema verdict`"]);
  const valid = objects.filter((object) => validateVerdict(object.value));
  const [only, ...more] = valid;
  if (only === undefined) {
    validateVerdict(last.value);
    return malformed(schemaFaults());
  }
  if (more.length > 0)
    return malformed([`the answer holds ${valid.length} different verdicts; exactly one is read`]);
  // What is said beside it may take it back: an example, or a template with another verdict in prose.
  const [before = "", after = ""] = text.split(only.source);
  if (!ALONE.test(`${before}\0${after}`))
    return malformed([
      "the answer says more than the verdict; the JSON object is read alone, or in one fence with nothing around it",
    ]);
  const twice = duplicateKeys(only.source);
  if (twice.length > 0)
    return malformed(
      twice.slice(0, 5).map((key) => `the key ${JSON.stringify(key.slice(0, 40))} is stated twice`),
    );
  return ok(only.value as Verdict);
}

const ALONE = /^\uFEFF?\s*(?:\0|`{3,}\w*\s*\0\s*`{3,})\s*$/;

function malformed(messages: readonly string[]): Result<Verdict, Diagnostic[]> {
  return err(messages.map((message) => ({ severity: "error", code: "malformed-verdict", message })));
}

function schemaFaults(): string[] {
  const errors = validateVerdict.errors ?? [];
  const shown = errors.slice(0, 10).map((fault) => {
    const name = fault.params["additionalProperty"];
    const extra = typeof name === "string" ? ` (${JSON.stringify(name.slice(0, 40))})` : "";
    return `\`${fault.instancePath === "" ? "/" : fault.instancePath}\` ${fault.message ?? "is wrong"}${extra}`;
  });
  return errors.length > 10 ? [...shown, `and ${errors.length - 10} more faults`] : shown;
}

/**
 * Does this verdict answer what this arbiter was asked, about work that has not changed since? Digest, nonce and trees
 * must be the bundle's, the attempts exactly the bundle's, and each still the finished, current attempt of its job.
 */
export function checkVerdict(input: {
  readonly verdict: Verdict;
  readonly arbiter: Arbiter;
  readonly state: State;
}): Result<Verdict, VerdictFault> {
  const fault = mockFault(input) ?? bindingFault(input) ?? attemptsFault(input) ?? treeFault(input);
  return fault === null ? ok(input.verdict) : err(fault);
}

type CheckInput = Parameters<typeof checkVerdict>[0];

function mockFault({ arbiter, state }: CheckInput): VerdictFault | null {
  if (arbiter.via !== "mock" && arbiter.runtime !== MOCK_RUNTIME) return null;
  const real = arbiter.attempts.find((asked) => attemptOf(state, asked)?.runtime !== MOCK_RUNTIME);
  if (real === undefined) return null;
  return {
    code: "mock-arbiter",
    detail: `the mock runtime judges only its own work, and attempt ${real.attempt} of \`${real.jobId}\` is not`,
  };
}

function bindingFault({ verdict, arbiter }: CheckInput): VerdictFault | null {
  const stale = (what: string): VerdictFault => ({
    code: "stale-verdict",
    detail: `${what}; judge \`${arbiter.arbiterId}\` again from its current prompt`,
  });
  if (arbiter.status === "superseded") return stale("a newer evidence bundle replaced the one it answers");
  if (verdict.bundleSha256 !== arbiter.bundleSha256)
    return stale("its `bundleSha256` is not that of the evidence bundle");
  if (verdict.nonce !== arbiter.nonce) return stale("its `nonce` is not that of the evidence bundle");
  return null;
}

function attemptsFault({ verdict, arbiter }: CheckInput): VerdictFault | null {
  const key = (ref: { readonly jobId: string; readonly attempt: number }): string =>
    `${ref.jobId} attempt ${ref.attempt}`;
  const asked = new Set(arbiter.attempts.map(key));
  const named = new Set<string>();
  const wrong: string[] = [];
  for (const job of verdict.jobs) {
    const name = key(job);
    if (named.has(name)) wrong.push(`names ${name} twice`);
    else if (!asked.has(name)) wrong.push(`names ${name}, which is not in the bundle`);
    named.add(name);
  }
  for (const name of asked) if (!named.has(name)) wrong.push(`does not name ${name}`);
  if (wrong.length === 0) return null;
  const more = wrong.length > 5 ? `; and ${wrong.length - 5} more` : "";
  return { code: "wrong-attempts", detail: `it ${wrong.slice(0, 5).join("; ")}${more}` };
}

function treeFault({ verdict, arbiter, state }: CheckInput): VerdictFault | null {
  const trees = new Map(arbiter.attempts.map((asked) => [asked.jobId, asked.treeSha256]));
  for (const job of verdict.jobs) {
    const current = currentAttempt(state, job.jobId);
    const name = `attempt ${job.attempt} of \`${job.jobId}\``;
    const stale = (detail: string): VerdictFault => ({ code: "stale-verdict", detail });
    if (job.treeSha256 !== trees.get(job.jobId))
      return stale(`its \`treeSha256\` for ${name} is not the bundle's`);
    if (current === null || current.attempt !== job.attempt)
      return stale(`${name} is no longer the current one`);
    if (current.status !== "success") return stale(`${name} reads \`${current.status}\`, not \`success\``);
    if (current.treeSha256 !== job.treeSha256) return stale(`${name} changed after the bundle was made`);
  }
  return null;
}

function attemptOf(state: State, ref: { readonly jobId: string; readonly attempt: number }): Attempt | null {
  return state.jobs[ref.jobId]?.attemptRecords.find((attempt) => attempt.attempt === ref.attempt) ?? null;
}

/**
 * Each attempt's standing, in the graph's topological order. Only lowers: `pass` beside a contradiction, an unsupported
 * claim or a blocking question reads as `blocked`; so does every `pass` of a verdict whose `overall` fits neither what
 * it says nor what that comes to; and work above a dependency that did not pass shares that dependency's outcome.
 */
export function effectiveVerdicts(input: {
  readonly verdict: Verdict;
  readonly graph: Graph;
  readonly state: State;
}): EffectiveVerdict[] {
  return effectiveOfRound({ ...input, verdicts: [input.verdict] });
}

/** The same for all arbiters of a round together: what one judged may stand on what another one did. */
export function effectiveOfRound(input: {
  readonly verdicts: readonly Verdict[];
  readonly graph: Graph;
  readonly state: State;
  /** Reviews that found fault, by the job that they are about: a `pass` that does not name them is none. */
  readonly findings?: ReadonlyMap<string, readonly string[]>;
}): EffectiveVerdict[] {
  const own = input.verdicts.flatMap((verdict) => ownVerdicts(verdict, input.findings ?? new Map()));
  return shareDependencies({ graph: input.graph, state: input.state, own });
}

interface OwnVerdict {
  readonly jobId: string;
  readonly attempt: number;
  readonly own: VerdictWord;
  readonly reasons: readonly string[];
}

/** What the arbiter's words come to, each attempt by itself. */
function ownVerdicts(verdict: Verdict, findings: ReadonlyMap<string, readonly string[]>): OwnVerdict[] {
  const read = verdict.jobs.map((job) => ({ job, ...readOwn(job, findings.get(job.jobId) ?? []) }));
  const coherent =
    verdict.overall === worst(verdict.jobs.map((job) => job.verdict)) ||
    verdict.overall === worst(read.map((job) => job.own));
  return read.map(({ job, own, reasons }) => {
    const lowered = !coherent && own === "pass";
    return {
      jobId: job.jobId,
      attempt: job.attempt,
      own: lowered ? "blocked" : own,
      reasons: lowered
        ? [
            `contradiction: the verdict says overall \`${verdict.overall}\`, which its job verdicts do not come to`,
            ...reasons,
          ]
        : reasons,
    };
  });
}

function readOwn(
  job: JobVerdict,
  reviews: readonly string[],
): { readonly own: VerdictWord; readonly reasons: string[] } {
  const blocking = job.unresolved.filter((question) => question.blocking);
  const open = job.unresolved.filter((question) => !question.blocking);
  const unanswered = job.verdict === "pass" ? reviews.filter((review) => !answers(job, review)) : [];
  const doubt =
    job.contradictions.length + job.unsupportedClaims.length + blocking.length + unanswered.length > 0;
  return {
    own: job.verdict === "pass" && doubt ? "blocked" : job.verdict,
    // What lowers a verdict comes first: state keeps a bounded number of reasons.
    reasons: [
      ...unanswered.map((review) => `it does not answer the finding of \`${review}\``),
      ...job.contradictions.map((text) => `contradiction: ${text}`),
      ...job.unsupportedClaims.map((text) => `unsupported claim: ${text}`),
      ...blocking.map((question) => `blocking question: ${question.text}`),
      ...job.reasons,
      ...open.map((question) => `open question: ${question.text}`),
    ],
  };
}

/** The review's id as a word of its own: `review-a` does not answer for `review`. */
function answers(job: JobVerdict, review: string): boolean {
  const name = review.replace(/[.]/g, "\\.");
  const word = new RegExp(`(?:^|[^a-z0-9._-])${name}(?![a-z0-9_-]|\\.[a-z0-9])`, "i");
  return [...job.reasons, ...job.contradictions].some((text) => word.test(text));
}

const SEVERITY: Readonly<Record<VerdictWord, number>> = { pass: 0, blocked: 1, fail: 2 };
const worst = (words: readonly VerdictWord[]): VerdictWord =>
  words.reduce<VerdictWord>((a, b) => (SEVERITY[b] > SEVERITY[a] ? b : a), "pass");

/** `own` holds the verdicts of all arbiters of the round: sharing is judged once all have answered. */
function shareDependencies(input: {
  readonly own: readonly OwnVerdict[];
  readonly graph: Graph;
  readonly state: State;
}): EffectiveVerdict[] {
  const own = new Map(input.own.map((verdict) => [verdict.jobId, verdict]));
  const standing = new Map<string, VerdictWord>();
  const effective: EffectiveVerdict[] = [];
  for (const job of input.graph.jobs) {
    const mine = own.get(job.id);
    const alone = mine?.own ?? recordedStanding(input.state, job.id);
    const lower = lowestDependency(job.dependsOn, standing, alone);
    standing.set(job.id, lower?.verdict ?? alone);
    if (mine === undefined) continue;
    const reasons =
      lower === null
        ? mine.reasons
        : [`it stands on \`${lower.jobId}\`, whose work did not pass (${lower.verdict})`, ...mine.reasons];
    effective.push({
      ...mine,
      verdict: lower?.verdict ?? mine.own,
      sharedWith: lower?.jobId ?? null,
      reasons,
    });
  }
  return effective;
}

/** Work that this round did not judge stands as it is recorded: accepted passes, rejected fails, all else is undecided. */
function recordedStanding(state: State, jobId: string): VerdictWord {
  const attempt = currentAttempt(state, jobId);
  if (attempt === null || attempt.status !== "success") return "blocked";
  if (attempt.acceptance === "accepted") return "pass";
  return attempt.acceptance === "rejected" ? "fail" : "blocked";
}

function lowestDependency(
  dependsOn: readonly string[],
  standing: ReadonlyMap<string, VerdictWord>,
  alone: VerdictWord,
): { readonly jobId: string; readonly verdict: VerdictWord } | null {
  let lowest: { readonly jobId: string; readonly verdict: VerdictWord } | null = null;
  for (const jobId of dependsOn) {
    const verdict = standing.get(jobId) ?? "blocked";
    if (SEVERITY[verdict] > SEVERITY[lowest?.verdict ?? alone]) lowest = { jobId, verdict };
  }
  return lowest;
}
