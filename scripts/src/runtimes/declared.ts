/**
 * Runtimes that an operator declares in `runtimes.yaml`, without code: agents by their argv and the places in their
 * output, plain programs (`agent: false`) by the invocation of each job. What the file claims is attested, not verified;
 * flags are looked up in live help before use.
 */
import { bypassFlag } from "../core/bypass-flags.ts";
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Adapter, ProbeInput, Profile, StartInput, StartPlan, StartRefusal } from "./adapter.ts";
import { observeDeclared, settleDeclared, settleProgram } from "./declared-stream.ts";
import { readHelp } from "./help-flags.ts";
import { initialState } from "./observed.ts";
import { type Evidence, flagFindings, found, liveState, UNPROVEN, versionIn } from "./profile.ts";
import { refuseBypass } from "./refusals.ts";
import { grantOf, hasShell, parseToolWord, readsOnly } from "./tool-words.ts";

export type { DeclaredRuntime };

/** One argument longer than this cannot be passed to a process (the kernel's limit, less a margin). */
export const ARGUMENT_MAX_BYTES = 128 * 1024 - 1;

export function declaredAdapter(spec: DeclaredRuntime): Adapter {
  const agent = spec.agent !== false;
  const bypassFlags = spec.bypass_flags ?? [];
  return {
    id: spec.id,
    kind: "cli",
    agent,
    role: spec.role === "classifier" ? "classifier" : agent ? "agent" : "program",
    vendor: null,
    capability: "C2",
    executable: spec.command,
    bypassFlags,
    gatewayEnv: [],
    providerEnv: spec.provider_env ?? [],
    envPass: spec.env_allow ?? [],
    output: agent ? (spec.output ?? "text") : "text",
    probe: {
      version: spec.version_args ?? [],
      help: spec.help_args === undefined ? [] : [spec.help_args],
      auth: spec.auth_args ?? null,
      models: spec.models_args ?? null,
    },
    profile: (input) => (agent ? agentProfile(spec, input) : programProfile(spec, input)),
    start: (input) => (agent ? startAgent(spec, input) : startProgram(spec, input)),
    initial: () => initialState,
    observe: (state, line) => observeDeclared(agent ? spec : { ...spec, output: "text" }, state, line),
    settle: (state, exit) => (agent ? settleDeclared(spec, state, exit) : settleProgram(state, exit)),
    resume: agent && usesSession(spec) ? "unverified" : "unsupported",
    fork: "unsupported",
    steer: "unsupported",
    unmappedTool: (words, _tier, disallowed) => (agent ? unmapped(spec, words, disallowed ?? []) : null),
    effortLevels: spec.effort_levels ?? [],
  };
}

const usesSession = (spec: DeclaredRuntime): boolean =>
  spec.session !== undefined &&
  (spec.flags?.session !== undefined || (spec.argv ?? []).some((word) => word.includes("{session}")));

/** Flags that the entry names, and therefore has to find in live help. */
function namedFlags(spec: DeclaredRuntime): string[] {
  const { model, effort, cwd, session, tools, read_only, workspace_write } = spec.flags ?? {};
  const single = [model, effort, cwd, session, tools].filter((flag) => flag !== undefined);
  const lists = [...(read_only ?? []), ...(workspace_write ?? [])];
  return [...new Set([...single, ...lists].filter((word) => word.startsWith("-")).map(flagName))];
}

const flagName = (word: string): string => word.split("=", 1)[0] as string;

