/**
 * Which capability tier and which model family a candidate has, and who says so. Operator policy speaks first; a
 * project's files may lower a tier, but raising one or naming a family takes the user's own word.
 */
import type { PolicyEntry as FilePolicyEntry } from "../core/generated/policy.ts";
import type { RuntimeRecord } from "../core/runtime.ts";
import { type CapabilityTier, capabilityAtLeast, type Effort } from "../core/tiers.ts";
import type { DeclaredSource } from "./plan-input.ts";

/** One entry of `candidates:` in a policy file; in `model`, `*` stands for any text. */
export type PolicyEntry = Omit<FilePolicyEntry, "egress">;

/** One policy file. The first matching entry that gives a field decides it within the file. */
export interface PolicyLayer {
  readonly source: "project" | "home";
  readonly file: string;
  /** The user confirmed exactly this content (always true for the home file). */
  readonly confirmed: boolean;
  readonly entries: readonly PolicyEntry[];
  /** One per entry: what the user confirms it by, and whether that was done. Absent: only the file as a whole counts. */
  readonly confirmations?: readonly Confirmation[];
}

/** A claim of a project file, by the digest that `approve --policy` takes. */
export interface Confirmation {
  readonly digest: string;
  readonly confirmed: boolean;
}

/** What a declared runtime's entry in `runtimes.yaml` claims about itself. */
export interface DeclaredClaim {
  readonly id: string;
  readonly source: "project" | "home";
  readonly confirmed: boolean;
  readonly capability: CapabilityTier | null;
  readonly family: string | null;
  /** What the user confirms it by. */
  readonly digest?: string;
}

export interface CandidateIdentity {
  readonly record: RuntimeRecord;
  readonly model: string | null;
  readonly effort: Effort | null;
}

export interface CapabilityFinding {
  readonly capability: CapabilityTier;
  readonly capabilitySource: "policy" | "adapter-default" | "harness";
  readonly provider: string | null;
  readonly family: string | null;
  readonly familySource: "policy" | "adapter-default" | "harness" | "unknown";
  readonly costDimension: string | null;
  /** Claims of project files that do not count until the user confirms them. */
  readonly ignored: readonly string[];
}

/** The runtime that plays scripts; its two models are its two families. */
export const MOCK = { id: "mock", jobModel: "mock-a", arbiterModel: "mock-b" } as const;

/** Providers that pass requests on to models of others: behind one of them the family is unknown. */
const GATEWAY_PROVIDERS: ReadonlySet<string> = new Set([
  "openrouter",
  "litellm",
  "azure",
  "azure-openai",
  "amazon-bedrock",
  "bedrock",
  "google-vertex",
  "vertex",
  "vertex_ai",
  "github-copilot",
  "github-models",
  "vercel",
  "cloudflare",
  "cloudflare-ai-gateway",
  "together",
  "togetherai",
  "fireworks",
  "fireworks-ai",
  "groq",
  "huggingface",
  "ollama",
  "lmstudio",
  "opencode",
  "portkey",
  "requesty",
]);

/** Capability, family and their sources for one candidate. `layers` in any order. */
export function capabilityOf(
  identity: CandidateIdentity,
  layers: readonly PolicyLayer[],
  claim: DeclaredClaim | null = null,
): CapabilityFinding {
  const provider = providerOf(identity);
  const base = baseFinding({ ...identity, provider }, claim);
  const home = layers.filter((layer) => layer.source === "home");
  const project = layers.filter((layer) => layer.source === "project");
  return [...home, ...project].reduce(
    (finding, layer) => applyLayer(finding, layer, { ...identity, provider }),
    base,
  );
}

/** What an entry of a `runtimes.yaml` claims. */
export const claimOf = ({ entry, source, confirmed, digest }: DeclaredSource): DeclaredClaim => ({
  id: entry.id,
  source,
  confirmed,
  capability: entry.capability ?? null,
  family: entry.family ?? null,
  ...(digest === undefined ? {} : { digest }),
});

/** What an inventory record carries of it: the runtime with its own choice of model. */
export function rateRecord(
  record: RuntimeRecord,
  layers: readonly PolicyLayer[],
  claim: DeclaredClaim | null = null,
): Pick<RuntimeRecord, "capability" | "capabilitySource" | "family" | "familySource"> {
  const { capability, capabilitySource, family, familySource } = capabilityOf(
    { record, model: null, effort: null },
    layers,
    claim,
  );
  return { capability, capabilitySource, family, familySource };
}

/** The line to add below `candidates:` in the home policy so that the candidate counts as `tier`. */
export function policyLine(identity: CandidateIdentity, tier: CapabilityTier): string {
  const provider = providerOf(identity);
  const fields = [
    `runtime: ${identity.record.id}`,
    ...(provider === null ? [] : [`provider: ${yamlText(provider)}`]),
    ...(identity.model === null ? [] : [`model: ${yamlText(identity.model)}`]),
    `capability: ${tier}`,
  ];
  return `- {${fields.join(", ")}}`;
}

/** True when `entry` speaks about this candidate. A model pattern needs a known model, `*` and `**` do not. */
export function policyMatches(
  entry: PolicyEntry,
  identity: CandidateIdentity & { readonly provider: string | null },
): boolean {
  if (entry.runtime !== identity.record.id) return false;
  if (entry.provider !== undefined && entry.provider !== identity.provider) return false;
  if (entry.effort !== undefined && entry.effort !== identity.effort) return false;
  if (entry.model === undefined || /^\*+$/.test(entry.model)) return true;
  return identity.model !== null && matchesModel(identity.model, entry.model);
}

