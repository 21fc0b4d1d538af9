/** Claude Code, headless: prompt on stdin, stream-json out, tools bounded by its own permission system. */
import { BYPASS_FLAGS, bypassFlag } from "../core/bypass-flags.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Effort } from "../core/tiers.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { observeClaude, settleClaude } from "./claude-stream.ts";
import { type LiveHelp, readHelp } from "./help-flags.ts";
import { asText, parseObject } from "./json.ts";
import { initialState } from "./observed.ts";
import { flagFindings, found, liveState, provenBy, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass, refuseEffort, refuseMissingFlags } from "./refusals.ts";
import { grantOf, hasShell, parseToolWord, type ToolGrant } from "./tool-words.ts";

/** Without these we do not start it: the stream, the bounds and the isolation all rest on them. */
const ESSENTIAL = [
  "--print",
  "--output-format stream-json",
  "--verbose",
  "--permission-mode dontAsk",
  "--permission-mode acceptEdits",
  "--tools",
  "--allowedTools",
  "--disallowedTools",
  "--settings",
];
/** Used where the live help has them. */
const OPTIONAL = [
  "--setting-sources",
  "--strict-mcp-config",
  "--no-session-persistence",
  "--model",
  "--effort",
  "--resume",
  "--fork-session",
];

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_TELEMETRY: "1",
};
/** Its own default tries for three minutes, also at 401; retrying over attempts is the coordinator's part. */
const MAX_RETRIES = "2";

export const claude: Adapter = {
  id: "claude",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: "anthropic",
  capability: "C3",
  executable: "claude",
  bypassFlags: BYPASS_FLAGS.claude,
  gatewayEnv: [
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_UNIX_SOCKET",
  ],
  providerEnv: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
  envPass: [
    "CLAUDE_CONFIG_DIR",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "API_TIMEOUT_MS",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
  ],
  output: "jsonl",
  probe: {
    version: ["--version"],
    help: [["--help"]],
    auth: ["auth", "status"],
    models: null,
    env: QUIET,
    footprint: {
      env: "CLAUDE_CONFIG_DIR",
      folder: ".claude",
      marks: [".claude.json", ".claude/.credentials.json"],
    },
  },
  profile,
  start,
  initial: () => initialState,
  observe: observeClaude,
  settle: settleClaude,
  resume: "verified",
  fork: "verified",
  steer: "unsupported",
  sessionScope: { continue: "folder", fork: "folder" },
  unmappedTool: (words) => words.find((word) => toolNames(word) === null) ?? null,
  effortLevels: ["low", "medium", "high", "xhigh", "max"],
};

function profile(input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, [...ESSENTIAL, ...OPTIONAL]);
  const auth = authStatus(input);
  const gateway = claude.gatewayEnv.some((name) => input.envNames.has(name));
  const sessions = help.has("--resume") ? "verified" : "unverified";
  return {
    ...UNPROVEN,
    ...liveState({
      version: input.answers.version,
      help: input.answers.help,
      missingEssential: ESSENTIAL.filter((flag) => !help.has(flag)),
      authenticated: auth.authenticated,
      constrained: null,
    }),
    version: versionIn(input.answers.version),
    authenticated: auth.authenticated,
    authSource: auth.source,
    gateway,
    provider: gateway ? null : auth.provider,
    modelAliases: aliasesIn(help),
    family: "anthropic",
    headless: help.has("--print"),
    vendorBound: true,
    cwdControl: "process-owned",
    approval: provenBy(help, ["--permission-mode dontAsk", "--permission-mode acceptEdits"], "scoped"),
    toolGating: provenBy(help, ["--tools", "--allowedTools", "--disallowedTools"], "granular"),
    writeBoundary: provenBy(help, ["--permission-mode acceptEdits", "--tools"], "enforced"),
    isolation: { value: "none", evidence: "verified" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: provenBy(help, ["--output-format stream-json"], "structured"),
    nativeBudget: help.has("--max-budget-usd"),
    resume: sessions,
    fork: help.has("--fork-session") ? sessions : "unverified",
    steer: "unsupported",
    structuredOutput: help.has("--json-schema"),
    effortLevels: effortsIn(help),
    flags,
    evidence: [...evidence, auth.evidence],
    notes: [
      "file tools write only below the working folder; a granted shell command is not bounded by that",
      "resumes a session only in the folder it was made in",
    ],
  };
}

/** `claude auth status` prints JSON without a secret. */
function authStatus(input: ProbeInput): {
  authenticated: Profile["authenticated"];
  source: Profile["authSource"];
  provider: string | null;
  evidence: Profile["evidence"][number];
} {
  const answer = input.answers.auth;
  const status = answer === null ? null : parseObject(answer.stdout.trim());
  const loggedIn = status?.["loggedIn"];
  if (typeof loggedIn !== "boolean")
    return {
      authenticated: "unverified",
      source: "unknown",
      provider: null,
      evidence: found("auth status", "gave no status that can be read"),
    };
  const method = asText(status?.["authMethod"]) ?? "unknown";
  const api = asText(status?.["apiProvider"]);
  const source = !loggedIn ? "none" : /key/i.test(method) || envKey(input) ? "key" : "subscription";
  return {
    authenticated: loggedIn,
    source,
    provider: api === "firstParty" ? "anthropic" : api,
    evidence: found("auth status", `loggedIn ${loggedIn}, authMethod \`${method}\``),
  };
}

