/**
 * Runtimes that have a note and no adapter: what to ask them, and how to tell who answered. None of them is in any
 * inventory; declaring one in `runtimes.yaml` is the way to use it until its adapter ships.
 */

export interface ProbeTarget {
  readonly id: string;
  /** Name looked up on PATH. */
  readonly executable: string;
  readonly probe: { readonly version: readonly string[]; readonly help: readonly string[] };
  /** Programs that bear the name, each with what its help alone says. */
  readonly programs: readonly { readonly name: string; readonly tells: readonly RegExp[] }[];
}

export const PROBE_TARGETS: readonly ProbeTarget[] = [
  {
    id: "omp",
    executable: "omp",
    probe: { version: ["--version"], help: ["--help"] },
    programs: [{ name: "oh-my-pi", tells: [/--approval-mode\b/, /--no-lsp\b/] }],
  },
  {
    id: "agy",
    executable: "agy",
    probe: { version: ["--version"], help: ["--help"] },
    programs: [{ name: "Google Antigravity CLI", tells: [/--print-timeout\b/, /--conversation\b/] }],
  },
  {
    id: "grok",
    executable: "grok",
    probe: { version: ["--version"], help: ["--help"] },
    programs: [
      { name: "xAI Grok Build", tells: [/--prompt-file\b/, /--output-format\b/] },
      { name: "community grok-cli", tells: [/--max-tool-rounds\b/] },
    ],
  },
  {
    id: "aider",
    executable: "aider",
    probe: { version: ["--version"], help: ["--help"] },
    programs: [{ name: "aider", tells: [/--message-file\b/, /--no-auto-commits\b|--auto-commits\b/] }],
  },
];

/** The program whose help this is, or null when it is none that is known: one name, several programs. */
export function recognize(target: ProbeTarget, help: string): string | null {
  const matching = target.programs.filter((program) => program.tells.every((tell) => tell.test(help)));
  return matching.length === 1 ? (matching[0]?.name ?? null) : null;
}
