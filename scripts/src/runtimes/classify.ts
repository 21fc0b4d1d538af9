/**
 * From what a runtime said about a failure to its class (contract: failure classes). The input is a terminal envelope, a
 * structured error or the tail of stderr, never the text of an answer. Every rule whose conditions all hold is a match;
 * the most specific match wins (a status and a text say more than either alone), the earlier one among equals.
 */
import { withoutEscapes } from "../core/escapes.ts";
import { FAILURE_RULES, type FailureClass } from "../core/runtime.ts";
import { asObject, asText, parseObject, valueAt } from "./json.ts";

export interface FailureSignal {
  /** HTTP status, when the runtime gave one or its message holds one in a known place. */
  readonly status: number | null;
  /** The runtime's or provider's own error name, e.g. `rate_limit`. */
  readonly code: string | null;
  readonly message: string | null;
}

export interface SignalRule {
  readonly class: FailureClass;
  readonly status?: number | { readonly from: number; readonly to: number };
  readonly code?: RegExp;
  readonly text?: RegExp;
}

/** A spent allowance, as against a short burst: the wait is hours, not seconds. */
const SPENT: readonly RegExp[] = [
  /\b(?:usage|session|weekly|daily|monthly|hourly|\d+-hour|plan|spend(?:ing)?|credit) (?:limit|window|quota)\b[^.\n]{0,60}\b(?:reached|exceeded|hit|spent|used up|exhausted|resets?)\b/i,
  /\b(?:hit|reached|exceeded) your (?!rate\b|retry\b)[^.\n]{0,30}\b(?:limit|quota|allowance)\b/i,
  /\bexceeded your current quota\b|\b(?:out of|insufficient|no remaining) (?:credits?|quota|balance|funds)\b|\bcredit balance is too low\b|\bquota (?:exceeded|exhausted)\b|\bpayment required\b/i,
];
/** Providers report both under the same status and code, so the text decides between the two. */
const SPENT_RULES: readonly SignalRule[] = SPENT.flatMap((text): SignalRule[] => [
  { class: "QUOTA", text },
  { class: "QUOTA", text, status: 429 },
  { class: "QUOTA", text, status: 403 },
  { class: "QUOTA", text, code: /rate_?limit|too_?many_?requests|resource_?exhausted/i },
]);

