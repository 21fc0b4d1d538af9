/** Leave to send content to a provider: who asks for it, what it is called, and when it counts. */
import canonicalize from "canonicalize";
import { sha256 } from "../host/files.ts";
import type { ContentClass } from "./tasks.ts";

/** As a spec and the home policy write it. */
export interface EgressEntry {
  readonly provider: string;
  readonly credential_source: string;
  readonly content_classes: readonly ContentClass[];
  readonly scope: "run" | "project";
}

export interface EgressGrant {
  readonly id: string;
  readonly entry: EgressEntry;
  readonly origin: "spec" | "policy";
  readonly status: "confirmed" | "asked" | "denied";
}

/**
 * What one confirmation covers: provider, credential source, content and reach, of exactly this spec. A classifier that
 * the project declares is part of it, since a changed declaration would send the same content to another program.
 */
export function egressId(o: {
  readonly entry: EgressEntry;
  readonly specSha256: string;
  readonly projectDeclaration: string | null;
}): string {
  const { provider, credential_source, content_classes, scope } = o.entry;
  const covered = {
    provider,
    credentialSource: credential_source,
    contentClasses: [...content_classes].sort(),
    scope,
    specSha256: o.specSha256,
    projectDeclaration: o.projectDeclaration,
  };
  return sha256(canonicalize(covered) as string);
}

/** What the user is asked, in words. */
export function egressWords(entry: EgressEntry, classifier: string): string {
  const reach = entry.scope === "run" ? "by runs of this spec" : "by runs and dry runs of this spec";
  return `\`${classifier}\` may send ${listed(entry.content_classes)} to \`${entry.provider}\`, with the key from \`${entry.credential_source}\`, ${reach}`;
}

const listed = (words: readonly string[]): string =>
  words.length < 2
    ? (words[0] ?? "nothing")
    : `${words.slice(0, -1).join(", ")} and ${words.at(-1) as string}`;
