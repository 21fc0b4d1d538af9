/** The mock arbiter: reads the evidence bundle out of its prompt and answers what the script says, in the verdict's shape. */
import type { MockVerdict } from "./script.ts";

interface Named {
  readonly jobId: string;
  readonly attempt: number;
  readonly treeSha256: string | null;
  /** Reviews that the answer has to name, as the template of the brief lists them. */
  readonly reviews: readonly string[];
}

/** The verdict document as text. A prompt without a bundle answers prose, as a confused arbiter would. */
export function answerVerdict(prompt: string, script: Readonly<Record<string, MockVerdict>>): string {
  const frame = verdictFrame(prompt);
  if (frame === null) return "There is no evidence bundle in this prompt.";
  const jobs = frame.jobs.map((named) => judged(named, script[named.jobId] ?? script["*"] ?? "pass"));
  const verdicts = jobs.map((job) => job.verdict);
  const overall = verdicts.includes("fail") ? "fail" : verdicts.includes("blocked") ? "blocked" : "pass";
  return JSON.stringify({
    schemaVersion: 1,
    bundleSha256: frame.bundleSha256,
    nonce: frame.nonce,
    overall,
    jobs,
  });
}

function judged(named: Named, scripted: MockVerdict) {
  const answer: Exclude<MockVerdict, string> =
    typeof scripted === "string" ? { verdict: scripted } : scripted;
  return {
    jobId: named.jobId,
    attempt: named.attempt,
    treeSha256: named.treeSha256,
    verdict: answer.verdict,
    reasons: answer.reasons ?? [
      `scripted: ${answer.verdict}`,
      ...named.reviews.map((review) => `${review}: scripted: ${answer.verdict}`),
    ],
    unsupportedClaims: [],
    contradictions: [],
    unresolved: [],
  };
}

interface Frame {
  readonly bundleSha256: string;
  readonly nonce: string;
  readonly jobs: readonly Named[];
}

/** The first JSON object in the prompt that names a nonce, a digest and attempts: the answer's template or the bundle itself. */
function verdictFrame(prompt: string): Frame | null {
  const digest = /"?bundleSha256"?[`"*: ]+([0-9a-f]{64})/.exec(prompt)?.[1] ?? null;
  const nonce = /"?nonce"?[`"*: ]+([A-Za-z0-9_-]{1,64})/.exec(prompt)?.[1] ?? null;
  if (digest === null || nonce === null) return null;
  for (const candidate of jsonObjects(prompt)) {
    const list = candidate["jobs"] ?? candidate["attempts"];
    if (!Array.isArray(list)) continue;
    const jobs = list.flatMap((entry: unknown) => (isNamed(entry) ? [pickNamed(entry)] : []));
    if (jobs.length > 0 && jobs.length === list.length) return { bundleSha256: digest, nonce, jobs };
  }
  return null;
}

const isNamed = (entry: unknown): entry is Named =>
  typeof entry === "object" &&
  entry !== null &&
  typeof (entry as Named).jobId === "string" &&
  Number.isInteger((entry as Named).attempt);

const pickNamed = (entry: Named & { readonly reasons?: unknown }): Named => ({
  jobId: entry.jobId,
  attempt: entry.attempt,
  treeSha256: typeof entry.treeSha256 === "string" ? entry.treeSha256 : null,
  reviews: (Array.isArray(entry.reasons) ? entry.reasons : []).flatMap(
    (reason: unknown) => /^<([a-z0-9][a-z0-9._-]*): /.exec(String(reason))?.[1] ?? [],
  ),
});

/** Objects that begin a line, alone or in a fenced block; braces inside strings do not count. */
function* jsonObjects(text: string): Generator<Record<string, unknown>> {
  for (const start of text.matchAll(/^[ \t]*\{/gm)) {
    const from = start.index + start[0].length - 1;
    const to = closingBrace(text, from);
    if (to < 0) continue;
    try {
      const value: unknown = JSON.parse(text.slice(from, to + 1));
      if (typeof value === "object" && value !== null) yield value as Record<string, unknown>;
    } catch {
      // Not JSON: prose with a brace.
    }
  }
}

function closingBrace(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i += 1) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{") depth += 1;
    else if (char === "}") {
      depth -= 1;
      if (depth === 0) return i;
    }
  }
  return -1;
}