const envKey = (input: ProbeInput): boolean =>
  input.envNames.has("ANTHROPIC_API_KEY") || input.envNames.has("ANTHROPIC_AUTH_TOKEN");

const LADDER: readonly Effort[] = ["minimal", "low", "medium", "high", "xhigh", "max"];
const effortsIn = (help: LiveHelp): Effort[] =>
  LADDER.filter((level) => help.choices("--effort").includes(level));

/** Aliases that the help names as examples: `(e.g. 'fable', 'opus', or 'sonnet')`. */
const aliasesIn = (help: LiveHelp): string[] =>
  [...help.body("--model").matchAll(/'([a-z][a-z0-9]*)'/g)].map((match) => match[1] as string);

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { record, candidate, job } = input;
  const missing =
    refuseMissingFlags("claude", record, ESSENTIAL) ?? refuseEffort("claude", record, candidate.effort);
  if (missing !== null) return err(missing);
  const unmapped = job.tools.allowed.find((word) => toolNames(word) === null);
  if (unmapped !== undefined)
    return err({ code: "tool-unmapped", detail: `\`claude\` has no tool for \`${unmapped}\`` });
  const has = (flag: string): boolean => record.flags[flag] === true;
  const grant = grantOf(job.tools);
  const settings = `${input.scratch}/claude-settings.json`;
  const argv = [
    record.binary ?? "claude",
    "--print",
    "--output-format=stream-json",
    "--verbose",
    // acceptEdits also lets `touch`, `mkdir`, `mv` and `rm` run, so it takes a grant to write.
    `--permission-mode=${grant.edit || grant.write ? "acceptEdits" : "dontAsk"}`,
    // Variadic flags eat what follows, so every value hangs on its flag.
    `--tools=${granted(grant).join(",")}`,
    ...listFlag("--allowedTools", allowedWithoutAsking(grant)),
    ...listFlag("--disallowedTools", withheld(grant)),
    `--settings=${settings}`,
    ...(has("--setting-sources") ? ["--setting-sources="] : []),
    ...(has("--strict-mcp-config") ? ["--strict-mcp-config"] : []),
    ...(has("--no-session-persistence") && input.keepSession !== true && input.resumeSession === null
      ? ["--no-session-persistence"]
      : []),
    ...(candidate.model === null ? [] : [`--model=${candidate.model}`]),
    ...(candidate.effort === null ? [] : [`--effort=${candidate.effort}`]),
    ...sessionFlags(input),
  ];
  const bypass = refuseBypass(bypassFlag(argv, BYPASS_FLAGS.claude));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: input.prompt,
    env: { ...QUIET, CLAUDE_CODE_MAX_RETRIES: MAX_RETRIES },
    envPass: [...claude.providerEnv, ...claude.gatewayEnv, ...(claude.envPass ?? [])],
    files: [{ path: settings, content: JSON.stringify(ruleFile(grant)) }],
    toolGating: "granular",
  });
}

const sessionFlags = (input: StartInput): string[] =>
  input.resumeSession === null
    ? []
    : [
        `--resume=${input.resumeSession.handle}`,
        ...(input.resumeSession.mode === "fork" ? ["--fork-session"] : []),
      ];

const listFlag = (flag: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`${flag}=${names.join(",")}`];

/** Tools behind a neutral word; null when there is none. A raw name is passed on as it is. */
function toolNames(word: string): readonly string[] | null {
  const parsed = parseToolWord(word);
  switch (parsed.kind) {
    case "read":
      return ["Read"];
    case "search":
      return ["Grep", "Glob"];
    case "edit":
      return ["Edit", "NotebookEdit"];
    case "write":
      return ["Write"];
    case "shell":
      return ["Bash"];
    case "web":
      return ["WebFetch", "WebSearch"];
    case "agent":
      return ["Task"];
    case "mcp":
      // No MCP server is started: its configuration would be somebody else's code.
      return null;
    case "raw":
      return /^[A-Za-z][A-Za-z0-9_]*$/.test(parsed.name) ? [parsed.name] : null;
  }
}

function granted(grant: ToolGrant): string[] {
  const words = [
    ...(["read", "search", "edit", "write", "web", "agent"] as const).filter((word) => grant[word]),
    ...(hasShell(grant) ? ["shell"] : []),
    ...grant.raw,
  ];
  return words.flatMap((word) => toolNames(word) ?? []);
}

/** Reading, searching and editing below the working folder need no rule; these do. */
const allowedWithoutAsking = (grant: ToolGrant): string[] => [
  ...(grant.web ? ["WebFetch", "WebSearch"] : []),
  ...(grant.agent ? ["Task"] : []),
  ...(grant.shell === "all" ? ["Bash"] : []),
  ...grant.raw.filter((name) => name !== "Bash"),
];

const BOUNDED = ["Bash", "Edit", "NotebookEdit", "Write", "WebFetch", "WebSearch", "Task"];
/** Said twice on purpose: a tool that is not offered is denied as well. */
const withheld = (grant: ToolGrant): string[] => [
  ...BOUNDED.filter((name) => !granted(grant).includes(name)),
  ...grant.rawDenied,
];

/** Shell prefixes go by file: commas, blanks and brackets in them would be split on the command line. */
function ruleFile(grant: ToolGrant): object {
  const rule = (prefix: string): string => `Bash(${prefix.replace(/[\\()]/g, "\\$&")}:*)`;
  return {
    permissions: {
      allow: grant.shell === "all" ? [] : grant.shell.map(rule),
      deny: grant.shellDenied.map(rule),
    },
  };
}