function agentProfile(spec: DeclaredRuntime, input: ProbeInput): Profile {
  const help = readHelp(input.answers.help.flatMap((answer) => [answer.stdout, answer.stderr]));
  const { flags, evidence } = flagFindings(help, namedFlags(spec));
  const authenticated = authStatus(spec, input);
  const missing = Object.keys(flags).filter((flag) => flags[flag] === false);
  const attested = <V extends string>(
    value: V | undefined,
  ): { value: V | "unverified"; evidence: "attested" | "unverified" } =>
    value === undefined ? { value: "unverified", evidence: "unverified" } : { value, evidence: "attested" };
  return {
    ...UNPROVEN,
    ...state(spec, input, missing, authenticated),
    version: versionIn(input.answers.version),
    authenticated,
    provider: spec.provider ?? null,
    models: liveModels(spec, input),
    family: spec.family ?? null,
    headless: true,
    cwdControl: spec.controls?.cwdControl ?? "process-owned",
    approval: attested(spec.controls?.approval),
    toolGating: attested(spec.controls?.toolGating),
    writeBoundary: attested(spec.controls?.writeBoundary),
    isolation: attested(spec.controls?.isolation),
    bypassAbsent: {
      value: bypassFlag(spec.argv ?? [], spec.bypass_flags ?? []) === null,
      evidence: "attested",
    },
    capture: {
      value: spec.output === undefined || spec.output === "text" ? "text" : "structured",
      evidence: "attested",
    },
    resume: usesSession(spec) ? "unverified" : "unsupported",
    fork: "unsupported",
    steer: "unsupported",
    structuredOutput: spec.output === "json" || spec.output === "jsonl",
    effortLevels: spec.effort_levels ?? [],
    flags,
    evidence: [
      found("runtimes.yaml", "controls, capability and family are its operator's word"),
      ...(namedFlags(spec).length > 0 ? evidence : []),
    ],
    notes: [],
  };
}

function programProfile(spec: DeclaredRuntime, input: ProbeInput): Profile {
  const isClassifier = spec.role === "classifier";
  const evidence: Evidence[] = [
    found(
      "runtimes.yaml",
      "a program without a model: it runs the declared argument vector and nothing else",
    ),
  ];
  return {
    ...UNPROVEN,
    ...state(spec, input, [], "unverified"),
    version: versionIn(input.answers.version),
    authSource: isClassifier ? "unknown" : "none",
    provider: spec.provider ?? null,
    headless: true,
    cwdControl: "process-owned",
    approval: { value: "scoped", evidence: "verified" },
    toolGating: { value: "granular", evidence: "verified" },
    writeBoundary: { value: spec.controls?.writeBoundary ?? "none", evidence: "attested" },
    isolation: { value: spec.controls?.isolation ?? "none", evidence: "attested" },
    bypassAbsent: { value: true, evidence: "verified" },
    capture: { value: "text", evidence: "verified" },
    resume: "unsupported",
    fork: "unsupported",
    steer: "unsupported",
    evidence,
    notes: isClassifier ? [] : ["what it changes is measured afterwards"],
  };
}

/** A version or help that was not declared is not asked, and then not missing. */
function state(
  spec: DeclaredRuntime,
  input: ProbeInput,
  missing: readonly string[],
  authenticated: Profile["authenticated"],
): Pick<Profile, "state" | "reason"> {
  const idle = { exitCode: 0, stdout: "", stderr: "", timedOut: false };
  const asked = spec.help_args !== undefined;
  return liveState({
    version: spec.version_args === undefined ? idle : input.answers.version,
    help: asked ? input.answers.help : [idle],
    missingEssential: asked ? missing : [],
    authenticated,
    constrained: !asked && missing.length > 0 ? `help-unknown: ${missing.join(", ")}` : null,
  });
}

function authStatus(spec: DeclaredRuntime, input: ProbeInput): Profile["authenticated"] {
  const answer = spec.auth_args === undefined ? null : input.answers.auth;
  if (answer === null || answer.timedOut || answer.exitCode === null) return "unverified";
  return answer.exitCode === 0;
}

function liveModels(spec: DeclaredRuntime, input: ProbeInput): string[] | null {
  const answer = spec.models_args === undefined ? null : input.answers.models;
  if (answer === null || answer.timedOut || answer.exitCode !== 0) return spec.models ?? null;
  const listed = answer.stdout
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => /^[\w./:@-]+$/.test(line));
  return listed.length > 0 ? listed : (spec.models ?? null);
}

