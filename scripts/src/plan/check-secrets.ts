/** Refuses credentials anywhere in a file: in values, in keys, and as the argument after a flag that names one. */
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { findSecrets } from "./secrets.ts";
import { fieldLabel } from "./shown.ts";

const FIX =
  "remove it and replace the credential, since it was written down; a runtime uses its own login, and a program gets a variable by name from `invocation.env_allow`";

/** Names the field and the kind, never the value. */
export function checkSecrets(value: unknown, say: Say): void {
  visit(value, [], say);
}

function visit(value: unknown, path: (string | number)[], say: Say): void {
  if (typeof value === "string") {
    for (const title of kinds(value))
      say("secret-in-spec", [...path], `${fieldLabel(path, "the file")} holds ${title}`, { fix: FIX });
  } else if (Array.isArray(value)) {
    checkArguments(value, path, say);
    for (let index = 0; index < value.length; index += 1) {
      path.push(index);
      visit(value[index], path, say);
      path.pop();
    }
  } else if (typeof value === "object" && value !== null) {
    for (const key in value) {
      for (const title of kinds(key))
        say("secret-in-spec", [...path], `a key in ${fieldLabel(path, "the file")} holds ${title}`, {
          fix: FIX,
        });
      path.push(key);
      visit((value as Record<string, unknown>)[key], path, say);
      path.pop();
    }
  }
}

function kinds(text: string): ReadonlySet<string> | readonly string[] {
  const found = findSecrets(text);
  return found.length === 0 ? [] : new Set(found.map((secret) => secret.title));
}

const SECRET_FLAG =
  /^--?(?:[a-z]+-)?(?:password|passwd|passphrase|token|secret|api-?key|access-key|client-secret)$/i;
/** A literal of some length with a digit in it; not a path, a variable or another flag. */
const LITERAL = /^(?![-$<{/.~])(?=[^0-9]{0,100}[0-9])[^\s/]{8,300}$/;

function checkArguments(list: readonly unknown[], path: Path, say: Say): void {
  for (let index = 0; index + 1 < list.length; index += 1) {
    const flag = list[index];
    const next = list[index + 1];
    if (typeof flag !== "string" || typeof next !== "string") continue;
    if (flag.length > 60 || !SECRET_FLAG.test(flag) || !LITERAL.test(next) || findSecrets(next).length > 0)
      continue;
    const place = [...path, index + 1];
    say(
      "secret-in-spec",
      place,
      `${fieldLabel(place, "the file")} holds a value for the secret-named flag \`${flag}\``,
      { fix: FIX },
    );
  }
}
