/** In-session subagents of the harness. Nothing is started here: the coordinator hands the work out and is told how it ended. */
import { err } from "../core/result.ts";
import type { Adapter, Profile, Settlement } from "./adapter.ts";
import { initialState, unreadable } from "./observed.ts";
import { found, UNPROVEN } from "./profile.ts";

/** Harness names whose models come from one vendor. A name that is not here has no known family. */
const HARNESS_VENDOR: Readonly<Record<string, string>> = {
  claude: "anthropic",
  "claude-code": "anthropic",
  codex: "openai",
  gemini: "google",
  "gemini-cli": "google",
};

export const harnessVendor = (name: string): string | null => HARNESS_VENDOR[name.toLowerCase()] ?? null;

export const internal: Adapter = {
  id: "internal",
  kind: "internal",
  agent: true,
  role: "agent",
  vendor: null,
  capability: "C3",
  executable: null,
  bypassFlags: [],
  gatewayEnv: [],
  providerEnv: [],
  output: "text",
  probe: { version: [], help: [], auth: null, models: null },
  profile: () => internalProfile({ name: "unknown", subagents: false }),
  start: () =>
    err({
      code: "not-a-process",
      detail: "`internal` work is handed to the harness by `dispatch_native`, never started as a process",
    }),
  initial: () => initialState,
  observe: unreadable,
  settle: (state): Settlement => ({
    ok: false,
    failureClass: "UNKNOWN",
    detail: "`internal` work is settled by `native finish` or `native fail`",
    resultText: state.resultText,
    suspect: false,
    resetAt: null,
  }),
  resume: "unsupported",
  fork: "unsupported",
  steer: "unsupported",
  // The harness maps the words; what it did is measured afterwards.
  unmappedTool: () => null,
  effortLevels: [],
};

/** All of it is the harness's word; R0 and R1 accept that and prove it afterwards. */
export function internalProfile(harness: { readonly name: string; readonly subagents: boolean }): Profile {
  const vendor = harnessVendor(harness.name);
  const attested = { evidence: "attested" } as const;
  return {
    ...UNPROVEN,
    state: harness.subagents ? "available" : "unavailable",
    reason: harness.subagents ? null : "no-harness",
    authenticated: "unverified",
    family: vendor,
    provider: vendor,
    headless: harness.subagents,
    vendorBound: vendor !== null,
    cwdControl: "prompt-only",
    approval: { value: "unverified", evidence: "unverified" },
    toolGating: { value: "coarse", ...attested },
    writeBoundary: { value: "prompt-only", ...attested },
    isolation: { value: "prompt-only", ...attested },
    bypassAbsent: { value: true, ...attested },
    timeout: { value: "accounting", ...attested },
    capture: { value: "text", ...attested },
    externalTimeout: false,
    resume: "unsupported",
    fork: "unsupported",
    steer: "unsupported",
    evidence: [
      found(
        "--harness, --subagents",
        harness.subagents
          ? `the harness \`${harness.name}\` says that it dispatches subagents`
          : "nobody said that a harness dispatches subagents",
      ),
    ],
    notes: ["attested by the harness: changes are measured before and after, R2 and R3 never run here"],
  };
}