/** Adapters put their own rules before these. */
export const SIGNAL_RULES: readonly SignalRule[] = [
  ...SPENT_RULES,
  { class: "QUOTA", status: 402 },
  {
    class: "QUOTA",
    code: /insufficient_quota|quota_exceeded|usage_limit|billing|credit_balance|payment_required/i,
  },
  { class: "RATE_LIMIT", status: 429 },
  { class: "RATE_LIMIT", code: /^rate_?limit|too_?many_?requests|throttl|resource_?exhausted/i },
  {
    class: "RATE_LIMIT",
    text: /\brate[ -]?limit(?:s|ed|ing)?\b|\btoo many requests\b|\bplease wait and try again later\b|\bthrottl(?:ed|ing)\b/i,
  },
  { class: "CONTEXT_OVERFLOW", status: 413 },
  {
    class: "CONTEXT_OVERFLOW",
    code: /context_length|context_window|request_too_large|prompt_too_long|string_above_max_length/i,
  },
  {
    class: "CONTEXT_OVERFLOW",
    text: /\bprompt is too long\b|\bmaximum context length\b|\bcontext (?:length|window)\b[^.\n]{0,60}\b(?:exceed(?:s|ed)?|too (?:long|large|small)|full)\b|\b(?:exceeds?|exceeded|over) the (?:model'?s )?(?:context|maximum number of (?:input )?tokens|maximum (?:input )?tokens?)\b|\binput token count\b[^\n]{0,80}\bexceeds\b|\btoo many (?:input )?tokens\b/i,
  },
  { class: "MODEL_UNAVAILABLE", status: 404 },
  { class: "MODEL_UNAVAILABLE", code: /model_?not_?found|model_?unavailable|unknown_?model|invalid_?model/i },
  {
    class: "MODEL_UNAVAILABLE",
    text: /\bissue with the selected model\b|\b(?:unknown|no such|invalid|unsupported) model\b|\bmodels?[ /:`'"][^\n]{0,80}?\b(?:does not exist|do(?:es)? not have access|not found|is not (?:found|supported|available)|was not found|not available|has been (?:deprecated|retired))\b/i,
  },
  { class: "AUTH", status: 401 },
  { class: "AUTH", status: 403 },
  {
    class: "AUTH",
    code: /^(?:authentication|unauthori[sz]ed|unauthenticated|invalid_api_key|permission_error|oauth|forbidden)/i,
  },
  {
    class: "AUTH",
    text: /\bnot logged in\b|\bplease (?:run|use) \S{0,20} ?\/?login\b|\b(?:invalid|incorrect|missing|expired|no) (?:x-)?api[ -]?key\b|\bapi key (?:is )?(?:not valid|invalid|missing|not set|not found|expired)\b|\bmissing environment variable\b|\bunauthori[sz]ed\b|\bauthentication (?:failed|required|error)\b|\btoken (?:has |is )?expired\b|\bmust specify the \w+_API_KEY\b|\bset an auth(?:entication)? method\b|\bno (?:auth|credentials)[^.\n]{0,20}\b(?:found|configured|set)\b/i,
  },
  { class: "NETWORK", status: { from: 500, to: 599 } },
  { class: "NETWORK", status: 408 },
  {
    class: "NETWORK",
    code: /^(?:server_error|internal_?server_?error|api_error|overloaded|service_unavailable|unavailable|internal$)|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|EHOSTUNREACH|ENETUNREACH|UND_ERR/i,
  },
  {
    class: "NETWORK",
    text: /\bconnection\b[^.\n]{0,40}\b(?:lost|refused|reset|closed|aborted|timed out|error)\b|\bsocket (?:hang up|connection|closed)\b|\bstream (?:disconnected|closed|ended|interrupted)\b|\bnetwork (?:error|is unreachable|failure)\b|\bfetch failed\b|\b(?:request|connect(?:ion)?|operation|gateway) tim(?:ed|e)[ -]?out\b|\bECONN(?:RESET|REFUSED|ABORTED)\b|\bE(?:TIMEDOUT|NOTFOUND|PIPE|HOSTUNREACH|NETUNREACH)\b|\bEAI_AGAIN\b|\bhigh demand\b|\boverloaded\b|\b(?:service|temporarily) unavailable\b|\bbad gateway\b|\binternal server error\b|\bempty or malformed response\b|\bpremature close\b|\b(?:could not|couldn't) (?:resolve host|connect)\b/i,
  },
  {
    class: "BAD_FLAG",
    text: /\b(?:unknown|unrecognized|unexpected|invalid) (?:option|flag|argument|subcommand)s?\b|\berror: the following required arguments\b|\b(?:option|argument) ['"`]?--?[\w-]+[^\n]{0,40}\b(?:argument missing|requires an argument|needs a value)\b|\binvalid value\b[^\n]{0,60}\bfor ['"`]?--?[\w-]+/i,
  },
  {
    // A session that is not there will not be there the next time either.
    class: "UNKNOWN",
    text: /\b(?:no (?:session|conversation) found\b|session not found\b|no rollout found\b|error resuming session\b|session id \S{1,80} is already in use\b)/i,
  },
  {
    class: "SANDBOX",
    text: /\bsandbox\b[^.\n]{0,60}\b(?:denied|failed|unavailable|not (?:available|supported|found)|refused|violation)\b|\bbwrap: |\blandlock\b|\bseccomp\b|\bread-only file system\b/i,
  },
  {
    class: "PERMISSION",
    text: /\bpermission (?:denied|requested|required)\b|\brequires approval\b|\bapproval (?:is )?required\b|\bnot running in a trusted directory\b|\b(?:workspace|folder|directory) (?:is )?(?:not trusted|untrusted)\b|\bdo you trust\b|\bworkspace trust\b|\bdenied by policy\b|\brejected permission\b/i,
  },
  {
    class: "RUNTIME_CRASH",
    text: /\bpanicked at\b|\bsegmentation fault\b|\bcore dumped\b|\bheap (?:out of memory|limit)\b|\bout of memory\b|\bcannot find module\b|\bERR_MODULE_NOT_FOUND\b|\billegal instruction\b|\berror while loading shared libraries\b/i,
  },
];

const WEIGHT = { code: 4, status: 3, text: 2 } as const;

/**
 * The class of a signal, or null when no rule speaks for it. A code `class:NAME` is a class that somebody entitled to it
 * named outright: a mock's script, an operator's `failures` entry.
 */
export function classifySignal(signal: FailureSignal, own: readonly SignalRule[] = []): FailureClass | null {
  const named = /^class:([A-Z_]+)$/.exec(signal.code ?? "")?.[1];
  if (named !== undefined && Object.hasOwn(FAILURE_RULES, named)) return named as FailureClass;
  let best: { weight: number; class: FailureClass } | null = null;
  for (const rule of [...own, ...SIGNAL_RULES]) {
    const weight = weightOf(rule, signal);
    if (weight > 0 && (best === null || weight > best.weight)) best = { weight, class: rule.class };
  }
  return best?.class ?? null;
}

/** 0 when a condition of the rule does not hold. */
function weightOf(rule: SignalRule, signal: FailureSignal): number {
  let weight = 0;
  if (rule.status !== undefined) {
    if (signal.status === null || !statusMatches(rule.status, signal.status)) return 0;
    weight += WEIGHT.status;
  }
  if (rule.code !== undefined) {
    if (signal.code === null || !rule.code.test(signal.code)) return 0;
    weight += WEIGHT.code;
  }
  if (rule.text !== undefined) {
    if (signal.message === null || !rule.text.test(signal.message)) return 0;
    weight += WEIGHT.text;
  }
  return weight;
}

const statusMatches = (rule: NonNullable<SignalRule["status"]>, status: number): boolean =>
  typeof rule === "number" ? rule === status : status >= rule.from && status <= rule.to;

const STATUS_PLACES: readonly RegExp[] = [
  /\bstatus(?: code)?["']?\s*[:=]?\s*["']?([45]\d\d)\b/gi,
  /\bHTTP(?:\/[\d.]+)?[ :]+([45]\d\d)\b/gi,
  /"code"\s*:\s*"?([45]\d\d)\b/g,
  /\b(?:answered|responded with|returned|error|code)[ :]+([45]\d\d)\b/gi,
  /\(([45]\d\d)\)/g,
  /^\s*([45]\d\d)\b/gm,
  /\b([45]\d\d) (?:Unauthorized|Payment Required|Forbidden|Not Found|Request Timeout|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout)\b/gi,
];

/** The last HTTP status that a message names in one of the places where runtimes put it. */
export function statusIn(text: string): number | null {
  let found: { at: number; status: number } | null = null;
  for (const place of STATUS_PLACES) {
    for (const match of text.matchAll(place)) {
      const at = match.index + match[0].length;
      if (found === null || at > found.at) found = { at, status: Number(match[1]) };
    }
  }
  return found?.status ?? null;
}

/** How much of a stderr tail is looked at: the end, where a program says why it gave up. */
const STDERR_LOOK = 4_096;

export function stderrSignal(tail: string): FailureSignal | null {
  const text = withoutEscapes(tail).slice(-STDERR_LOOK);
  return text.trim() === "" ? null : { status: statusIn(text), code: null, message: text };
}

/** A message that may itself be a provider's JSON error (`[API Error: {"error":{"code":401,…}}]`). */
export function messageSignal(
  message: string,
  known: { readonly status?: number | null; readonly code?: string | null } = {},
): FailureSignal {
  const embedded = embeddedError(message);
  return {
    status: known.status ?? embedded.status ?? statusIn(message),
    code: known.code ?? embedded.code,
    message,
  };
}

function embeddedError(message: string): { status: number | null; code: string | null } {
  const open = message.indexOf("{");
  const close = message.lastIndexOf("}");
  const body = open >= 0 && close > open ? parseObject(message.slice(open, close + 1)) : null;
  const error = body === null ? null : (asObject(body["error"]) ?? body);
  if (error === null) return { status: null, code: null };
  const status = [valueAt(error, "code"), valueAt(error, "status")].find(
    (value): value is number => typeof value === "number" && value >= 400 && value < 600,
  );
  const code = [error["code"], error["type"], error["status"]].map(asText).find((value) => value !== null);
  return { status: status ?? null, code: code ?? null };
}
