/** Which classifier takes part, whether it may be asked, and what it is measured as. Read anew where it matters: the user may confirm meanwhile. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import canonicalize from "canonicalize";
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import type { Graph, RuntimeRecord, State } from "../core/runtime.ts";
import type { Environment } from "../host/env.ts";
import { sha256 } from "../host/files.ts";
import type { DeclaredSource } from "../plan/plan-input.ts";
import type { ClassifierIdentity } from "../plane/calibration.ts";
import {
  type Credential,
  credentialPlaces,
  findCredential,
  NO_CREDENTIAL,
  REFERENCE_KEY,
} from "../plane/credentials.ts";
import { type EgressEntry, type EgressGrant, egressId, egressWords } from "../plane/egress.ts";
import { planeOffReason } from "../plane/preconditions.ts";
import { promptSchemaOf } from "../plane/tasks.ts";
import { readHomeRecord } from "./home-record.ts";

/** Leave that the home policy gives, or an entry of a project's policy that the user confirmed. */
export interface PolicyEgress {
  readonly runtime: string;
  readonly grant: EgressEntry;
  readonly counts: boolean;
}

type PlaneRecord = NonNullable<State["plane"]>;

export interface PlaneInput {
  readonly declared: readonly DeclaredSource[];
  readonly specEgress: readonly EgressEntry[];
  readonly policyEgress: readonly PolicyEgress[];
  readonly specSha256: string;
  readonly root: string;
  /** The tool's main file. */
  readonly script: string;
  readonly env: Environment;
}

/** A classifier that somebody gave or asked leave for. */
interface Chosen {
  readonly source: DeclaredSource;
  readonly grant: EgressGrant;
}

export interface PlaneSetup {
  readonly entry: DeclaredRuntime;
  readonly record: RuntimeRecord | null;
  readonly identity: ClassifierIdentity;
  readonly grant: EgressGrant;
  readonly credential: Credential;
  readonly off: PlaneRecord["reason"];
}

export interface PlaneStanding {
  /** Null: no classifier is named by any leave. */
  readonly setup: PlaneSetup | null;
  readonly state: PlaneRecord;
}

/** Id of the classifier to be probed; null: none takes part. */
export const classifierIdOf = (input: PlaneInput): string | null => choose(input)?.source.entry.id ?? null;

/** Classifiers of a frozen plan. Its entries were validated when the run was prepared. */
export const frozenClassifiers = (graph: Pick<Graph, "declaredRuntimes">): DeclaredRuntime[] =>
  (graph.declaredRuntimes as unknown as readonly DeclaredRuntime[]).filter(
    (entry) => entry.role === "classifier",
  );

/** Provider of a declared classifier: as declared, else its own id, for a program that asks nobody else. */
export const providerOf = (entry: DeclaredRuntime): string => entry.provider ?? entry.id;

/**
 * The first leave that names the provider of a declared classifier decides which one: the spec's in order, then the home
 * policy's. There is no second choice: what fails later switches the plane off and goes to no other provider.
 */
function choose(input: PlaneInput): Chosen | null {
  const confirmed = readHomeRecord(input.env.home);
  const classifiers = input.declared.filter(({ entry }) => entry.role === "classifier");
  for (const entry of input.specEgress) {
    const source = classifiers.find((one) => providerOf(one.entry) === entry.provider);
    if (source === undefined) continue;
    const id = egressId({
      entry,
      specSha256: input.specSha256,
      projectDeclaration: source.source === "home" ? null : declarationDigest(source.entry),
    });
    const status = confirmed.egressDenied.includes(id)
      ? "denied"
      : confirmed.egress.includes(id)
        ? "confirmed"
        : "asked";
    return { source, grant: { id, entry, origin: "spec", status } };
  }
  for (const { runtime, grant: entry, counts } of input.policyEgress) {
    if (!counts) continue;
    // The home trusts a name; what a project puts under that name is another program.
    const source = classifiers.find(
      (one) =>
        one.entry.id === runtime &&
        (one.source === "home" || one.confirmed) &&
        providerOf(one.entry) === entry.provider,
    );
    if (source === undefined) continue;
    const id = egressId({ entry, specSha256: "policy", projectDeclaration: null });
    return { source, grant: { id, entry, origin: "policy", status: "confirmed" } };
  }
  return null;
}

