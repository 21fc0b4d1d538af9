/** pi, headless: prompt on stdin, JSON events out. It asks nobody for anything: only the list of its tools bounds it. */
import { BYPASS_FLAGS, bypassFlag } from "../core/bypass-flags.ts";
import { withoutEscapes } from "../core/escapes.ts";
import { err, ok, type Result } from "../core/result.ts";
import { EFFORTS, type Effort } from "../core/tiers.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { type LiveHelp, readHelp } from "./help-flags.ts";
import { initialState } from "./observed.ts";
import { observePi, settlePi } from "./pi-stream.ts";
import { flagFindings, found, liveState, provenBy, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass, refuseEffort, refuseMissingFlags } from "./refusals.ts";
import { grantOf, parseToolWord } from "./tool-words.ts";

const ESSENTIAL = ["--print", "--mode json", "--tools", "--no-tools", "--no-extensions"];
const OPTIONAL = [
  "--no-skills",
  "--no-prompt-templates",
  "--no-session",
  "--session-dir",
  "--model",
  "--thinking",
  "--session",
  "--fork",
];
const QUIET = { PI_OFFLINE: "1", PI_TELEMETRY: "0" };

export const pi: Adapter = {
  id: "pi",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: null,
  capability: "C2",
  executable: "pi",
  bypassFlags: BYPASS_FLAGS.pi,
  gatewayEnv: [],
  providerEnv: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GROQ_API_KEY",
    "CEREBRAS_API_KEY",
    "XAI_API_KEY",
    "FIREWORKS_API_KEY",
    "TOGETHER_API_KEY",
    "OPENROUTER_API_KEY",
    "AI_GATEWAY_API_KEY",
    "ZAI_API_KEY",
    "MISTRAL_API_KEY",
    "MINIMAX_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENCODE_API_KEY",
    "KIMI_API_KEY",
  ],
  envPass: [
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "AZURE_OPENAI_BASE_URL",
    "AZURE_OPENAI_RESOURCE_NAME",
  ],
  output: "jsonl",
  probe: {
    version: ["--version"],
    help: [["--help"]],
    auth: null,
    models: ["--list-models"],
    env: QUIET,
    footprint: {
      env: "PI_CODING_AGENT_DIR",
      folder: ".pi/agent",
      marks: [".pi/agent/auth.json", ".pi/agent/models.json", ".pi/agent/settings.json"],
    },
  },
  profile,
  start,
  initial: () => initialState,
  observe: observePi,
  settle: settlePi,
  resume: "verified",
  fork: "verified",
  steer: "unsupported",
  // A continued session works on in the folder of its first turn; a fork takes the new one.
  sessionScope: { continue: "folder", fork: "anywhere" },
  unmappedTool: (words) => words.find((word) => toolNames(word) === null) ?? null,
  effortLevels: ["minimal", "low", "medium", "high", "xhigh"],
};

function profile(input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, [...ESSENTIAL, ...OPTIONAL]);
  const models = modelsIn(input);
  const authenticated = models === null ? "unverified" : models.length > 0;
  return {
    ...UNPROVEN,
    ...liveState({
      version: input.answers.version,
      help: input.answers.help,
      missingEssential: ESSENTIAL.filter((flag) => !help.has(flag)),
      authenticated,
      constrained: null,
    }),
    version: versionIn(input.answers.version),
    authenticated,
    authSource: authenticated === false ? "none" : "unknown",
    models,
    headless: help.has("--print"),
    cwdControl: "process-owned",
    // Whatever tool it has, it runs unasked.
    approval: { value: "auto", evidence: "verified" },
    toolGating: provenBy(help, ["--tools", "--no-tools", "--no-extensions"], "granular"),
    writeBoundary: { value: "none", evidence: "verified" },
    isolation: { value: "none", evidence: "verified" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: provenBy(help, ["--mode json"], "structured"),
    resume: help.has("--session") ? "verified" : "unverified",
    fork: help.has("--fork") ? "verified" : "unverified",
    steer: "unsupported",
    structuredOutput: false,
    effortLevels: effortsIn(help),
    flags,
    evidence: [
      ...evidence,
      found("--list-models", models === null ? "no list" : `${models.length} models with a credential`),
    ],
    notes: [
      "has no permission system: a writing tool writes anywhere, so it writes only inside a worktree",
      "resumes a session only in the folder it was made in",
    ],
  };
}

