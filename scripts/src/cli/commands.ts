/**
 * Every command, once: the parser, `--help`, shell completion and the reference pages are made from this table.
 * A handler is loaded only when its command runs, so that a command pays for its own modules alone.
 */
import type { ExitCode } from "../core/exit-codes.ts";
import { FAILURE_RULES } from "../core/runtime.ts";
import { CAPABILITY_TIERS, EFFORTS } from "../core/tiers.ts";
import type { Handler, HiddenHandler } from "./context.ts";

export type FlagType =
  | { readonly kind: "boolean" }
  | { readonly kind: "text"; readonly placeholder: string }
  | { readonly kind: "integer"; readonly placeholder: string; readonly min: number; readonly max: number }
  | { readonly kind: "duration"; readonly placeholder: string }
  | { readonly kind: "choice"; readonly values: readonly string[] };

export interface FlagSpec {
  readonly name: string;
  readonly type: FlagType;
  readonly description: string;
  /** Shown in help; the handler applies it. */
  readonly default?: string;
  /** May be given more than once; the handler gets a list. */
  readonly repeat?: true;
}

export interface ArgSpec {
  readonly name: string;
  readonly required: boolean;
  readonly repeat?: true;
  readonly description: string;
  /** A closed set: anything else is a usage error. */
  readonly values?: readonly string[];
}

export type CommandGroup = "plan" | "run" | "look" | "answer" | "upkeep";

export interface CommandSpec {
  /** One or two words; the second is a subcommand. */
  readonly name: string;
  readonly group: CommandGroup;
  readonly summary: string;
  readonly args: readonly ArgSpec[];
  readonly flags: readonly FlagSpec[];
  /** Arguments of one worked example, after the tool's name. */
  readonly example: { readonly argv: readonly string[]; readonly shows: string };
  readonly exitCodes: readonly ExitCode[];
  /** Writes nothing at all: safe to allow without asking. */
  readonly readOnly: boolean;
  /** The one flag with which a read-only command does more. */
  readonly writesWith?: string;
  readonly load: () => Promise<{ readonly handler: Handler }>;
}

export const GROUP_TITLES: Readonly<Record<CommandGroup, string>> = {
  plan: "Before a run",
  run: "Running",
  look: "Looking at a run (these write nothing, but for `report`)",
  answer: "Answering what a run asks for",
  upkeep: "Upkeep",
};

const flag = (name: string, description: string): FlagSpec => ({
  name,
  type: { kind: "boolean" },
  description,
});
const text = (name: string, placeholder: string, description: string): FlagSpec => ({
  name,
  type: { kind: "text", placeholder },
  description,
});
const integer = (
  name: string,
  placeholder: string,
  bounds: { readonly min: number; readonly max: number },
  description: string,
): FlagSpec => ({ name, type: { kind: "integer", placeholder, ...bounds }, description });
const choice = (
  name: string,
  values: readonly string[],
  fallback: string,
  description: string,
): FlagSpec => ({ name, type: { kind: "choice", values }, default: fallback, description });
const many = (spec: FlagSpec): FlagSpec => ({ ...spec, repeat: true });

const SPEC: ArgSpec = { name: "SPEC", required: true, description: "job spec, YAML or JSON" };
const RUN: ArgSpec = {
  name: "RUN",
  required: false,
  description: "run directory or run id; absent: the newest run",
};
const JOB_FLAG = text("job", "JOB", "job id");
const ATTEMPT_FLAG = integer("attempt", "N", { min: 1, max: 1_000_000 }, "attempt number, as in the action");
const NOTE_FLAG = text("note", "TEXT", "kept with the record");
const HARNESS_FLAGS: readonly FlagSpec[] = [
  text(
    "harness",
    "NAME",
    "coding agent that calls this tool, e.g. claude-code or codex; also ORCHESTRATE_HARNESS",
  ),
  flag("subagents", "the harness can dispatch subagents; also ORCHESTRATE_SUBAGENTS=1"),
];
const SMOKE_FLAGS: readonly FlagSpec[] = [
  flag("smoke", "also ask each live agent one tiny question in a fresh worktree: spends inference"),
  {
    name: "timeout",
    type: { kind: "duration", placeholder: "TIME" },
    description: "with --smoke: how long one may take",
    default: "2m",
  },
];
const ROUTING_FLAGS: readonly FlagSpec[] = [
  flag("internal", "prefer in-session subagents for jobs without a runtime"),
  integer("concurrency", "N", { min: 1, max: 64 }, "jobs at once, instead of the spec's number"),
  many(text("only", "JOB", "this job and what it depends on; repeatable")),
  ...HARNESS_FLAGS,
];