/** Without tool flags the words rest on the gating that the operator attests; never on nothing. */
function unmapped(
  spec: DeclaredRuntime,
  words: readonly string[],
  disallowed: readonly string[],
): string | null {
  const named = spec.tools ?? {};
  const byName = namesTools(spec);
  const grant = grantOf({ allowed: words, disallowed });
  if (byName)
    return words.find((word) => !disallowed.includes(word) && toolName(named, word) === null) ?? null;
  const gating = spec.controls?.toolGating;
  if (gating === undefined || gating === "none") return words[0] ?? "(no tools)";
  if (words.length === 0) return "(no tools)";
  if (readsOnly(grant) && spec.flags?.read_only === undefined) return words[0] ?? null;
  if (disallowed.some((word) => word === "shell") && !readsOnly(grant)) return "shell";
  return (
    words.find((word) => !["read", "search", "edit", "write", "shell"].includes(parseToolWord(word).kind)) ??
    null
  );
}

/** It takes a list of tools: by a flag, or at its own place in `argv`. */
const namesTools = (spec: DeclaredRuntime): boolean =>
  spec.flags?.tools !== undefined || (spec.argv ?? []).some((word) => word.includes("{tools}"));

function toolName(named: Readonly<Record<string, string>>, word: string): string | null {
  const own = Object.hasOwn(named, word) ? named[word] : undefined;
  if (own !== undefined) return own;
  return parseToolWord(word).kind === "raw" ? word : null;
}

function startProgram(spec: DeclaredRuntime, input: StartInput): Result<StartPlan, StartRefusal> {
  if (spec.role === "classifier") return startClassifier(spec, input);
  const { invocation } = input.job;
  if (invocation === null)
    return err({
      code: "invocation-missing",
      detail: `\`${spec.id}\` is a program: the job must declare its \`invocation\``,
    });
  const argv = [invocation.command, ...invocation.args];
  const bypass = refuseBypass(bypassFlag(argv, spec.bypass_flags ?? []));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: invocation.stdin === "prompt" ? input.prompt : null,
    env: {},
    envPass: [...new Set([...(spec.env_allow ?? []), ...(spec.provider_env ?? []), ...invocation.envAllow])],
    files: [],
    toolGating: "granular",
  });
}

/** One envelope in, one document out: its own argv, no tools, no job's words in it. */
function startClassifier(spec: DeclaredRuntime, input: StartInput): Result<StartPlan, StartRefusal> {
  return ok({
    argv: [input.record.binary ?? spec.command, ...(spec.argv ?? [])],
    stdin: input.prompt,
    env: {},
    envPass: [...new Set([...(spec.env_allow ?? []), ...(spec.provider_env ?? [])])],
    files: [],
    toolGating: "granular",
  });
}

function startAgent(spec: DeclaredRuntime, input: StartInput): Result<StartPlan, StartRefusal> {
  if (spec.prompt === "argv" && Buffer.byteLength(input.prompt) > ARGUMENT_MAX_BYTES)
    return err({
      code: "prompt-too-large",
      detail: `the prompt has ${Buffer.byteLength(input.prompt)} bytes, one argument holds ${ARGUMENT_MAX_BYTES}: declare \`prompt: stdin\` or \`file\``,
    });
  const refusal = missingSupport(spec, input);
  if (refusal !== null) return err(refusal);
  const argv = [input.record.binary ?? spec.command, ...declaredArgv(spec, input)];
  const words = argv.filter((word) => word !== input.prompt);
  const bypass = refuseBypass(bypassFlag(words, spec.bypass_flags ?? []));
  if (bypass !== null) return err(bypass);
  return ok({
    argv,
    stdin: (spec.prompt ?? "stdin") === "stdin" ? input.prompt : null,
    env: {},
    envPass: [...new Set([...(spec.env_allow ?? []), ...(spec.provider_env ?? [])])],
    files: [],
    toolGating: namesTools(spec) ? "granular" : "coarse",
  });
}

