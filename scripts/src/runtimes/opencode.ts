/** opencode, headless: prompt on stdin, JSON events out, tools bounded by permissions passed in one variable. */
import { BYPASS_FLAGS, bypassFlag } from "../core/bypass-flags.ts";
import { withoutEscapes } from "../core/escapes.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { readHelp } from "./help-flags.ts";
import { asObject, parseObject, valueAt } from "./json.ts";
import { initialState } from "./observed.ts";
import { observeOpencode, settleOpencode } from "./opencode-stream.ts";
import { type Evidence, flagFindings, found, liveState, provenBy, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass, refuseEffort, refuseMissingFlags } from "./refusals.ts";
import { grantOf, parseToolWord, type ToolGrant } from "./tool-words.ts";

const ESSENTIAL = ["--format json", "--dir"];
const OPTIONAL = ["--model", "--session", "--fork"];

/** No code of the project's or of another tool is loaded, and nothing is fetched. */
const QUIET = {
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  OPENCODE_DISABLE_PROJECT_CONFIG: "1",
  OPENCODE_DISABLE_CLAUDE_CODE: "1",
  OPENCODE_DISABLE_SHARE: "1",
};
/** Passed with the probe: the resolved configuration has to show it, else permissions do not reach this version. */
const PROOF = { edit: "deny", bash: { "*": "deny", "orchestrate-probe *": "allow" } };

export const opencode: Adapter = {
  id: "opencode",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: null,
  capability: "C2",
  executable: "opencode",
  bypassFlags: BYPASS_FLAGS.opencode,
  gatewayEnv: [],
  providerEnv: [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "OPENCODE_API_KEY",
  ],
  envPass: ["OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"],
  output: "jsonl",
  probe: {
    version: ["--version"],
    help: [["run", "--help"]],
    auth: ["auth", "list"],
    models: ["models"],
    sandbox: ["debug", "config"],
    env: { ...QUIET, OPENCODE_PERMISSION: JSON.stringify(PROOF) },
    footprint: {
      env: "OPENCODE_CONFIG_DIR",
      folder: ".config/opencode",
      marks: [
        ".local/share/opencode/auth.json",
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
      ],
    },
  },
  profile,
  start,
  initial: () => initialState,
  observe: observeOpencode,
  settle: settleOpencode,
  resume: "verified",
  fork: "verified",
  steer: "unsupported",
  sessionScope: { continue: "folder", fork: "folder" },
  unmappedTool: (words) => words.find((word) => permissionName(word) === null) ?? null,
  effortLevels: [],
};

function profile(input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, [...ESSENTIAL, ...OPTIONAL]);
  const auth = authStatus(input);
  const models = modelsIn(input);
  const proven = permissionsReach(input);
  const bound = <V extends string>(value: V) =>
    proven
      ? ({ value, evidence: "verified" } as const)
      : ({ value: "unverified", evidence: "unverified" } as const);
  return {
    ...UNPROVEN,
    ...liveState({
      version: input.answers.version,
      help: input.answers.help,
      missingEssential: ESSENTIAL.filter((flag) => !help.has(flag)),
      authenticated: auth.authenticated,
      constrained: models?.length === 0 ? "no-models" : null,
    }),
    version: versionIn(input.answers.version),
    authenticated: auth.authenticated,
    authSource: auth.source,
    models,
    headless: help.has("--format json"),
    cwdControl: help.has("--dir") ? "argument-only" : "unverified",
    approval: bound("scoped"),
    toolGating: bound("granular"),
    writeBoundary: bound("enforced"),
    isolation: { value: "none", evidence: "verified" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: provenBy(help, ["--format json"], "structured"),
    resume: help.has("--session") ? "verified" : "unverified",
    fork: help.has("--fork") ? "verified" : "unverified",
    steer: "unsupported",
    structuredOutput: false,
    flags,
    evidence: [
      ...evidence,
      auth.evidence,
      found(
        "debug config",
        proven
          ? "shows the permissions that were passed"
          : "does not show exactly the permissions that were passed",
      ),
      found("models", models === null ? "no list" : `${models.length} models`),
    ],
    notes: [
      "file tools write only below the working folder; a granted shell command is not bounded by that",
      "a request that is not granted ends the run with exit 0 and no text",
      "resumes a session only in the folder it was made in",
    ],
  };
}

/** Exactly ours: an entry of the user's own configuration that is still there would grant more than the job was granted. */
function permissionsReach(input: ProbeInput): boolean {
  const answer = input.answers.sandbox ?? null;
  const permission =
    answer === null ? null : asObject(valueAt(parseObject(answer.stdout.trim()), "permission"));
  return (
    permission !== null &&
    permission["edit"] === PROOF.edit &&
    JSON.stringify(permission["bash"]) === JSON.stringify(PROOF.bash)
  );
}

