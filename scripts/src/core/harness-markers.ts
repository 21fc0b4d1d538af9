/**
 * Variables by which a process learns who started it, and the ones that bend how programs load or how git finds its
 * repository. None of them reaches a child: a nested coding CLI that sees its vendor's marker refuses to start, joins
 * the outer session, or reports to the outer editor.
 */

/** Every process of a job carries this with the job's marker; the sweep after a job looks for it. */
export const JOB_MARKER = "ORCHESTRATE_JOB";

/** Markers of the jobs around this one, a line each: a job may itself run this tool. */
export const JOB_ANCESTORS = "ORCHESTRATE_JOB_ANCESTORS";

/** Exact names, by the program that sets them for what it starts. */
export const HARNESS_MARKERS: Readonly<Record<string, readonly string[]>> = {
  claude: [
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_PARENT_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_IS_COWORK",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_REMOTE_SESSION_ID",
    "CLAUDE_CODE_TMPDIR",
    "CLAUDE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_ENV_FILE",
    "CLAUDE_SKILL_DIR",
  ],
  codex: [
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "CODEX_CI",
    "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
    "CODEX_MANAGED_BY_NPM",
    "CODEX_MANAGED_BY_BUN",
  ],
  gemini: ["GEMINI_CLI", "GEMINI_SESSION_ID"],
  qwen: ["QWEN_CODE"],
  opencode: ["OPENCODE", "OPENCODE_CLIENT", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_SESSION_ID"],
  pi: ["PI_CODING_AGENT", "OMPCODE"],
  cursor: ["CURSOR_AGENT", "CURSOR_TRACE_ID", "CURSOR_EXTENSION_HOST_ROLE"],
  copilot: ["COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"],
  amp: ["AMP_CURRENT_THREAD_ID"],
  augment: ["AUGMENT_AGENT"],
  cline: ["CLINE_ACTIVE"],
  crush: ["CRUSH"],
  goose: ["GOOSE_TERMINAL"],
  antigravity: ["ANTIGRAVITY_AGENT"],
  kiro: ["KIRO_AGENT_PATH"],
  generic: ["AGENT", "AI_AGENT", "AGENT_SESSION_ID"],
  editor: ["VSCODE_IPC_HOOK_CLI", "VSCODE_PID", "VSCODE_INJECTION"],
};

/** Whole families: git's own state, its editor hooks, and what a harness tells this tool. */
export const OWN_PREFIX = "ORCHESTRATE_";
const STRIPPED_PREFIXES: readonly string[] = ["GIT_", "VSCODE_GIT_", OWN_PREFIX];

/** They make a program load other code than its own, so no list of names can let them in. */
export const LOADER_VARIABLES: readonly string[] = [
  "NODE_OPTIONS",
  "NODE_REPL_EXTERNAL_MODULE",
  "NODE_V8_COVERAGE",
  "BASH_ENV",
  "ENV",
  "PYTHONSTARTUP",
  "PERL5OPT",
  "RUBYOPT",
  "JAVA_TOOL_OPTIONS",
];
const LOADER_PREFIXES: readonly string[] = ["LD_", "DYLD_"];

const EXACT: ReadonlySet<string> = new Set([...Object.values(HARNESS_MARKERS).flat(), ...LOADER_VARIABLES]);
const PREFIXES: readonly string[] = [...STRIPPED_PREFIXES, ...LOADER_PREFIXES];

/** Whether a variable of this name is withheld from every child. */
export function isStrippedVariable(name: string): boolean {
  return EXACT.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
}
