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
  /** What the user does once, interactively. */
  readonly login: string;
}

const ONBOARDING: readonly Onboarding[] = [
  {
    id: "claude",
    package: "@anthropic-ai/claude-code",
    older: { belowNode: [22, 0], version: "2.1.197" },
    login: "claude /login",
  },
  { id: "codex", package: "@openai/codex", older: null, login: "codex login" },
  { id: "gemini", package: "@google/gemini-cli", older: null, login: "gemini" },
  { id: "opencode", package: "opencode-ai", older: null, login: "opencode auth login" },
  {
    id: "pi",
    package: "@earendil-works/pi-coding-agent",
    older: { belowNode: [22, 19], version: "0.74.2" },
    login: "pi /login",
  },
];

export interface OnboardingSteps {
  readonly install: readonly string[];
  readonly undo: readonly string[];
  readonly login: string;
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
  };
}

/** The command that logs in to a runtime, on the user's own terminal. */
export const loginCommand = (id: string): string | null =>
  ONBOARDING.find((entry) => entry.id === id)?.login ?? null;
