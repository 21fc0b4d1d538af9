/** Refuses credentials anywhere in a file: in values, in keys, and as the argument after a flag that names one. */
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { findSecrets, holdsAnchor } from "./secrets.ts";
import { fieldLabel } from "./shown.ts";

const FIX =
  "remove it and replace the credential, since it was written down; a runtime uses its own login, and a program gets a variable by name from `invocation.env_allow`";

/** Names the field and the kind, never the value. */
export function checkSecrets(value: unknown, say: Say): void {
  // Every string and key, as JSON: it escapes no character of an anchor.
  const all = JSON.stringify(value);
  visit(value, [], say, all.length <= SMALL && !holdsAnchor(all) ? () => [] : kinds);
}

/** Up to here, looking for each anchor by itself costs less than the one expression for all of them takes to be made. */
const SMALL = 8_000;

function visit(value: unknown, path: (string | number)[], say: Say, kindsIn: typeof kinds): void {
  if (typeof value === "string") {
    for (const title of kindsIn(value))
      say("secret-in-spec", [...path], `${fieldLabel(path, "the file")} holds ${title}`, { fix: FIX });
  } else if (Array.isArray(value)) {
    checkArguments(value, path, say);
    value.forEach((entry, index) => {
      path.push(index);
      visit(entry, path, say, kindsIn);
      path.pop();
    });
  } else {
    // A number, a truth value and nothing have no keys.
    for (const key in value as object) {
      for (const title of kindsIn(key))
        say("secret-in-spec", [...path], `a key in ${fieldLabel(path, "the file")} holds ${title}`, {
          fix: FIX,
        });
      path.push(key);
      visit((value as Record<string, unknown>)[key], path, say, kindsIn);
      path.pop();
    }
  }
}

const kinds = (text: string): Iterable<string> => new Set(findSecrets(text).map((secret) => secret.title));

const SECRET_FLAG =
  /^--?(?:[a-z]+-)?(?:password|passwd|passphrase|token|secret|api-?key|access-key|client-secret)$/i;
/** A literal of some length with a digit in it; not a path, a variable or another flag. */
const LITERAL = /^(?![-$<{/.~])(?=[^0-9]{0,100}[0-9])[^\s/]{8,300}$/;

function checkArguments(list: readonly unknown[], path: Path, say: Say): void {
  for (const [index, flag] of list.entries()) {
    const next = list[index + 1];
    if (typeof flag !== "string" || typeof next !== "string") continue;
    if (flag.length > 60 || !SECRET_FLAG.test(flag) || !LITERAL.test(next) || findSecrets(next).length > 0)
      continue;
    const place = [...path, index + 1];
    say(
      "secret-in-spec",
      place,
      `${fieldLabel(place, "it")} holds a value for the secret-named flag \`${flag}\``,
      { fix: FIX },
    );
  }
}
