/** Whether the plane may be asked at all. Each precondition is a recorded reason; the first that fails is told. */
import type { CredentialSource } from "./credentials.ts";
import type { EgressGrant } from "./egress.ts";

export type PlaneOffReason =
  | "no-classifier"
  | "classifier-unavailable"
  | "no-egress"
  | "egress-unconfirmed"
  | "egress-denied"
  | "no-credential"
  | "credential-source-differs"
  | "malformed";

export interface PreconditionFacts {
  /** The one classifier that was chosen before anything is known about its provider's answer; null: none. */
  readonly classifier: {
    readonly id: string;
    readonly live: boolean;
    /** It declares a provider variable, so it cannot work without one. */
    readonly needsCredential: boolean;
  } | null;
  readonly credentialSource: CredentialSource;
  /** The grant that names its provider; null: nobody gave or asked for leave. */
  readonly grant: EgressGrant | null;
  /** It answered outside the closed schema in this run. */
  readonly malformed: boolean;
}

/** Null: every precondition holds. */
export function planeOffReason(facts: PreconditionFacts): PlaneOffReason | null {
  const { classifier, grant } = facts;
  if (classifier === null) return "no-classifier";
  if (!classifier.live) return "classifier-unavailable";
  if (grant === null) return "no-egress";
  if (grant.status === "denied") return "egress-denied";
  if (grant.status === "asked") return "egress-unconfirmed";
  if (classifier.needsCredential && facts.credentialSource === "absent") return "no-credential";
  if (grant.entry.credential_source !== facts.credentialSource) return "credential-source-differs";
  return facts.malformed ? "malformed" : null;
}
