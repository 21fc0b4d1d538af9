/** Gemini CLI, headless: prompt on stdin, stream-json out, tools bounded by a policy file of our own. */
import { BYPASS_FLAGS, bypassFlag } from "../core/bypass-flags.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { observeGemini, settleGemini } from "./gemini-stream.ts";
import { readHelp } from "./help-flags.ts";
import { asText, parseObject, valueAt } from "./json.ts";
import { initialState } from "./observed.ts";
import { type Evidence, flagFindings, found, liveState, provenBy, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass, refuseEffort, refuseMissingFlags } from "./refusals.ts";
import { grantOf, parseToolWord, type ToolGrant } from "./tool-words.ts";

const ESSENTIAL = [
  "--output-format stream-json",
  "--approval-mode default",
  "--approval-mode auto_edit",
  "--policy",
  "--skip-trust",
];
const OPTIONAL = ["--model"];

/** Without the relauncher between us, signals reach the program; the launcher waits for its child and ignores them. */
const ALWAYS = { GEMINI_CLI_NO_RELAUNCH: "true", GEMINI_TELEMETRY_ENABLED: "false" };
const KEYS = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

export const gemini: Adapter = {
  id: "gemini",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: "google",
  capability: "C3",
  executable: "gemini",
  bypassFlags: BYPASS_FLAGS.gemini,
  gatewayEnv: ["GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "CODE_ASSIST_ENDPOINT"],
  providerEnv: [...KEYS, "GOOGLE_APPLICATION_CREDENTIALS"],
  envPass: [
    "GEMINI_CLI_HOME",
    "GEMINI_DEFAULT_AUTH_TYPE",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
  ],
  output: "jsonl",
  probe: {
    version: ["--version"],
    help: [["--help"]],
    auth: null,
    models: null,
    env: ALWAYS,
    footprint: {
      env: "GEMINI_CLI_HOME",
      envIsHome: true,
      folder: ".gemini",
      marks: [".gemini/settings.json", ".gemini/oauth_creds.json"],
    },
    settings: ["settings.json"],
  },
  profile,
  start,
  initial: () => initialState,
  observe: observeGemini,
  settle: settleGemini,
  // A resumed session was seen to be deleted by the next start, so nothing is promised.
  resume: "unverified",
  fork: "unsupported",
  steer: "unsupported",
  unmappedTool: (words) => words.find((word) => toolNames(word) === null) ?? null,
  effortLevels: [],
};

function profile(input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, [...ESSENTIAL, ...OPTIONAL]);
  const auth = authStatus(input);
  const gateway = gemini.gatewayEnv.some((name) => input.envNames.has(name));
  const modes = ["--approval-mode default", "--approval-mode auto_edit"];
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
    provider: gateway ? null : "google",
    family: "google",
    headless: help.has("--output-format stream-json"),
    vendorBound: true,
    cwdControl: "process-owned",
    approval: provenBy(help, modes, "scoped"),
    toolGating: provenBy(help, ["--policy"], "granular"),
    writeBoundary: provenBy(help, [...modes, "--policy"], "enforced"),
    isolation: { value: "none", evidence: "verified" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: provenBy(help, ["--output-format stream-json"], "structured"),
    resume: "unverified",
    fork: "unsupported",
    steer: "unsupported",
    structuredOutput: false,
    flags,
    evidence: [...evidence, auth.evidence],
    notes: [
      "file tools write only below the working folder; a granted shell command is not bounded by that",
      "reads a `.env` file in the working folder or above it",
    ],
  };
}