const RUN_CODES: readonly ExitCode[] = [0, 1, 2, 3, 4, 5, 130, 143];
const ANSWER_CODES: readonly ExitCode[] = [0, 2, 4, 5];
const LOOK_CODES: readonly ExitCode[] = [0, 2, 4];

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "init",
    group: "plan",
    summary: "write a commented job spec to start from",
    args: [],
    flags: [
      choice("template", ["research", "refactor", "review-panel", "migrate"], "research", "kind of work"),
      { ...text("out", "FILE", "where to write it; `-` is stdout"), default: "jobs.yaml" },
      flag("force", "replace an existing file"),
    ],
    example: { argv: ["init", "--template", "refactor"], shows: "writes jobs.yaml" },
    exitCodes: [0, 2, 4],
    readOnly: false,
    load: () => import("./commands/init.ts"),
  },
  {
    name: "validate",
    group: "plan",
    summary: "check a job spec; every fault with its place and its fix",
    args: [SPEC],
    flags: [],
    example: { argv: ["validate", "jobs.yaml"], shows: "lists all faults in one pass" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/validate.ts"),
  },
  {
    name: "plan",
    group: "plan",
    summary: "dry run: stages, tiers, routes, gate, commands and providers",
    args: [SPEC],
    flags: [choice("graph", ["mermaid", "dot", "text"], "text", "form of the job graph"), ...ROUTING_FLAGS],
    example: { argv: ["plan", "jobs.yaml", "--graph", "mermaid"], shows: "shows what `run` would do" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/plan.ts"),
  },
  {
    name: "gate",
    group: "plan",
    summary: "per job: required controls, the evidence for each, what is missing",
    args: [SPEC],
    flags: [...ROUTING_FLAGS],
    example: { argv: ["gate", "jobs.yaml"], shows: "explains why a job may or may not run" },
    exitCodes: [0, 1, 2, 4],
    readOnly: true,
    load: () => import("./commands/gate.ts"),
  },
  {
    name: "probe",
    group: "plan",
    summary: "what runtimes this host has, and what proves it",
    args: [{ name: "RUNTIME", required: false, repeat: true, description: "runtime ids; absent: all" }],
    flags: [...SMOKE_FLAGS, ...HARNESS_FLAGS],
    example: {
      argv: ["probe", "claude", "codex"],
      shows: "asks versions, help and login state; no inference",
    },
    exitCodes: [0, 2, 4],
    readOnly: true,
    writesWith: "--smoke",
    load: () => import("./commands/probe.ts"),
  },
  {
    name: "doctor",
    group: "plan",
    summary: "what on this host would hang or weaken a run, with the fix",
    args: [],
    flags: [...SMOKE_FLAGS, ...HARNESS_FLAGS],
    example: { argv: ["doctor"], shows: "one line per fault, each with one command" },
    exitCodes: [0, 1, 2, 4],
    readOnly: true,
    writesWith: "--smoke",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "run",
    group: "run",
    summary: "run a job spec, from validation to report",
    args: [{ ...SPEC, required: false, description: "job spec, YAML or JSON; not with --resume" }],
    flags: [
      flag("yes", "approve exactly the destructive scopes that the spec describes"),
      ...ROUTING_FLAGS,
      flag("detach", "return once the coordinator runs"),
      text("run-dir", "DIR", "new run directory, instead of plans/reports/orchestrate-TIME"),
      text("resume", "RUN", "the same as `resume RUN`"),
    ],
    example: {
      argv: ["run", "jobs.yaml", "--harness", "claude-code", "--subagents"],
      shows: "returns when the run is settled or something is due",
    },
    exitCodes: RUN_CODES,
    readOnly: false,
    load: () => import("./commands/run.ts"),
  },
  {
    name: "resume",
    group: "run",
    summary: "reconcile a run with what really happened and go on",
    args: [RUN],
    flags: [
      many(text("retry", "JOB", "run this finished or blocked job again; repeatable")),
      text("base", "COMMIT", "with one --retry: start it from this merge commit"),
      flag("detach", "return once the coordinator runs"),
      ...HARNESS_FLAGS,
    ],
    example: { argv: ["resume", "--retry", "review"], shows: "goes on with the newest run" },
    exitCodes: RUN_CODES,
    readOnly: false,
    load: () => import("./commands/resume.ts"),
  },
  {
    name: "wait",
    group: "run",
    summary: "block until something is due, changed or settled",
    args: [RUN],
    flags: [
      choice("for", ["action", "change", "settled"], "action", "what to wait for"),
      {
        name: "timeout",
        type: { kind: "duration", placeholder: "TIME" },
        description: "give up with exit 3, e.g. 90s or 10m",
      },
    ],
    example: { argv: ["wait", "--for", "settled", "--timeout", "9m"], shows: "waits for the newest run" },
    exitCodes: RUN_CODES,
    readOnly: true,
    load: () => import("./commands/wait.ts"),
  },
  {
    name: "next",
    group: "run",
    summary: "what is to be done now; the same ids until it is done",
    args: [RUN],
    flags: [],
    example: { argv: ["next", "--json"], shows: "at most ten actions, each with its command" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/next.ts"),
  },
  {
    name: "cancel",
    group: "run",
    summary: "stop a run or one job, and prove that it stopped",
    args: [RUN],
    flags: [JOB_FLAG],
    example: { argv: ["cancel", "--job", "implement-api"], shows: "stops one job of the newest run" },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/cancel.ts"),
  },
  {
    name: "steer",
    group: "run",
    summary: "say a word to work that runs, where its runtime was proven to take one",
    args: [RUN],
    flags: [JOB_FLAG, text("message", "TEXT", "what the job is to be told")],
    example: {
      argv: ["steer", "--job", "implement-api", "--message", "leave the tests alone"],
      shows: "refuses by name where the runtime takes no word; `cancel` the job instead",
    },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/steer.ts"),
  },
  {
    name: "status",
    group: "look",
    summary: "snapshot of a run and its jobs",
    args: [RUN],
    flags: [],
    example: { argv: ["status"], shows: "one line per job of the newest run" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/status.ts"),
  },
  {
    name: "logs",
    group: "look",
    summary: "captured output of a job",
    args: [{ name: "JOB", required: false, description: "job id; absent: all jobs" }],
    flags: [
      text("run", "RUN", "run directory or run id; absent: the newest run"),
      flag("follow", "go on until the run settles; JSON lines with --json"),
      integer("lines", "N", { min: 1, max: 100_000 }, "last lines of each job"),
    ],
    example: { argv: ["logs", "implement-api", "--lines", "40"], shows: "the end of one job's output" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/logs.ts"),
  },
  {
    name: "events",
    group: "look",
    summary: "a page of normalized events, with cursor and has_more",
    args: [RUN],
    flags: [
      integer("after", "SEQ", { min: 0, max: Number.MAX_SAFE_INTEGER }, "events after this sequence number"),
      integer("limit", "N", { min: 1, max: 1_000 }, "events on this page"),
      JOB_FLAG,
    ],
    example: { argv: ["events", "--after", "120", "--limit", "50"], shows: "JSON lines and the next cursor" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/events.ts"),
  },
  {
    name: "watch",
    group: "look",
    summary: "live view of a run until it settles",
    args: [RUN],
    flags: [],
    example: { argv: ["watch"], shows: "one line per change of the newest run" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "explain",
    group: "look",
    summary: "why a job was tiered, routed, gated and judged so",
    args: [RUN, { name: "JOB", required: false, description: "job id; absent: all jobs" }],
    flags: [],
    example: { argv: ["explain", "orchestrate-20260101-120000", "review"], shows: "the recorded reasons" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/explain.ts"),
  },
  {
    name: "verify",
    group: "look",
    summary: "judge recorded results, artifacts, branches and scripts again",
    args: [RUN],
    flags: [JOB_FLAG],
    example: { argv: ["verify", "--job", "implement-api"], shows: "each check and whether it still holds" },
    exitCodes: [0, 1, 2, 4],
    readOnly: true,
    load: () => import("./commands/verify.ts"),
  },
  {
    name: "report",
    group: "look",
    summary: "write the report again and say where it is",
    args: [RUN],
    flags: [choice("format", ["md", "html", "json"], "md", "form of the report")],
    example: { argv: ["report"], shows: "the report of the newest run" },
    exitCodes: LOOK_CODES,
    readOnly: false,
    load: () => import("./commands/report.ts"),
  },
  {
    name: "native start",
    group: "answer",
    summary: "a subagent was dispatched for this attempt",
    args: [RUN],
    flags: [JOB_FLAG, ATTEMPT_FLAG, text("handle", "HANDLE", "the harness's name for the subagent")],
    example: {
      argv: ["native", "start", "--job", "scout", "--attempt", "1", "--handle", "agent-7"],
      shows: "records the start",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/native-start.ts"),
  },
  {
    name: "native finish",
    group: "answer",
    summary: "a subagent's answer is in a file",
    args: [RUN],
    flags: [
      JOB_FLAG,
      ATTEMPT_FLAG,
      text("handle", "HANDLE", "the harness's name for the subagent"),
      text("result", "FILE", "the final message: save it to the action's `resultFile`"),
      text("usage", "FILE", "JSON file with tokens and cost, when the harness knows them"),
    ],
    example: {
      argv: [
        "native",
        "finish",
        "--job",
        "scout",
        "--attempt",
        "1",
        "--result",
        ".orchestrate/runs/<run-id>/scout/native-answer-1.md",
      ],
      shows:
        "copies and verifies the answer, which is saved in the run directory: elsewhere it would count as a change",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/native-finish.ts"),
  },
  {
    name: "native fail",
    group: "answer",
    summary: "a subagent could not do its job",
    args: [RUN],
    flags: [
      JOB_FLAG,
      ATTEMPT_FLAG,
      {
        name: "class",
        type: { kind: "choice", values: Object.keys(FAILURE_RULES) },
        description: "failure class",
      },
      text("message", "TEXT", "what happened"),
    ],
    example: {
      argv: [
        "native",
        "fail",
        "--job",
        "scout",
        "--attempt",
        "1",
        "--class",
        "TOOL_FAILURE",
        "--message",
        "no web access",
      ],
      shows: "settles the attempt as failed",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/native-fail.ts"),
  },
  {
    name: "native cancelled",
    group: "answer",
    summary: "a subagent was stopped, as the run asked",
    args: [RUN],
    flags: [JOB_FLAG, ATTEMPT_FLAG],
    example: {
      argv: ["native", "cancelled", "--job", "scout", "--attempt", "1"],
      shows: "confirms the stop",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/native-cancelled.ts"),
  },
  {
    name: "approve",
    group: "answer",
    summary: "approve one exact scope, what a project's own policy claims, or sending content to a provider",
    args: [RUN],
    flags: [
      JOB_FLAG,
      text("scope", "SHA256", "scope digest, as shown in the request"),
      text("policy", "HASH", "entry or whole file of the project's policy, as `policy show` prints it"),
      text("egress", "ID", "leave to send content, as `next` and `plan` show it; RUN may be a spec"),
      NOTE_FLAG,
    ],
    example: {
      argv: ["approve", "--job", "deploy", "--scope", "<sha256>", "--note", "agreed in review"],
      shows: "the job may start",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/approve.ts"),
  },
  {
    name: "deny",
    group: "answer",
    summary: "refuse a requested scope, sending content, or what was approved of a project's policy",
    args: [RUN],
    flags: [
      JOB_FLAG,
      text("scope", "SHA256", "scope digest, as shown in the request"),
      text("policy", "HASH", "entry or whole file that shall no longer count"),
      text("egress", "ID", "leave to send content, as `next` and `plan` show it; RUN may be a spec"),
      NOTE_FLAG,
    ],
    example: { argv: ["deny", "--job", "deploy", "--scope", "<sha256>"], shows: "blocks the job: denied" },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/deny.ts"),
  },
  {
    name: "verdict",
    group: "answer",
    summary: "hand in an independent arbiter's verdict",
    args: [RUN],
    flags: [
      text("file", "FILE", "JSON verdict (`schema verdict`)"),
      text("handle", "HANDLE", "session that wrote it; must be no producer's"),
    ],
    example: {
      argv: ["verdict", "--file", ".orchestrate/runs/<run-id>/arbiter-1/verdict.json", "--handle", "agent-9"],
      shows: "accepts or rejects the reviewed work",
    },
    exitCodes: ANSWER_CODES,
    readOnly: false,
    load: () => import("./commands/verdict.ts"),
  },
  {
    name: "policy show",
    group: "upkeep",
    summary: "the operator policy that applies here, and where it comes from",
    args: [],
    flags: [],
    example: { argv: ["policy", "show"], shows: "project and home policy, with digests" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/policy-show.ts"),
  },
  {
    name: "policy set",
    group: "upkeep",
    summary: "say in the operator policy what a runtime is trusted with; comments stay",
    args: [{ name: "RUNTIME", required: true, description: "runtime id that the entry speaks about" }],
    flags: [
      text("provider", "NAME", "only when this provider answers"),
      text("model", "PATTERN", "only for models that match; `*` stands for any text"),
      { name: "effort", type: { kind: "choice", values: EFFORTS }, description: "only at this effort" },
      {
        name: "capability",
        type: { kind: "choice", values: CAPABILITY_TIERS },
        description: "judgment it is trusted with",
      },
      text("family", "NAME", "whose models it runs; compared for independence of review"),
      {
        name: "cost-dimension",
        type: { kind: "choice", values: ["actualMarginalCostUsd", "apiEquivalentCostUsd", "quotaBurn"] },
        description: "in which dimension its cost counts",
      },
      many(text("unset", "FIELD", "take capability, family or cost-dimension out of the entry; repeatable")),
      flag("remove", "take the whole entry out"),
      flag("project", "in the project's file instead of the user's own"),
      flag("dry-run", "only show the entry before and after"),
    ],
    example: {
      argv: ["policy", "set", "opencode", "--provider", "local", "--capability", "C3", "--family", "local"],
      shows: "the entry before and after, and the file",
    },
    exitCodes: [0, 2, 4],
    readOnly: false,
    load: () => import("./commands/policy-set.ts"),
  },
  {
    name: "onboard",
    group: "upkeep",
    summary: "how a missing runtime gets here: exact commands, run only with --apply, and their undo",
    args: [{ name: "RUNTIME", required: true, description: "runtime id" }],
    flags: [
      flag("apply", "run the installation; never logs in, touches no credential"),
      text(
        "run",
        "RUN",
        "the run that waits for it and records what was done; default: the newest, if it waits",
      ),
    ],
    example: {
      argv: ["onboard", "pi"],
      shows: "what would be installed, what the user does, how to undo it",
    },
    exitCodes: [0, 1, 2, 4],
    readOnly: true,
    writesWith: "--apply",
    load: () => import("./commands/onboard.ts"),
  },
  {
    name: "credentials",
    group: "upkeep",
    summary: "where the decision plane's provider key would come from; never its value",
    args: [],
    flags: [],
    example: { argv: ["credentials"], shows: "source, trust, shadowed places and the read order" },
    exitCodes: LOOK_CODES,
    readOnly: true,
    load: () => import("./commands/credentials.ts"),
  },
  {
    name: "calibrate",
    group: "upkeep",
    summary: "measure classifiers against the C3 verdicts of this project's runs",
    args: [
      { name: "RUN", required: false, repeat: true, description: "runs to read; absent: all of the project" },
    ],
    flags: [
      text("classifier", "ID", "measure only this one"),
      flag("dry-run", "only say what would be written"),
    ],
    example: { argv: ["calibrate"], shows: "samples, agreement and what is still missing, per classifier" },
    exitCodes: LOOK_CODES,
    readOnly: false,
    load: () => import("./commands/calibrate.ts"),
  },
  {
    name: "integrate",
    group: "upkeep",
    summary: "bring accepted work into your branch, one job at a time",
    args: [RUN],
    flags: [
      flag("preview", "merge on trial, run the checks on the result, change nothing (default)"),
      flag("apply", "do it; stops at the first conflict with nothing half-applied"),
      flag("undo", "take back what was applied, the last step first"),
      { ...JOB_FLAG, repeat: true, description: "only this job and what it stands on; may be repeated" },
    ],
    example: {
      argv: ["integrate", "--preview"],
      shows: "what would be merged, and whether its checks still pass",
    },
    exitCodes: [0, 1, 2, 4],
    readOnly: false,
    load: () => import("./commands/integrate.ts"),
  },
  {
    name: "clean",
    group: "upkeep",
    summary: "remove a run's worktrees where nothing would be lost",
    args: [RUN],
    flags: [flag("dry-run", "only say what would be removed and what stays")],
    example: { argv: ["clean", "--dry-run"], shows: "what can go, what stays and why" },
    exitCodes: [0, 2, 4, 5],
    readOnly: false,
    load: () => import("./commands/clean.ts"),
  },
  {
    name: "schema",
    group: "upkeep",
    summary: "print a JSON Schema",
    args: [{ name: "NAME", required: false, description: "absent: list the names" }],
    flags: [],
    example: { argv: ["schema", "jobs"], shows: "the schema of a job spec" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/schema.ts"),
  },
  {
    name: "completion",
    group: "upkeep",
    summary: "print a shell completion script",
    args: [{ name: "SHELL", required: true, description: "which shell", values: ["bash", "zsh", "fish"] }],
    flags: [],
    example: { argv: ["completion", "bash"], shows: "to be sourced by the shell" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/completion.ts"),
  },
  {
    name: "help",
    group: "upkeep",
    summary: "help for the tool or for one command; the same as --help",
    args: [{ name: "COMMAND", required: false, repeat: true, description: "command name" }],
    flags: [],
    example: { argv: ["help", "run"], shows: "flags, exit codes and an example" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/help.ts"),
  },
  {
    name: "version",
    group: "upkeep",
    summary: "the version; the same as --version",
    args: [],
    flags: [],
    example: { argv: ["version", "--json"], shows: "version and Node release" },
    exitCodes: [0, 2, 4],
    readOnly: true,
    load: () => import("./commands/version.ts"),
  },
];

export const GLOBAL_FLAGS: readonly FlagSpec[] = [
  flag("json", "print one JSON document on stdout"),
  flag("help", "print this help"),
];

export interface HiddenCommand {
  readonly name: string;
  readonly load: () => Promise<{ readonly handler: HiddenHandler }>;
}

/** Parts of the tool that it starts itself; never shown, never for people. */
export const HIDDEN_COMMANDS: readonly HiddenCommand[] = [
  { name: "__coordinate", load: () => import("./commands/hidden-coordinate.ts") },
  { name: "__mock", load: () => import("./commands/hidden-mock.ts") },
];
