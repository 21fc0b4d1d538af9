/** Shell completion from the command table. The script defines `orchestrate` for this tool and completes it. */
import { COMMANDS, type CommandSpec, type FlagSpec, GLOBAL_FLAGS } from "./commands.ts";

export type Shell = "bash" | "zsh" | "fish";

/** A script to be sourced; `self` is the argv prefix that starts the tool. */
export function completionScript(shell: Shell, self: readonly string[]): string {
  switch (shell) {
    case "bash":
      return bash(self);
    case "zsh":
      return `autoload -U +X bashcompinit && bashcompinit\n${bash(self)}`;
    default:
      return fish(self);
  }
}

const allFlags = (spec: CommandSpec): readonly FlagSpec[] => [...spec.flags, ...GLOBAL_FLAGS];
const firstWords = (): string[] => [...new Set(COMMANDS.map((spec) => spec.name.split(" ")[0] ?? ""))];
const secondWords = (first: string): string[] =>
  COMMANDS.flatMap((spec) => (spec.name.startsWith(`${first} `) ? [spec.name.slice(first.length + 1)] : []));
const groups = (): string[] => firstWords().filter((word) => secondWords(word).length > 0);

/** Closed sets only: what may follow a flag, or stand as an argument. */
const argValues = (spec: CommandSpec): string[] => spec.args.flatMap((arg) => arg.values ?? []);

function bash(self: readonly string[]): string {
  const words = COMMANDS.map((spec) => {
    const list = [...argValues(spec), ...allFlags(spec).map((flag) => `--${flag.name}`)];
    return `    "${spec.name}") words="${list.join(" ")}" ;;`;
  });
  const subcommands = groups().map((word) => `    "${word}") words="${secondWords(word).join(" ")}" ;;`);
  const values = COMMANDS.flatMap((spec) =>
    spec.flags.flatMap((flag) =>
      flag.type.kind === "choice"
        ? [`    "${spec.name} --${flag.name}") words="${flag.type.values.join(" ")}" ;;`]
        : [],
    ),
  );
  return `orchestrate() { ${self.map(quoted).join(" ")} "$@"; }
_orchestrate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="\${COMP_WORDS[1]}" words=""
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$command" in ${groups().join("|")}) command="$command \${COMP_WORDS[2]}" ;; esac
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${firstWords().join(" ")} --help --version" -- "$current"))
    return
  fi
  case "$command $before" in
${values.join("\n")}
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$command" in
${[...subcommands, ...words].join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}
complete -F _orchestrate orchestrate
`;
}

function fish(self: readonly string[]): string {
  const lines = [
    `function orchestrate; ${self.map(quoted).join(" ")} $argv; end`,
    ...firstWords().map((word) => {
      const summary = COMMANDS.find((spec) => spec.name === word)?.summary ?? secondWords(word).join(", ");
      return `complete -c orchestrate -n __fish_use_subcommand -a ${word} -d ${quoted(summary)}`;
    }),
  ];
  for (const word of groups())
    lines.push(
      `complete -c orchestrate -n "__fish_seen_subcommand_from ${word}" -a "${secondWords(word).join(" ")}"`,
    );
  for (const spec of COMMANDS) {
    const seen = spec.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    for (const flag of allFlags(spec))
      lines.push(
        `complete -c orchestrate -n "${seen}" -l ${flag.name}${fishValue(flag)} -d ${quoted(flag.description)}`,
      );
    if (argValues(spec).length > 0)
      lines.push(`complete -c orchestrate -n "${seen}" -f -a "${argValues(spec).join(" ")}"`);
  }
  return `${lines.join("\n")}\n`;
}

function fishValue(flag: FlagSpec): string {
  if (flag.type.kind === "boolean") return "";
  return flag.type.kind === "choice" ? ` -x -a "${flag.type.values.join(" ")}"` : " -r";
}

/** A single-quoted word, safe in all three shells. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'"'"'`)}'`;
