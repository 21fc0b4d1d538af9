/** Codex CLI, headless: prompt on stdin, JSONL out, every command inside its own sandbox. */
import { BYPASS_FLAGS, bypassFlag } from "../core/bypass-flags.ts";
import { err, ok, type Result } from "../core/result.ts";
import { EFFORTS, type Effort } from "../core/tiers.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { observeCodex, settleCodex } from "./codex-stream.ts";
import { readHelp } from "./help-flags.ts";
import { asList, asObject, asText, parseObject } from "./json.ts";
import { initialState } from "./observed.ts";
import { type Evidence, flagFindings, found, liveState, provenBy, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass, refuseEffort, refuseMissingFlags } from "./refusals.ts";
import { grantOf, hasShell, parseToolWord, readsOnly } from "./tool-words.ts";

const ESSENTIAL = [
  "--json",
  "--sandbox read-only",
  "--sandbox workspace-write",
  "--cd",
  "--skip-git-repo-check",
  "--config",
];
const OPTIONAL = ["--ephemeral", "--ignore-rules", "--model"];

/** Its own way to ask the sandbox a question: writing below a read-only root has to fail. */
const SANDBOX_QUESTION = ["sandbox", "--", "touch", "orchestrate-probe"];

export const codex: Adapter = {
  id: "codex",
  kind: "cli",
  agent: true,
  role: "agent",
  vendor: "openai",
  capability: "C3",
  executable: "codex",
  bypassFlags: BYPASS_FLAGS.codex,
  gatewayEnv: ["OPENAI_BASE_URL", "CODEX_OSS_BASE_URL"],
  providerEnv: ["CODEX_API_KEY", "OPENAI_API_KEY"],
  envPass: ["CODEX_HOME", "CODEX_CA_CERTIFICATE"],
  native,
  transientPaths: [".agents", ".aws", ".codex"],
  output: "jsonl",
  probe: {
    version: ["--version"],
    help: [
      ["exec", "--help"],
      ["exec", "resume", "--help"],
    ],
    auth: ["login", "status"],
    models: ["debug", "models"],
    sandbox: SANDBOX_QUESTION,
    footprint: {
      env: "CODEX_HOME",
      folder: ".codex",
      marks: [".codex/auth.json", ".codex/config.toml"],
    },
    settings: ["config.toml"],
  },
  profile,
  start,
  initial: () => initialState,
  observe: observeCodex,
  settle: settleCodex,
  resume: "verified",
  fork: "verified",
  steer: "unsupported",
  sessionScope: { continue: "anywhere", fork: "anywhere" },
  usageCounts: "thread",
  unmappedTool: (words, _tier, disallowed = []) => unmapped(words, disallowed),
  effortLevels: ["low", "medium", "high", "xhigh"],
};

/** The npm launcher is a script that spawns this; killed hard, it leaves the real program running. */
function native(o: {
  readonly binaryReal: string;
  readonly platform: string;
  readonly arch: string;
}): string[] {
  const launcher = /^(.*\/node_modules\/)@openai\/codex\/bin\/codex\.js$/.exec(o.binaryReal);
  const cpu = { x64: "x86_64", arm64: "aarch64" }[o.arch];
  const system = { linux: "unknown-linux-musl", darwin: "apple-darwin" }[o.platform];
  if (launcher === null || cpu === undefined || system === undefined) return [];
  const triple = `${cpu}-${system}`;
  const folders = [
    `@openai/codex-${o.platform}-${o.arch}`,
    `@openai/codex/node_modules/@openai/codex-${o.platform}-${o.arch}`,
    "@openai/codex",
  ];
  return folders.map((folder) => `${launcher[1]}${folder}/vendor/${triple}/bin/codex`);
}