const effortsIn = (help: LiveHelp): Effort[] =>
  EFFORTS.filter((effort) => help.choices("--thinking").includes(effort));

/** A table of providers that have a credential; without any it says so in words. */
function modelsIn(input: ProbeInput): string[] | null {
  const answer = input.answers.models;
  if (answer === null || answer.timedOut || answer.exitCode !== 0) return null;
  const text = withoutEscapes(`${answer.stdout}\n${answer.stderr}`);
  if (/no models available/i.test(text)) return [];
  const lines = text.split(/\r?\n/);
  const header = lines.findIndex((line) => /^provider\s+model\b/i.test(line));
  if (header < 0) return null;
  return lines
    .slice(header + 1)
    .map((line) => /^([\w.-]+)\s+(\S+)/.exec(line))
    .flatMap((match) => (match === null ? [] : [`${match[1]}/${match[2]}`]));
}

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { record, candidate, job, resumeSession } = input;
  const missing = refuseMissingFlags("pi", record, ESSENTIAL) ?? refuseEffort("pi", record, candidate.effort);
  if (missing !== null) return err(missing);
  const unmapped = job.tools.allowed.find(
    (word) => toolNames(word) === null && !droppable(word, job.tools.origin),
  );
  if (unmapped !== undefined)
    return err({ code: "tool-unmapped", detail: `\`pi\` cannot bound \`${unmapped}\`` });
  if (resumeSession?.mode === "fork" && record.flags["--session-dir"] !== true)
    return err({
      code: "session-unsupported",
      detail: "without `--session-dir`, `pi` asks where a fork belongs, and nobody is there to answer",
    });
  const has = (flag: string): boolean => record.flags[flag] === true;
  const tools = granted(input);
  const argv = [
    record.binary ?? "pi",
    "--print",
    "--mode",
    "json",
    ...(tools.length === 0 ? ["--no-tools"] : ["--tools", tools.join(",")]),
    "--no-extensions",
    ...["--no-skills", "--no-prompt-templates"].filter(has),
    ...(candidate.model === null ? [] : ["--model", candidate.model]),
    ...(candidate.effort === null ? [] : ["--thinking", candidate.effort]),
    ...(resumeSession === null
      ? []
      : [resumeSession.mode === "fork" ? "--fork" : "--session", resumeSession.handle]),
    ...sessionStore(input),
  ];
  const bypass = refuseBypass(bypassFlag(argv, BYPASS_FLAGS.pi));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: input.prompt,
    env: QUIET,
    envPass: [...pi.providerEnv, ...(pi.envPass ?? [])],
    files: [],
    toolGating: "granular",
  });
}

/** Kept sessions go to the run's own folder, where this version can be told so; others are not kept at all. */
function sessionStore(input: StartInput): string[] {
  const has = (flag: string): boolean => input.record.flags[flag] === true;
  if (input.keepSession !== true && input.resumeSession === null)
    return has("--no-session") ? ["--no-session"] : [];
  const folder = input.sessionDir ?? null;
  return folder !== null && has("--session-dir") ? ["--session-dir", folder] : [];
}

/** A shell for some commands only does not exist here. Where nobody asked for it by name, the job goes without. */
const droppable = (word: string, origin: "spec" | "tier"): boolean =>
  origin === "tier" && parseToolWord(word).kind === "shell";

function granted(input: StartInput): string[] {
  const grant = grantOf(input.job.tools);
  const words = [
    ...(["read", "search", "edit", "write"] as const).filter((word) => grant[word]),
    ...(grant.shell === "all" && grant.shellDenied.length === 0 ? ["shell"] : []),
    ...grant.raw,
  ];
  return words.flatMap((word) => toolNames(word) ?? []);
}

function toolNames(word: string): readonly string[] | null {
  const parsed = parseToolWord(word);
  switch (parsed.kind) {
    case "read":
      return ["read", "ls"];
    case "search":
      return ["grep", "find"];
    case "edit":
      return ["edit"];
    case "write":
      return ["write"];
    case "shell":
      return parsed.prefix === null ? ["bash"] : null;
    case "web":
    case "agent":
    case "mcp":
      return null;
    case "raw":
      return /^[a-z][a-z0-9_-]*$/.test(parsed.name) ? [parsed.name] : null;
  }
}
