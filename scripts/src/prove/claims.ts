/**
 * Claims in a final text that can be compared with recorded facts: digests, files said to be created or deleted, results of
 * declared checks. Only forms that leave no room for another reading count, one claim a line; prose is for the reviewer. Pure.
 */

export interface Claim {
  readonly kind: "hash" | "file-created" | "file-deleted" | "check-passed" | "check-failed";
  /** A path, or the command line of a check. */
  readonly subject: string;
  /** The digest, `exists`, `absent`, `passed` or `failed`. */
  readonly claimed: string;
}

const MAX_CLAIMS = 200;
const MAX_LINE = 2_000;

const SHA256SUM = /^\s*([0-9a-f]{64})\s[ *]?(\S.*?)\s*$/i;
const BSD_SUM = /^\s*SHA-?256\s*\(([^()]+)\)\s*=\s*([0-9a-f]{64})\s*$/i;
const LABELLED =
  /^\s*(?:[-*|]\s*)?`([^`]+)`\s*[:|—–-]?\s*SHA-?256(?:\s+(?:digest|hash))?\s*[:=|]?\s*`?([0-9a-f]{64})`?[\s|.]*$/i;
const FILE_DONE =
  /^\s*[-*]\s+(Created|Wrote|Added|Generated|Deleted|Removed)\s+(?:(?:the|a|new)\s+)*(?:file\s+)?`([^`]+)`\s*\.?(?:\s+[-—–(].*)?$/i;
const CHECK_RESULT =
  /^\s*(?:[-*|]\s*)?`([^`]+)`\s*(?::|\||—|–|-|→|=>)?\s*(passed|passes|pass|ok|failed|fails|fail|exit(?:ed)?(?:\s+(?:code|with))*\s*:?\s*\d+)[\s|.]*$/i;
/** A line about another moment or another place says nothing about this attempt. */
const ELSEWHERE =
  /\b(?:before|was|were|old|previous|previously|original|originally|baseline|initially|first|expected|should|would)\b/i;
const FILE_NAME =
  /\.(?:md|txt|json|ya?ml|toml|csv|html?|css|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|sh|sql|xml|svg)$/i;

export function findClaims(text: string): readonly Claim[] {
  const claims = new Map<string, Claim>();
  const add = (claim: Claim): void => {
    // The last word on a subject counts: an earlier line may tell how it was on the way.
    claims.set(`${claim.kind.split("-")[0]} ${claim.subject}`, claim);
  };
  let fenced = false;
  for (const line of text.split("\n")) {
    if (claims.size >= MAX_CLAIMS) break;
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    else if (line.length <= MAX_LINE) {
      const claim = sumClaim(line) ?? (isAboutNow(line) ? wordedClaim(line, fenced) : null);
      if (claim !== null) add(claim);
    }
  }
  for (const claim of structuredHashes(text)) if (claims.size < MAX_CLAIMS) add(claim);
  return [...claims.values()];
}

/** Names in backticks do not say when. */
const isAboutNow = (line: string): boolean => !ELSEWHERE.test(line.replace(/`[^`]*`/g, ""));

/** A line as checksum programs print it. */
function sumClaim(line: string): Claim | null {
  const sum = SHA256SUM.exec(line);
  if (sum !== null) return hash(sum[2], sum[1]);
  const labelled = BSD_SUM.exec(line);
  return labelled === null ? null : hash(labelled[1], labelled[2]);
}

function wordedClaim(line: string, fenced: boolean): Claim | null {
  const labelled = LABELLED.exec(line);
  if (labelled !== null) return hash(labelled[1], labelled[2]);
  return fenced ? null : (fileClaim(line) ?? checkClaim(line));
}

function hash(path = "", digest = ""): Claim | null {
  return isPath(path) ? { kind: "hash", subject: path, claimed: digest.toLowerCase() } : null;
}

function fileClaim(line: string): Claim | null {
  const [, verb = "", path = ""] = FILE_DONE.exec(line) ?? [];
  if (!isPath(path) || !FILE_NAME.test(path)) return null;
  return /^(?:deleted|removed)$/i.test(verb)
    ? { kind: "file-deleted", subject: path, claimed: "absent" }
    : { kind: "file-created", subject: path, claimed: "exists" };
}

function checkClaim(line: string): Claim | null {
  const [, command, result] = CHECK_RESULT.exec(line) ?? [];
  if (command === undefined || result === undefined) return null;
  const code = /\d+/.exec(result)?.[0];
  const passed = code === undefined ? /^(?:pass|ok)/i.test(result) : Number(code) === 0;
  return passed
    ? { kind: "check-passed", subject: command, claimed: "passed" }
    : { kind: "check-failed", subject: command, claimed: "failed" };
}

const isPath = (text: string): boolean =>
  text !== "" && !/[\s*?<>|"]|^-|^[a-z]+:\/\/|\(\)/i.test(text) && text.length <= 500;

/** An answer that is one JSON document may state digests as `{path, sha256}`. */
function* structuredHashes(text: string): Generator<Claim> {
  const body = /^\s*```(?:json)?\n([\s\S]*?)\n```\s*$/.exec(text)?.[1] ?? text;
  if (!/^\s*[{[]/.test(body)) return;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return;
  }
  const stack: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (typeof item.value !== "object" || item.value === null || item.depth > 20) continue;
    const { path, file, sha256 } = item.value as Record<string, unknown>;
    const subject = typeof path === "string" ? path : file;
    if (typeof subject === "string" && typeof sha256 === "string" && /^[0-9a-f]{64}$/i.test(sha256)) {
      const claim = hash(subject, sha256);
      if (claim !== null) yield claim;
    }
    for (const child of Object.values(item.value)) stack.push({ value: child, depth: item.depth + 1 });
  }
}

/** The question that a text ends with, at most 500 characters; null when it does not end with one. */
export function trailingQuestion(text: string): string | null {
  const paragraphs = text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim());
  const last = paragraphs.at(-1) ?? "";
  if (/^(?:```|~~~)|(?:```|~~~)$/.test(last)) return null;
  const plain = last.replace(/[\s*_"'`)\]’”»]+$/, "");
  if (!/[?？؟]$/.test(plain)) return null;
  const sentence = plain.split(/(?<=[.!?。？؟])\s+/).at(-1) ?? plain;
  return sentence.slice(-500);
}
