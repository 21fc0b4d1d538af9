/** How report and completion block tell the decision plane's part: its standing, where the key came from, what it asked and proposed. */
import type { State } from "../core/runtime.ts";

type Plane = NonNullable<State["plane"]>;

const OFF: Readonly<Record<NonNullable<Plane["reason"]>, string>> = {
  "no-classifier": "no classifier in this run",
  "classifier-unavailable": "the classifier is not available on this host",
  "no-egress": "a classifier is declared, but nothing gives leave to send content to its provider",
  "egress-unconfirmed": "the leave to send content is not confirmed",
  "egress-denied": "the user denied sending content",
  "no-credential": "no provider key is configured",
  "credential-source-differs": "the key comes from another place than the leave names",
  malformed: "the classifier answered outside its closed schema",
};

/** `on (…)` or `off (…)`. */
export function planeLine(state: State): string {
  const plane = state.plane ?? null;
  if (plane === null) return `off (${OFF["no-classifier"]})`;
  const who = plane.classifier === null ? "" : `${plane.classifier}: `;
  if (plane.status === "off") return `off (${who}${OFF[plane.reason ?? "no-classifier"]})`;
  const detail = plane.calibrationDetail === null ? "" : `: ${plane.calibrationDetail}`;
  return `on (${plane.classifier} at ${plane.provider}; calibration ${plane.calibration}${detail}; ${asked(state)})`;
}

function asked(state: State): string {
  const attempts = Object.values(state.jobs).flatMap((job) => job.attemptRecords);
  const signals = attempts.filter((attempt) => attempt.microArbiter != null).length;
  const proposals = attempts.filter((attempt) => attempt.proposal != null).length;
  return `signals for ${signals} ${signals === 1 ? "attempt" : "attempts"}, ${proposals} ${proposals === 1 ? "proposal" : "proposals"}`;
}

/** Source, trust and shadowed places; never a value. */
export function credentialsLine(state: State): string {
  const plane = state.plane ?? null;
  if (plane === null || plane.classifier === null) return "none looked for (decision plane off)";
  if (plane.credentialSource === "absent") return "absent";
  const shadowed =
    plane.credentialShadowed.length === 0 ? "" : `; shadowed: ${plane.credentialShadowed.join(", ")}`;
  return `from ${plane.credentialSource} (trust: ${plane.credentialTrust})${shadowed}`;
}