/** `*` stands for any text, `/` included. Literal pieces in order, so a hostile pattern costs no backtracking. */
export function matchesModel(model: string, pattern: string): boolean {
  const [first = "", ...pieces] = pattern.split("*");
  if (pieces.length === 0) return model === pattern;
  if (!model.startsWith(first)) return false;
  const last = pieces.pop() as string;
  let at = first.length;
  for (const piece of pieces) {
    const found = model.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return model.length - last.length >= at && model.endsWith(last);
}

type Located = CandidateIdentity & { readonly provider: string | null };

function baseFinding(identity: Located, claim: DeclaredClaim | null): CapabilityFinding {
  const { record, provider } = identity;
  const finding = (
    capability: CapabilityTier,
    family: string | null,
    source: "adapter-default" | "harness" = "adapter-default",
  ): CapabilityFinding => ({
    capability,
    capabilitySource: source,
    provider,
    family,
    familySource: family === null ? "unknown" : source,
    costDimension: null,
    ignored: [],
  });
  if (record.id === MOCK.id) return finding("C3", identity.model ?? MOCK.jobModel);
  if (record.kind === "internal") return finding("C3", record.vendorBound ? record.family : null, "harness");
  if (record.role !== "agent") return finding(claim?.capability === "C1" ? "C1" : "C2", null);
  if (record.vendorBound) {
    const genuine = !record.gateway && isLive(record) && record.authenticated !== false;
    return genuine ? finding("C3", record.family) : finding("C2", null);
  }
  const plain = finding("C2", record.gateway ? null : familyOfProvider(provider));
  return claim === null
    ? plain
    : claimed(plain, claim, {
        who: `runtimes.yaml entry \`${claim.id}\``,
        trusted: claim.source === "home" || claim.confirmed,
        digest: claim.digest,
        source: "adapter-default",
      });
}

/**
 * The first entry that gives a field and may give it decides. What a project claims and the user did not confirm is
 * noted and passed over.
 */
function applyLayer(finding: CapabilityFinding, layer: PolicyLayer, identity: Located): CapabilityFinding {
  const isAgent = identity.record.role === "agent";
  const given = { capability: false, family: false, costDimension: false };
  let next = finding;
  layer.entries.forEach((entry, at) => {
    if (!policyMatches(entry, identity)) return;
    const { capability, family, cost_dimension: costDimension } = entry;
    const confirmation = layer.confirmations?.[at];
    const claim: Claim = {
      who: `\`${layer.file}\``,
      trusted: layer.source === "home" || layer.confirmed || confirmation?.confirmed === true,
      digest: confirmation?.digest,
      source: "policy",
    };
    // No entry makes a program able to judge: there is no model inside.
    if (capability !== undefined && !given.capability && (isAgent || capability !== "C3")) {
      const before = next.ignored.length;
      next = claimed(next, { capability, family: null }, claim);
      given.capability = next.ignored.length === before;
    }
    if (family !== undefined && !given.family && isAgent) {
      const before = next.ignored.length;
      next = claimed(next, { capability: null, family }, claim);
      given.family = next.ignored.length === before;
    }
    if (costDimension === undefined || given.costDimension) return;
    next = { ...next, costDimension };
    given.costDimension = true;
  });
  return next;
}

interface Claim {
  readonly who: string;
  readonly trusted: boolean;
  readonly digest: string | undefined;
  readonly source: "policy" | "adapter-default";
}

/** Takes over what `said` may decide: anything when trusted, else only a lower capability. */
function claimed(
  finding: CapabilityFinding,
  said: { readonly capability: CapabilityTier | null; readonly family: string | null },
  { who, trusted, digest, source }: Claim,
): CapabilityFinding {
  const ignored = [...finding.ignored];
  const until =
    digest === undefined
      ? "counts once the user confirmed the file"
      : `counts once the user confirmed it (\`approve --policy ${digest.slice(0, SHOWN_DIGEST)}\`)`;
  let { capability, capabilitySource, family, familySource } = finding;
  if (said.capability !== null) {
    if (trusted || capabilityAtLeast(capability, said.capability)) {
      if (trusted || said.capability !== capability) {
        capability = said.capability;
        capabilitySource = source;
      }
    } else ignored.push(`${who} claims ${said.capability}: ${until}`);
  }
  if (said.family !== null && said.family !== family) {
    if (trusted) {
      family = said.family;
      familySource = source;
    } else ignored.push(`${who} claims family \`${said.family}\`: ${until}`);
  }
  return { ...finding, capability, capabilitySource, family, familySource, ignored };
}

/** So many characters of a digest name it on a command line. */
export const SHOWN_DIGEST = 16;

/** The family of a CLI of several providers is its provider, unless that passes requests on to others. */
export const familyOfProvider = (provider: string | null): string | null =>
  provider === null || GATEWAY_PROVIDERS.has(provider) ? null : provider;

/** For a CLI of several providers, the one that the model id names; else what the probe found. */
export function providerOf({ record, model }: CandidateIdentity): string | null {
  const slash = model?.indexOf("/") ?? -1;
  if (!record.vendorBound && model !== null && slash > 0) return model.slice(0, slash);
  return record.provider;
}

export const isLive = (record: Pick<RuntimeRecord, "state">): boolean =>
  record.state === "available" || record.state === "constrained";

const yamlText = (text: string): string =>
  /^[A-Za-z][A-Za-z0-9._/-]*$/.test(text) ? text : JSON.stringify(text);
