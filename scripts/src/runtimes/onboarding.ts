/**
 * How a runtime that is not here gets here: exact argument vectors as data, each with its undo. Only ways that were
 * followed with the real program stand here; logging in is the user's own, on a terminal, and is never run by us.
 */
export interface Onboarding {
  readonly id: string;
  /** Package of the npm registry. */
  readonly package: string;
  /** The newest release line that runs on an older Node than the newest release asks for. */
  readonly older: { readonly belowNode: readonly [number, number]; readonly version: string } | null;
  /** What the user starts once, on a terminal: a command of the program, as its own help lists it. */
  readonly login: string;
  /** What is typed in the program then, where it has no command to log in; an argument would be sent to the model. */
  readonly inside: string | null;
}

const ONBOARDING: readonly Onboarding[] = [
  {
    id: "claude",
    package: "@anthropic-ai/claude-code",
    older: { belowNode: [22, 0], version: "2.1.197" },
    login: "claude auth login",
    inside: null,
  },
  { id: "codex", package: "@openai/codex", older: null, login: "codex login", inside: null },
  { id: "gemini", package: "@google/gemini-cli", older: null, login: "gemini", inside: null },
  { id: "opencode", package: "opencode-ai", older: null, login: "opencode auth login", inside: null },
  {
    id: "pi",
    package: "@earendil-works/pi-coding-agent",
    older: { belowNode: [22, 19], version: "0.74.2" },
    login: "pi",
    inside: "/login",
  },
];

export interface OnboardingSteps {
  readonly install: readonly string[];
  readonly undo: readonly string[];
  readonly login: string;
  readonly inside: string | null;
}

/** Argument vectors for this Node; null: no way is recorded for that id. */
export function onboardingOf(id: string, node: readonly [number, number]): OnboardingSteps | null {
  const found = ONBOARDING.find((entry) => entry.id === id);
  if (found === undefined) return null;
  const { older } = found;
  const old =
    older !== null &&
    (node[0] < older.belowNode[0] || (node[0] === older.belowNode[0] && node[1] < older.belowNode[1]));
  const name = old ? `${found.package}@${older.version}` : found.package;
  return {
    install: ["npm", "install", "--global", name],
    undo: ["npm", "uninstall", "--global", found.package],
    login: found.login,
    inside: found.inside,
  };
}

/** How its user logs in to a runtime, on a terminal; null: nobody recorded it. */
export const loginOf = (id: string): Pick<Onboarding, "login" | "inside"> | null =>
  ONBOARDING.find((entry) => entry.id === id) ?? null;