const declarationDigest = (entry: DeclaredRuntime): string => sha256(canonicalize(entry) as string);

export function planeStanding(
  input: PlaneInput,
  o: { readonly records: readonly RuntimeRecord[]; readonly malformed: boolean },
): PlaneStanding {
  const chosen = choose(input);
  if (chosen === null) return { setup: null, state: withoutClassifier(input) };
  const { entry } = chosen.source;
  const record = o.records.find((one) => one.id === entry.id) ?? null;
  const live = record !== null && (record.state === "available" || record.state === "constrained");
  const credential = credentialFor(entry, input);
  const off = planeOffReason({
    classifier: { id: entry.id, live, needsCredential: (entry.provider_env ?? []).length > 0 },
    credentialSource: credential.source,
    grant: chosen.grant,
    malformed: o.malformed,
  });
  return {
    setup: {
      entry,
      record,
      identity: {
        id: entry.id,
        version: versionOf(entry, record, input.root),
        promptSchema: promptSchemaOf("micro_arbiter"),
      },
      grant: chosen.grant,
      credential,
      off,
    },
    state: {
      status: off === null ? "on" : "off",
      reason: off,
      classifier: entry.id,
      provider: providerOf(entry),
      credentialSource: credential.source,
      credentialTrust: credential.trust,
      credentialShadowed: [...credential.shadowed],
      egress: [
        {
          id: chosen.grant.id,
          words: egressWords(chosen.grant.entry, entry.id),
          status: chosen.grant.status,
          origin: chosen.grant.origin,
        },
      ],
      calibration: "missing",
      calibrationDetail: null,
    },
  };
}

function withoutClassifier(input: PlaneInput): PlaneRecord {
  const declared = input.declared.some(({ entry }) => entry.role === "classifier");
  return {
    status: "off",
    reason: declared ? "no-egress" : "no-classifier",
    classifier: null,
    provider: null,
    credentialSource: "absent",
    credentialTrust: null,
    credentialShadowed: [],
    egress: [],
    calibration: "missing",
    calibrationDetail: null,
  };
}

const placesOf = (o: { readonly root: string; readonly script: string; readonly env: Environment }) =>
  credentialPlaces({
    environment: (name) => o.env.get(name),
    workspaceRoot: o.root,
    script: o.script,
  });

/** The reference key has four places; every other provider variable comes from the process environment alone. */
function credentialFor(entry: DeclaredRuntime, input: PlaneInput): Credential {
  const names = entry.provider_env ?? [];
  if (names.includes(REFERENCE_KEY)) return findCredential(placesOf(input));
  const set = names.some((name) => (input.env.get(name) ?? "").trim() !== "");
  return set ? { source: "env", trust: "process", shadowed: [], value: null } : NO_CREDENTIAL;
}

/**
 * What calibration is bound to: the version that it reports, and the bytes of what is run, so that a changed script is
 * another classifier even when it keeps its version.
 */
function versionOf(entry: DeclaredRuntime, record: RuntimeRecord | null, root: string): string {
  const files = [record?.binaryReal ?? record?.binary ?? null, ...(entry.argv ?? [])].flatMap((word) => {
    if (word === null) return [];
    const path = isAbsolute(word) ? word : resolve(root, word);
    return isFile(path) ? [fileIdentity(path)] : [];
  });
  const bytes = sha256(canonicalize({ argv: entry.argv ?? [], files }) as string).slice(0, 16);
  return `${record?.version ?? "unversioned"}+${bytes}`;
}

/** Interpreters are large and change with their version only: their size and time stand for their bytes. */
function fileIdentity(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return size > LARGE_FILE_BYTES ? `${size}:${mtimeMs}` : sha256(readFileSync(path));
}

const LARGE_FILE_BYTES = 8 * 1024 * 1024;

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
