/** Flags that switch an agent's permission checks or its sandbox off. No approval makes one acceptable. */

/**
 * By the program that gives them this meaning, beside the generic names below. An entry is one flag, or a flag with the
 * value that makes it a bypass (`--approval-mode yolo`).
 */
export const BYPASS_FLAGS = {
  claude: [
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--permission-mode bypassPermissions",
  ],
  codex: [
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--yolo",
    "--full-auto",
    "--trust",
    "--approve-for-me",
    "-s danger-full-access",
    "--sandbox danger-full-access",
  ],
  gemini: ["-y", "--yolo", "--approval-mode yolo", "--raw-output"],
  qwen: ["-y", "--yolo", "--approval-mode yolo"],
  opencode: ["--auto"],
  pi: [],
  omp: ["--approval-mode yolo", "--auto-approve", "--plan-yolo"],
  agy: ["--dangerously-skip-permissions"],
  grok: ["--always-approve", "--yolo"],
  aider: ["--yes-always", "--yes"],
  "cursor-agent": ["-f", "--force", "--yolo"],
  droid: ["--skip-permissions-unsafe", "--auto high"],
  crush: ["-y", "--yolo"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Any program: the flag's own name says it. */
const GENERIC: readonly RegExp[] = [
  /^--?(?:allow-|enable-)?dangerous(?:ly)?(?:[-_][a-z-_]+)?$/i,
  /^--(?:[a-z]+-)?yolo$/i,
  /^--allow-all(?:-[a-z-]+)?$/i,
  /^--(?:trust|approve|accept|grant)-all(?:-[a-z-]+)?$/i,
  /^--(?:always-(?:allow|approve)|auto-approve|yes-always)$/i,
  /^--(?:skip|bypass|disable|ignore|no)-(?:permissions?|approvals?)(?:-[a-z-]+)?$/i,
  /^--bypass-sandbox(?:-[a-z-]+)?$/i,
];

/** Settings that do the same wherever they stand: in a value, in a configuration, in the text of `sh -c`. */
const ANYWHERE: readonly RegExp[] = [
  /\bbypassPermissions\b/,
  /\bdanger-full-access\b/,
  /\bdangerously[-_][a-z][a-z_-]{1,60}/i,
  /\bapproval[-_]?mode["']?(?: |=|: ?){1,2}["']?yolo\b/i,
];

/** Most vectors hold nothing that could be one, and there may be 10,000 of them. */
const SUSPECT = /(?:^|[\s"'`;|&(])-|dangerous|bypassPermissions|danger-full|yolo/i;

/**
 * The first bypass in an argument vector, or null. `own` are further flags of the runtime at hand, as its adapter or
 * its declaration names them. Looks inside arguments too, since `sh -c` takes a whole command line as one.
 */
export function bypassFlag(argv: readonly string[], own: readonly string[] = []): string | null {
  if (!argv.some((argument) => SUSPECT.test(argument) || own.includes(argument))) return null;
  const words = argv
    .flatMap((argument) => argument.slice(0, 100_000).split(/[\s"'`;|&()]+/))
    .filter((word) => word !== "");
  const names = new Set(words.map(baseName));
  const table = Object.entries(BYPASS_FLAGS).flatMap(([program, flags]) => (names.has(program) ? flags : []));
  const known = new Set<string>([...own, ...table]);
  for (const [index, word] of words.entries()) {
    const [flag = "", value = words[index + 1] ?? ""] = word.split("=", 2);
    if (known.has(flag) || GENERIC.some((pattern) => pattern.test(flag))) return flag;
    if (flag.startsWith("-") && known.has(`${flag} ${value}`)) return `${flag} ${value}`;
  }
  const line = argv.join(" ").slice(0, 100_000);
  for (const pattern of ANYWHERE) {
    const match = pattern.exec(line);
    if (match !== null) return match[0];
  }
  return null;
}

const baseName = (word: string): string =>
  word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1);
