/** Placeholders are legal in four fields, and each field knows its own. */
import {
  CWD_PLACEHOLDER,
  isPlaceholder,
  MODEL_PLACEHOLDER,
  RUNTIME_PLACEHOLDERS,
} from "../core/placeholders.ts";
import { didYouMean } from "./did-you-mean.ts";
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { fieldLabel, oneOf, quoted } from "./shown.ts";

export const checkRuntimePlaceholder = (text: string | undefined, path: Path, say: Say): void =>
  check(text, RUNTIME_PLACEHOLDERS, path, say);

export const checkCwdPlaceholder = (text: string | undefined, path: Path, say: Say): void =>
  check(text, [CWD_PLACEHOLDER], path, say);

export const checkModelPlaceholder = (text: string | undefined, path: Path, say: Say): void =>
  check(text, [MODEL_PLACEHOLDER], path, say);

function check(text: string | undefined, known: readonly string[], path: Path, say: Say): void {
  // A placeholder inside a longer text (`<workspace-root>/src`) would never be filled in: say so here, too.
  if (text === undefined || !/<[^<>]*>/.test(text)) return;
  if (isPlaceholder(text) && known.includes(text)) return;
  const meant = didYouMean(text, known);
  say(
    "unknown-placeholder",
    path,
    `${fieldLabel(path, "it")} is ${quoted(text)}, but its placeholders are ${oneOf(known)}`,
    {
      fix: meant === null ? "use one of them as the whole value, or a name" : `did you mean \`${meant}\`?`,
    },
  );
}