/** It has no status command: what its settings select, and whether the variable for that is set, is all there is. */
function authStatus(input: ProbeInput): {
  authenticated: Profile["authenticated"];
  source: Profile["authSource"];
  evidence: Evidence;
} {
  const settings = parseObject(input.settings?.["settings.json"] ?? "");
  const selected = asText(valueAt(settings, "security.auth.selectedType"));
  const key = KEYS.some((name) => input.envNames.has(name));
  const said = (authenticated: Profile["authenticated"], source: Profile["authSource"], finding: string) => ({
    authenticated,
    source,
    evidence: found("settings.json, environment", finding),
  });
  if (selected === "gemini-api-key")
    return said(
      key ? true : "unverified",
      "key",
      `selectedType \`${selected}\`, key variable ${key ? "set" : "not set"}`,
    );
  if (selected !== null)
    return said(
      "unverified",
      /oauth|google/i.test(selected) ? "subscription" : "unknown",
      `selectedType \`${selected}\``,
    );
  if (key) return said("unverified", "key", "a key variable is set, no auth type selected");
  const other = ["GEMINI_DEFAULT_AUTH_TYPE", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"].some(
    (name) => input.envNames.has(name),
  );
  return other
    ? said("unverified", "unknown", "the environment selects an auth type")
    : said(false, "none", "no auth type selected and no key variable set");
}

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { record, candidate, job } = input;
  const missing =
    refuseMissingFlags("gemini", record, ESSENTIAL) ?? refuseEffort("gemini", record, candidate.effort);
  if (missing !== null) return err(missing);
  if (input.resumeSession !== null)
    return err({ code: "session-unsupported", detail: "a resumed `gemini` session is not reliable" });
  const unmapped = job.tools.allowed.find((word) => toolNames(word) === null);
  if (unmapped !== undefined)
    return err({ code: "tool-unmapped", detail: `\`gemini\` has no tool for \`${unmapped}\`` });
  const grant = grantOf(job.tools);
  const policy = `${input.scratch}/gemini-policy.toml`;
  const defaults = `${input.scratch}/gemini-defaults.json`;
  const argv = [
    record.binary ?? "gemini",
    "--output-format=stream-json",
    // The coordinator pinned the folder and bounded the tools; nobody is there to answer the trust dialog.
    "--skip-trust",
    `--approval-mode=${grant.edit || grant.write ? "auto_edit" : "default"}`,
    `--policy=${policy}`,
    ...(candidate.model === null ? [] : [`--model=${candidate.model}`]),
  ];
  const bypass = refuseBypass(bypassFlag(argv, BYPASS_FLAGS.gemini));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: input.prompt,
    env: { ...ALWAYS, GEMINI_CLI_SYSTEM_DEFAULTS_PATH: defaults },
    envPass: [...gemini.providerEnv, ...gemini.gatewayEnv, ...(gemini.envPass ?? [])],
    files: [
      { path: policy, content: policyFile(grant) },
      { path: defaults, content: JSON.stringify(DEFAULTS) },
    ],
    toolGating: "granular",
  });
}

/** Below the user's own settings: its default of ten tries takes four minutes and says nothing meanwhile. */
const DEFAULTS = {
  general: { maxAttempts: 2, enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

function toolNames(word: string): readonly string[] | null {
  const parsed = parseToolWord(word);
  switch (parsed.kind) {
    case "read":
      return ["read_file", "read_many_files", "list_directory"];
    case "search":
      return ["glob", "grep_search", "search_file_content"];
    case "edit":
      return ["replace"];
    case "write":
      return ["write_file"];
    case "shell":
      return ["run_shell_command"];
    case "web":
      return ["web_fetch", "google_web_search"];
    case "agent":
    case "mcp":
      return null;
    case "raw":
      return /^[a-z][a-z0-9_]*$/.test(parsed.name) ? [parsed.name] : null;
  }
}

/** Everything is denied but what the job was granted; rules of this file stand above all but an administrator's. */
function policyFile(grant: ToolGrant): string {
  const words = (["read", "search", "edit", "write", "web"] as const).filter((word) => grant[word]);
  const names = [...words, ...grant.raw].flatMap((word) => toolNames(word) ?? []);
  return [
    rule({ toolName: ["*"], decision: "deny", priority: 960 }),
    ...(names.length === 0 ? [] : [rule({ toolName: names, decision: "allow", priority: 970 })]),
    ...(grant.shell === "all"
      ? [rule({ toolName: ["run_shell_command"], decision: "allow", priority: 970 })]
      : []),
    ...(grant.shell === "all" ? [] : grant.shell).map((prefix) =>
      rule({ toolName: ["run_shell_command"], commandPrefix: prefix, decision: "allow", priority: 970 }),
    ),
    ...grant.shellDenied.map((prefix) =>
      rule({ toolName: ["run_shell_command"], commandPrefix: prefix, decision: "deny", priority: 980 }),
    ),
    ...(grant.rawDenied.length === 0
      ? []
      : [rule({ toolName: grant.rawDenied, decision: "deny", priority: 980 })]),
  ].join("\n");
}

/** A JSON string is a TOML basic string. */
function rule(o: {
  readonly toolName: readonly string[];
  readonly commandPrefix?: string;
  readonly decision: "allow" | "deny";
  readonly priority: number;
}): string {
  const prefix = o.commandPrefix === undefined ? "" : `commandPrefix = ${JSON.stringify(o.commandPrefix)}\n`;
  const tools = o.toolName.length === 1 ? JSON.stringify(o.toolName[0]) : JSON.stringify(o.toolName);
  return `[[rule]]\ntoolName = ${tools}\n${prefix}decision = "${o.decision}"\npriority = ${o.priority}\n`;
}
