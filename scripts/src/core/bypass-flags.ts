/**
 * Arguments that switch off a runtime's permission system. They are refused wherever they appear: in an invocation of a
 * spec, in a declared runtime's argv, in an adapter's own argument vector. No approval makes one acceptable.
 *
 * An entry is one flag (`--yolo`), or a flag with the value that makes it a bypass (`--approval-mode yolo`).
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
    "-c sandbox_mode=danger-full-access",
    "--config sandbox_mode=danger-full-access",
  ],
  gemini: ["-y", "--yolo", "--approval-mode yolo", "--raw-output"],
  opencode: ["--auto"],
  pi: [],
  omp: ["--approval-mode yolo", "--auto-approve", "--plan-yolo"],
  agy: ["--dangerously-skip-permissions"],
  grok: ["--always-approve", "--yolo"],
  aider: ["--yes-always"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Environment variables that do the same. Never set for a child, never taken over. */
export const BYPASS_ENV = ["COPILOT_ALLOW_ALL", "GOOSE_MODE"] as const;

/** Names that say what they do, whatever program they belong to. */
const GENERIC = [
  /^--?(?:allow-)?dangerously\b/i,
  /^--(?:\w+-)*yolo(?:-\w+)*$/i,
  /^--(?:\w+-)*(?:skip|bypass|ignore|disable)-(?:all-)?(?:permissions?|approvals?|sandbox)(?:-\w+)*$/i,
  /^--(?:always|auto)-approve(?:-all)?$/i,
  /^--(?:yes-always|trust-all(?:-\w+)?|allow-all(?:-\w+)?|no-sandbox|unsafe)$/i,
];
const GENERIC_VALUE =
  /^(?:bypassPermissions|danger-full-access|yolo|sandbox_mode\s*=\s*["']?danger-full-access["']?)$/i;

/**
 * The first argument of `argv` that switches permissions off, or null. `flags` are the runtime's own entries, checked
 * beside the generic names. Words after `--` count too (they reach the program behind a wrapper), and so do the words of
 * a script handed to `-c` or `-S`.
 */
export function findBypass(argv: readonly string[], flags: readonly string[]): string | null {
  const own = ownEntries(flags);
  for (let i = 0; i < argv.length; i += 1) {
    const word = argv[i] as string;
    const found = bypassAt(word, argv[i + 1] ?? "", own);
    if (found !== null) return found;
    if (i > 0 && /^-[a-z]*c$|^-S$/.test(argv[i - 1] as string) && /\s/.test(word)) {
      const inside = findBypass(word.split(/[\s;|&()'"`]+/), flags);
      if (inside !== null) return inside;
    }
  }
  return null;
}

interface OwnEntries {
  readonly single: ReadonlySet<string>;
  readonly valued: readonly { readonly name: string; readonly value: string }[];
}

function ownEntries(flags: readonly string[]): OwnEntries {
  return {
    single: new Set(flags.filter((entry) => !entry.includes(" "))),
    valued: flags
      .filter((entry) => entry.includes(" "))
      .map((entry) => ({
        name: entry.slice(0, entry.indexOf(" ")),
        value: entry.slice(entry.indexOf(" ") + 1),
      })),
  };
}

function bypassAt(word: string, next: string, own: OwnEntries): string | null {
  if (!word.startsWith("-")) return null;
  const equals = word.indexOf("=");
  const name = equals > 0 ? word.slice(0, equals) : word;
  const value = unquote(equals > 0 ? word.slice(equals + 1) : next);
  // `--flag=false` is still refused: which spelling of "off" a program understands is not ours to guess.
  if (own.single.has(name) || GENERIC.some((pattern) => pattern.test(name))) return word;
  if (own.valued.some((entry) => entry.name === name && entry.value === value)) return `${name} ${value}`;
  return GENERIC_VALUE.test(value) ? `${name} ${value}` : null;
}

/** `key="value"` and `"value"` are the same setting to the program as without the quotes. */
function unquote(value: string): string {
  return value.replace(/["']/g, "").replace(/\s*=\s*/, "=");
}
