/** command.txt: the redacted argument vector, one shell-quoted line a person can read and rerun by hand. */
import { quoteShell } from "../core/shell-quote.ts";
import type { Session } from "./session.ts";

export function renderCommand(
  s: Session,
  o: { argv: readonly string[]; cwd: string; stdin: boolean },
): string {
  const argv = o.argv.map((part) => quoteShell(part)).join(" ");
  return s.redact(`cd ${quoteShell(o.cwd)} && ${argv}${o.stdin ? " < prompt.md" : " < /dev/null"}\n`);
}
