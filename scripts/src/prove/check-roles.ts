/**
 * What a file on the vector of a command is to it: run by it, or only read. A check that the work could rewrite proves
 * nothing; a check that reads the work is what a check is for. By words alone, so that it is the same on every host.
 */
import { basename } from "node:path";

/** `decides`: it is run, or says what is checked. `content`: it does when it can be run. `reads`: it is what is looked at. */
export type WordRole = "decides" | "content" | "reads";

/** They look at files and run none. */
const LOOKERS =
  /^(?:test|\[|cat|wc|head|tail|ls|stat|file|cmp|diff|du|sort|uniq|cksum|md5sum|shasum|sha\d+sum|b2sum|od|xxd|strings)$/;

/** They judge what they are pointed at by rules that an option may name. */
const JUDGES =
  /^(?:[ef]?grep|rg|jq|yq|eslint|tsc|prettier|biome|ruff|flake8|pylint|mypy|pyright|black|isort|shellcheck|shfmt|gofmt|rustfmt|clang-format|clang-tidy|stylelint|cspell|markdownlint(?:-cli2)?|yamllint|jsonlint|ajv|xmllint|tidy|hadolint|actionlint|sqlfluff|py_compile|compileall|json\.tool)$/;
/** Of these two kinds, those that take neither rules nor code from the workspace unless an option names them. */
const PLAIN = /^(?:[ef]?grep|rg|jq|yq|xmllint|gofmt|shfmt|py_compile|compileall|json\.tool|git)$/;
const RULE_OPTION =
  /^(?:-[cfp]|--?[\w-]*(?:config|rule|plugin|preset|project|schema|file|ignore-path)[\w-]*)$/;

/** The first word that is no option is a script, whatever its name. */
const INTERPRETERS =
  /^(?:(?:ba|da|z|k|fi)?sh|node|tsx|ts-node|bun|deno|python[\d.]*|ruby|perl|php|lua|Rscript|pwsh|osascript|tclsh)$/;
export const SHELLS = /^(?:ba|da|z|k|fi)?sh$/;

/** They run what follows them. */
const WRAPPERS =
  /^(?:env|nice|nohup|time|timeout|stdbuf|setsid|ionice|sudo|xargs|npx|bunx|pnpx|uvx|corepack)$/;
const EXEC_WORDS = /^(?:exec|run|dlx|x|tool)$/;
const RUNNERS = /^(?:npm|pnpm|yarn|bun|uv|poetry|pipenv)$/;

const CODE =
  /\.(?:[cm]?[jt]sx?|py|rb|pl|php|lua|r|sh|bash|zsh|fish|ps1|bat|cmd|awk|sed|jq|sql|mk|cmake|gradle|groovy|tf|nix|go|rs|java|kt|scala|swift|c|cc|cpp|feature|bats|robot|spec)$/i;
/** By its name, something that can be run or imported. */
export const isCode = (path: string): boolean => CODE.test(path);

const CONFIG = /\.(?:json[c5]?|ya?ml|toml|ini|cfg|conf|xml|properties|rc)$|(?:^|\/)\.[\w-]+rc$/i;

/** Of a runner of tasks: run, whatever the option before it. */
const RECIPE = /(?:^|\/)(?:(?:GNU)?[Mm]akefile|\.?[Jj]ustfile|Rakefile|Taskfile\.ya?ml)$/;

/** One role for each word; that of the program is `decides`. */
export function wordRoles(argv: readonly string[]): readonly WordRole[] {
  const at = programAt(argv);
  const program = basename(argv[at] ?? "");
  const kind = kindOf(program, argv.slice(at + 1));
  const script = kind === "interpreter" ? scriptAt(argv, at) : -1;
  return argv.map((word, i) => {
    if (i === at || i === script || i === 0) return "decides";
    if (kind === "looker") return "reads";
    const option = optionOf(argv, i);
    if (kind === "judge") return namesRules(program, option) ? "decides" : "reads";
    if (CODE.test(word) || RECIPE.test(word) || (option !== null && CONFIG.test(word))) return "decides";
    return "content";
  });
}

/** `node -c` only checks syntax: what follows is no configuration. */
const namesRules = (program: string, option: string | null): boolean =>
  option !== null && RULE_OPTION.test(option) && !(program === "node" && option === "-c");

/** Where the program stands that a wrapper starts: `env A=1 node x`, `timeout 60 sh x`, `npx eslint x`. */
export function programAt(argv: readonly string[]): number {
  let at = 0;
  for (;;) {
    const name = basename(argv[at] ?? "");
    const runs = RUNNERS.test(name) && EXEC_WORDS.test(argv[at + 1] ?? "");
    if (!runs && !WRAPPERS.test(name)) return at;
    // `uv tool run X` says it in two words.
    const own = !runs ? 0 : argv[at + 1] === "tool" ? 2 : 1;
    const next = argv.findIndex((word, i) => i > at + own && !/^-|^\w+=|^\d+(?:\.\d+)?[smhd]?$/.test(word));
    if (next === -1) return at;
    at = next;
  }
}

function kindOf(program: string, rest: readonly string[]): "looker" | "judge" | "interpreter" | "other" {
  if (LOOKERS.test(program)) return "looker";
  if (JUDGES.test(program)) return "judge";
  if (!INTERPRETERS.test(program)) return "other";
  if (program === "node" && rest.some((word) => word === "--check" || word === "-c")) return "judge";
  const module = rest.indexOf("-m");
  if (/^python/.test(program) && module !== -1 && JUDGES.test(rest[module + 1] ?? "")) return "judge";
  return "interpreter";
}

/** False: it only looks at files, or judges them by itself, so that no package and no settings of the workspace decide. */
export function loadsCode(argv: readonly string[]): boolean {
  const at = programAt(argv);
  const program = basename(argv[at] ?? "");
  const rest = argv.slice(at + 1);
  if (PLAIN.test(program) || LOOKERS.test(program)) return false;
  const module = /^python/.test(program) ? rest[rest.indexOf("-m") + 1] : undefined;
  if (rest.includes("-m") && PLAIN.test(module ?? "")) return false;
  return !(program === "node" && kindOf(program, rest) === "judge");
}

/** Options whose value is text or a module, not the script. */
const VALUED = /^(?:-[cemrpWX]|-[a-z]*c|--(?:eval|print|require|import|loader|input-type))$/;

function scriptAt(argv: readonly string[], program: number): number {
  for (let i = program + 1; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === "--") return i + 1;
    if (!word.startsWith("-")) return i;
    // What follows is the program itself.
    if (/^(?:-[a-z]*c|-e|-p|--eval|--print|-m)$/.test(word)) return -1;
    if (VALUED.test(word)) i++;
  }
  return -1;
}

/** The option whose value the word is: `--config=x` or `--config x`. */
function optionOf(argv: readonly string[], at: number): string | null {
  const word = argv[at] as string;
  if (word.startsWith("-")) return word.includes("=") ? word.slice(0, word.indexOf("=")) : null;
  const before = argv[at - 1] ?? "";
  return before.startsWith("-") && !before.includes("=") ? before : null;
}

/** Words of a text that a shell is given to run. Which of them are files only the disk can tell. */
export function shellWords(argv: readonly string[]): readonly string[] {
  const at = programAt(argv);
  if (!SHELLS.test(basename(argv[at] ?? ""))) return [];
  const option = argv.findIndex((word, i) => i > at && /^-[a-z]*c$/.test(word));
  return option === -1
    ? []
    : (argv[option + 1] ?? "").split(/[\s;|&()<>`"'=]+/).filter((word) => word !== "");
}
