/** Rules for everything that would be executed: an argument vector, without a bypass, with harmless variables. */
import { bypassFlag } from "../core/bypass-flags.ts";
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { quoted } from "./shown.ts";

export interface CommandLike {
  readonly command?: unknown;
  readonly args?: unknown;
}

/** One command of a file, whatever field holds it. `own` are the bypass flags that its runtime is declared to have. */
export function checkCommand(value: CommandLike, path: Path, say: Say, own: readonly string[] = []): void {
  const command = typeof value.command === "string" ? value.command : null;
  if (command !== null && isShellString(command))
    say(
      "shell-string",
      [...path, "command"],
      `${quoted(command)} is a command line, but \`command\` is one program and no shell reads it`,
      {
        fix: "put the program into `command` and each argument into `args`",
      },
    );
  const args = Array.isArray(value.args) ? value.args.filter((argument) => typeof argument === "string") : [];
  const flag = bypassFlag(command === null ? args : [command, ...args], own);
  if (flag !== null)
    say(
      "permission-bypass",
      path,
      `${quoted(flag)} switches permission checks off, and no approval makes that acceptable`,
      {
        fix: "remove it; grant what the job needs by `allowed_tools` and `owned_paths`",
      },
    );
}

/**
 * True for what only a shell could run. A path may hold spaces in its folders (`/opt/my tools/run`), a bare name
 * may not.
 */
function isShellString(command: string): boolean {
  if (/[|&;<>()$`"'*?[\]{}\n\r]/.test(command)) return true;
  const folders = Math.max(command.lastIndexOf("/"), command.lastIndexOf("\\")) + 1;
  if (/\s/.test(command.slice(folders))) return true;
  return /\s/.test(command) && !/^(?:\.{0,2}[/\\]|[A-Za-z]:[/\\])/.test(command);
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Each of these makes another program load code, find other programs, or work on another repository. */
const REFUSED =
  /^(?:NODE_OPTIONS|NODE_PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|IFS|PATH|CDPATH|GIT_.*|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS)$/i;

/** Names of variables that a child may inherit. */
export function checkVariables(names: readonly string[], path: Path, say: Say): void {
  for (const [index, name] of names.entries()) {
    const place = [...path, index];
    if (!VARIABLE.test(name))
      say("env-name", place, `${quoted(name)} is no variable name`, {
        fix: name.includes("=")
          ? "give the name only; the value comes from the environment"
          : "use letters, digits and `_`",
      });
    else if (REFUSED.test(name))
      say("env-refused", place, `\`${name}\` changes how other programs start, so it is never passed on`, {
        fix: "remove it",
      });
  }
}
