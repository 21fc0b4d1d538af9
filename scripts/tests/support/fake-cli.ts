/** Executables made for one test: a shell script under a name that a runtime has. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * `cases` maps the arguments, joined by blanks, to the script that answers them; `*` is the rest. The script runs with
 * `$@` set and its folder in `$FAKE`.
 */
export function fakeCli(folder: string, name: string, cases: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  const arms = Object.entries(cases).map(
    ([args, script]) => `${args === "*" ? "*" : `'${args}'`})\n${script}\n;;`,
  );
  const path = join(folder, name);
  writeFileSync(
    path,
    `#!/bin/sh\nFAKE=$(dirname "$0")\necho "$*" >> "$FAKE/${name}.calls"\ncase "$*" in\n${arms.join("\n")}\nesac\n`,
  );
  chmodSync(path, 0o755);
  return path;
}