/** What the job asks for and the entry has no place for. */
function missingSupport(spec: DeclaredRuntime, input: StartInput): StartRefusal | null {
  const placed = (name: string, flag: string | undefined): boolean =>
    flag !== undefined || (spec.argv ?? []).some((word) => word.includes(`{${name}}`));
  const { model, effort } = input.candidate;
  if (model !== null && !placed("model", spec.flags?.model))
    return { code: "flag-missing", detail: `\`${spec.id}\` declares no place for a model` };
  if (effort !== null && !placed("effort", spec.flags?.effort))
    return { code: "effort-unsupported", detail: `\`${spec.id}\` declares no place for an effort` };
  if (
    input.resumeSession !== null &&
    (!placed("session", spec.flags?.session) || input.resumeSession.mode === "fork")
  )
    return {
      code: "session-unsupported",
      detail: `\`${spec.id}\` declares no way to ${input.resumeSession.mode} a session`,
    };
  const missing = Object.entries(input.record.flags).find(([, present]) => !present)?.[0];
  if (missing !== undefined && spec.help_args !== undefined)
    return { code: "flag-missing", detail: `the live help of \`${spec.id}\` does not list \`${missing}\`` };
  const word = unmapped(spec, input.job.tools.allowed, input.job.tools.disallowed);
  return word === null
    ? null
    : { code: "tool-unmapped", detail: `\`${spec.id}\` cannot map the tool \`${word}\`` };
}

/** The declared argv with its placeholders filled, then the flags it did not place itself, then the prompt. */
export function declaredArgv(spec: DeclaredRuntime, input: StartInput): string[] {
  const values: Readonly<Record<string, string | null>> = {
    prompt_file: input.promptFile,
    prompt: input.prompt,
    model: input.candidate.model,
    effort: input.candidate.effort,
    cwd: input.cwd,
    session: input.resumeSession?.handle ?? null,
    tools: toolList(spec, input),
  };
  const template = spec.argv ?? [];
  const filled = fill(template, values);
  const holds = (name: string): boolean => template.some((word) => word.includes(`{${name}}`));
  for (const name of ["model", "effort", "cwd", "session"] as const) {
    const flag = spec.flags?.[name];
    const value = values[name];
    if (flag !== undefined && value !== null && value !== undefined && !holds(name)) filled.push(flag, value);
  }
  if (!holds("tools")) filled.push(...toolArguments(spec, input));
  if (spec.prompt === "argv" && !holds("prompt"))
    filled.push(...(input.prompt.startsWith("-") ? ["--"] : []), input.prompt);
  if (spec.prompt === "file" && !holds("prompt_file")) filled.push(input.promptFile);
  return filled;
}

/** Its own names of the granted tools, with commas. */
function toolList(spec: DeclaredRuntime, input: StartInput): string {
  const { allowed, disallowed } = input.job.tools;
  const words = allowed.filter((word) => !disallowed.includes(word));
  return [...new Set(words.flatMap((word) => toolName(spec.tools ?? {}, word) ?? []))].join(",");
}

function toolArguments(spec: DeclaredRuntime, input: StartInput): string[] {
  const grant = grantOf(input.job.tools);
  const flags = spec.flags ?? {};
  if (flags.tools !== undefined) return [`${flags.tools}=${toolList(spec, input)}`];
  if (readsOnly(grant)) return flags.read_only ?? [];
  return grant.edit || grant.write || hasShell(grant) ? (flags.workspace_write ?? []) : [];
}

/** An argument whose value is absent goes, together with a flag before it that only introduces it. */
function fill(template: readonly string[], values: Readonly<Record<string, string | null>>): string[] {
  const out: string[] = [];
  for (const word of template) {
    const names = [...word.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] as string);
    const known = names.filter((name) => Object.hasOwn(values, name));
    if (known.some((name) => values[name] === null)) {
      const before = out.at(-1);
      if (/^\{[a-z_]+\}$/.test(word) && before?.startsWith("-") === true && !before.includes("=")) out.pop();
      continue;
    }
    // One pass, so that braces in a filled-in prompt stay as they are.
    out.push(
      word.replace(/\{([a-z_]+)\}/g, (whole, name: string) =>
        Object.hasOwn(values, name) ? (values[name] as string) : whole,
      ),
    );
  }
  return out;
}