function profile(input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, [...ESSENTIAL, ...OPTIONAL]);
  const custom = customProvider(input.settings?.["config.toml"] ?? "");
  const auth = authStatus(input, custom);
  const catalogue = readCatalogue(input.answers.models?.stdout ?? "");
  const gateway = custom !== null || codex.gatewayEnv.some((name) => input.envNames.has(name));
  const sandbox = sandboxWorks(input);
  const sessions = /\bresume\b/.test(help.text) ? "verified" : "unverified";
  return {
    ...UNPROVEN,
    ...liveState({
      version: input.answers.version,
      help: input.answers.help,
      missingEssential: ESSENTIAL.filter((flag) => !help.has(flag)),
      authenticated: auth.authenticated,
      constrained: sandbox === false ? "sandbox-missing" : null,
    }),
    version: versionIn(input.answers.version),
    authenticated: auth.authenticated,
    authSource: auth.source,
    gateway,
    provider: gateway ? custom : "openai",
    // Its catalogue is the vendor's; a provider of the user's own has other models.
    models: gateway ? null : catalogue.models,
    family: "openai",
    headless: help.has("--json"),
    vendorBound: true,
    ...sandboxControls(help, sandbox),
    bypassAbsent: { value: true, evidence: "verified" },
    capture: provenBy(help, ["--json"], "structured"),
    resume: sessions,
    fork: /\bfork\b/.test(help.text) ? sessions : "unverified",
    steer: "unsupported",
    structuredOutput: help.has("--output-schema"),
    effortLevels: catalogue.efforts,
    flags,
    evidence: [...evidence, auth.evidence, ...sandboxEvidence(sandbox), ...modelEvidence(catalogue)],
    notes: [
      "never asks: what lies outside the sandbox fails, network included",
      "mounts .agents, .aws and .codex in the working folder while a command runs",
    ],
  };
}

function sandboxControls(help: ReturnType<typeof readHelp>, works: boolean | null) {
  const modes = ["--sandbox read-only", "--sandbox workspace-write"];
  const proven = works === false ? ({ value: "none", evidence: "verified" } as const) : null;
  return {
    cwdControl: help.has("--cd") && help.has("--sandbox") ? ("enforced" as const) : ("unverified" as const),
    approval: proven ?? provenBy(help, modes, "scoped" as const),
    toolGating: proven ?? provenBy(help, modes, "coarse" as const),
    writeBoundary: proven ?? provenBy(help, modes, "enforced" as const),
    isolation: proven ?? provenBy(help, modes, "os-sandbox" as const),
  };
}

/** True or false when the host answered, null when this version cannot be asked. */
function sandboxWorks(input: ProbeInput): boolean | null {
  const answer = input.answers.sandbox ?? null;
  if (answer === null || answer.timedOut || answer.exitCode === null) return null;
  if (
    /read-only file system|operation not permitted|permission denied/i.test(answer.stderr) &&
    answer.exitCode === 1
  )
    return true;
  if (answer.exitCode === 0) return false;
  return /bwrap|sandbox|landlock|seccomp|namespace/i.test(answer.stderr) && !/^error: /m.test(answer.stderr)
    ? false
    : null;
}

const sandboxEvidence = (works: boolean | null): Evidence[] =>
  works === null
    ? [found("sandbox", "could not be asked: rests on the flags in live help")]
    : [found("sandbox", works ? "refused a write below a read-only root" : "does not hold on this host")];

function authStatus(
  input: ProbeInput,
  custom: string | null,
): { authenticated: Profile["authenticated"]; source: Profile["authSource"]; evidence: Evidence } {
  const answer = input.answers.auth;
  const text = answer === null ? "" : `${answer.stdout}\n${answer.stderr}`;
  const key = input.envNames.has("CODEX_API_KEY");
  if (custom !== null)
    return {
      authenticated: "unverified",
      source: "unknown",
      evidence: found("config.toml", `another provider answers: \`${custom}\``),
    };
  if (key)
    return { authenticated: true, source: "key", evidence: found("environment", "CODEX_API_KEY is set") };
  if (answer === null || answer.timedOut || answer.exitCode === null)
    return { authenticated: "unverified", source: "unknown", evidence: found("login status", "no answer") };
  if (answer.exitCode === 0)
    return {
      authenticated: true,
      source: /api key/i.test(text)
        ? "key"
        : /chatgpt|account|subscription/i.test(text)
          ? "subscription"
          : "unknown",
      evidence: found("login status", "exit 0"),
    };
  const out = /not logged in/i.test(text);
  return {
    authenticated: out ? false : "unverified",
    source: out ? "none" : "unknown",
    evidence: found("login status", out ? "not logged in" : `exit ${answer.exitCode}`),
  };
}