/** Counts of stored credentials and of provider variables; none is no proof, a configured provider may need neither. */
function authStatus(input: ProbeInput): {
  authenticated: Profile["authenticated"];
  source: Profile["authSource"];
  evidence: Evidence;
} {
  const answer = input.answers.auth;
  const text = answer === null ? "" : withoutEscapes(`${answer.stdout}\n${answer.stderr}`);
  const stored = Number(/(\d+) credentials?\b/.exec(text)?.[1] ?? 0);
  const named = Number(/(\d+) environment variables?\b/.exec(text)?.[1] ?? 0);
  const known = stored + named > 0;
  return {
    authenticated: known ? true : "unverified",
    source: stored > 0 ? "unknown" : named > 0 ? "key" : "unknown",
    evidence: found("auth list", `${stored} stored credentials, ${named} provider variables`),
  };
}

function modelsIn(input: ProbeInput): string[] | null {
  const answer = input.answers.models;
  if (answer === null || answer.timedOut || answer.exitCode !== 0) return null;
  return withoutEscapes(answer.stdout)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => /^[\w.-]+\/\S+$/.test(line));
}

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { record, candidate, job, resumeSession } = input;
  const missing =
    refuseMissingFlags("opencode", record, ESSENTIAL) ?? refuseEffort("opencode", record, candidate.effort);
  if (missing !== null) return err(missing);
  const unmapped = job.tools.allowed.find((word) => permissionName(word) === null);
  if (unmapped !== undefined)
    return err({ code: "tool-unmapped", detail: `\`opencode\` has no permission for \`${unmapped}\`` });
  const argv = [
    record.binary ?? "opencode",
    "run",
    "--format=json",
    `--dir=${input.cwd}`,
    ...(candidate.model === null ? [] : [`--model=${candidate.model}`]),
    ...(resumeSession === null ? [] : [`--session=${resumeSession.handle}`]),
    ...(resumeSession?.mode === "fork" ? ["--fork"] : []),
  ];
  const bypass = refuseBypass(bypassFlag(argv, BYPASS_FLAGS.opencode));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: input.prompt,
    env: { ...QUIET, OPENCODE_PERMISSION: JSON.stringify(permissions(grantOf(job.tools))) },
    envPass: [...opencode.providerEnv, ...(opencode.envPass ?? [])],
    files: [],
    toolGating: "granular",
  });
}

/** `edit` covers writing as well: the two tools share one permission. */
function permissionName(word: string): string | null {
  const parsed = parseToolWord(word);
  switch (parsed.kind) {
    case "read":
    case "search":
    case "edit":
    case "web":
      return parsed.kind;
    case "write":
      return "edit";
    case "shell":
      return "bash";
    case "agent":
      return "task";
    case "mcp":
    case "raw":
      return null;
  }
}

type Decision = "allow" | "deny";
const decide = (granted: boolean): Decision => (granted ? "allow" : "deny");

/** Nothing is left to "ask": with nobody there a question ends the run. */
function permissions(
  grant: ToolGrant,
): Readonly<Record<string, Decision | Readonly<Record<string, Decision>>>> {
  return {
    read: decide(grant.read),
    list: decide(grant.read),
    glob: decide(grant.search),
    grep: decide(grant.search),
    edit: decide(grant.edit || grant.write),
    webfetch: decide(grant.web),
    websearch: decide(grant.web),
    task: decide(grant.agent),
    skill: "deny",
    question: "deny",
    external_directory: "deny",
    doom_loop: "deny",
    bash: shellPermission(grant),
  };
}

/** The last pattern that matches counts. A bare command and the same with arguments are two patterns. */
function shellPermission(grant: ToolGrant): Decision | Readonly<Record<string, Decision>> {
  if (grant.shell !== "all" && grant.shell.length === 0) return "deny";
  const both = (prefix: string, decision: Decision): [string, Decision][] => [
    [literal(prefix), decision],
    [`${literal(prefix)} *`, decision],
  ];
  return Object.fromEntries([
    ["*", decide(grant.shell === "all")],
    ...(grant.shell === "all" ? [] : grant.shell.flatMap((prefix) => both(prefix, "allow"))),
    ...grant.shellDenied.flatMap((prefix) => both(prefix, "deny")),
  ]);
}

/** A `*` in a prefix would widen it; one character stands for it. */
const literal = (prefix: string): string => prefix.replaceAll("*", "?");