/** The provider that the user's own configuration puts in the vendor's place; names only, no values of keys. */
export function customProvider(config: string): string | null {
  const top = config.split(/^\s*\[/m, 1)[0] as string;
  const named = /^\s*model_provider\s*=\s*["']([\w.-]+)["']/m.exec(top)?.[1] ?? null;
  if (named !== null && named !== "openai") return named;
  return /^\s*openai_base_url\s*=/m.test(top) ? "custom-endpoint" : null;
}

interface Catalogue {
  readonly models: string[] | null;
  readonly efforts: Effort[];
}

/** `debug models`: the catalogue as JSON. Efforts are those that every listed model offers. */
function readCatalogue(text: string): Catalogue {
  const listed = asList(parseObject(text.trim())?.["models"])
    .map(asObject)
    .filter((model) => model !== null && model["visibility"] === "list");
  if (listed.length === 0) return { models: null, efforts: [] };
  const offered = listed.map((model) =>
    asList(model?.["supported_reasoning_levels"]).map((level) => asText(asObject(level)?.["effort"])),
  );
  return {
    models: listed.flatMap((model) => asText(model?.["slug"]) ?? []),
    efforts: EFFORTS.filter((effort) => offered.every((levels) => levels.includes(effort))),
  };
}

const modelEvidence = (catalogue: Catalogue): Evidence[] => [
  found(
    "debug models",
    catalogue.models === null
      ? "no catalogue that can be read"
      : `${catalogue.models.length} models, efforts common to all: ${catalogue.efforts.join(", ") || "none"}`,
  ),
];

/** Two coarse grants: read-only covers reading and searching, workspace-write everything below the folder. */
function unmapped(words: readonly string[], disallowed: readonly string[]): string | null {
  if (words.length === 0) return "(no tools)";
  const foreign = words.find(
    (word) => !["read", "search", "edit", "write", "shell"].includes(parseToolWord(word).kind),
  );
  if (foreign !== undefined) return foreign;
  // Inside the writable sandbox its shell cannot be withheld.
  const grant = grantOf({ allowed: words, disallowed });
  if (readsOnly(grant)) return null;
  return disallowed.find((word) => parseToolWord(word).kind === "shell") ?? null;
}

function start(input: StartInput): Result<StartPlan, StartRefusal> {
  const { record, candidate, job, resumeSession } = input;
  const missing =
    refuseMissingFlags("codex", record, ESSENTIAL) ?? refuseEffort("codex", record, candidate.effort);
  if (missing !== null) return err(missing);
  const word = unmapped(job.tools.allowed, job.tools.disallowed);
  if (word !== null)
    return err({ code: "tool-unmapped", detail: `the sandbox of \`codex\` cannot bound \`${word}\`` });
  const grant = grantOf(job.tools);
  const mode = grant.edit || grant.write || hasShell(grant) ? "workspace-write" : "read-only";
  const argv = [
    executable(input),
    "exec",
    ...(resumeSession === null ? [] : [resumeSession.mode === "fork" ? "fork" : "resume"]),
    "--json",
    "--skip-git-repo-check",
    // The sub-commands of `exec` know neither -C nor -s: there the folder is the process's and the mode a setting.
    ...(resumeSession === null
      ? ["--cd", input.cwd, "--sandbox", mode]
      : ["--config", `sandbox_mode="${mode}"`]),
    ...settings(input),
    ...(record.flags["--ignore-rules"] === true ? ["--ignore-rules"] : []),
    ...(record.flags["--ephemeral"] === true && input.keepSession !== true && resumeSession === null
      ? ["--ephemeral"]
      : []),
    ...(candidate.model === null ? [] : ["--model", candidate.model]),
    ...(resumeSession === null ? [] : [resumeSession.handle]),
    "-",
  ];
  const bypass = refuseBypass(bypassFlag(argv, BYPASS_FLAGS.codex));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: input.prompt,
    env: {},
    envPass: [...codex.providerEnv, ...codex.gatewayEnv, ...(codex.envPass ?? [])],
    files: [],
    toolGating: "coarse",
  });
}

/** Started without its launcher where that was found, so that signals reach it. */
const executable = (input: StartInput): string =>
  input.record.binaryReal !== null && !input.record.binaryReal.endsWith(".js")
    ? input.record.binaryReal
    : (input.record.binary ?? "codex");

function settings(input: StartInput): string[] {
  const pairs = [
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
    "sandbox_workspace_write.network_access=false",
    'approval_policy="never"',
    ...(input.candidate.effort === null ? [] : [`model_reasoning_effort="${input.candidate.effort}"`]),
  ];
  return pairs.flatMap((pair) => ["--config", pair]);
}
