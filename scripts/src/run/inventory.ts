/**
 * The live inventory: what is on this host, what it says of itself, and what that proves. Every candidate is asked once,
 * all at the same time, each command under its own budget. Nothing is installed, logged in, written or inferred.
 */
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import type { exec as execCommand } from "../host/exec.ts";
import type { Adapter, Profile } from "../runtimes/adapter.ts";
import { declaredAdapter } from "../runtimes/declared.ts";
import { internalProfile } from "../runtimes/internal.ts";
import { UNPROVEN } from "../runtimes/profile.ts";
import { SHIPPED } from "../runtimes/registry.ts";
import { type Located, locate } from "./locate.ts";
import { originOf, probe } from "./probe.ts";

export interface InventoryRequest {
  /** Runtimes that could be selected, be a fallback or be the arbiter: each is probed in full. */
  readonly ids: readonly string[];
  /** Probe every shipped runtime that is found, not only `ids`. */
  readonly full: boolean;
  readonly declared: readonly DeclaredRuntime[];
  readonly env: Environment;
  readonly clock: Clock;
  readonly exec: typeof execCommand;
  readonly harness: { readonly name: string; readonly subagents: boolean };
  /** Operator policy applied to a record: the planner's rule, handed in as a value. */
  readonly rate?: (record: RuntimeRecord) => Rating;
  /** Answers of this process, so that a candidate is asked once a run. */
  readonly cache?: ProbeCache;
  /** Records of an earlier inventory that may stand in while they are young enough (`plan`, `doctor`). */
  readonly earlier?: { readonly inventory: Inventory; readonly maxAgeMs: number };
}

export type Rating = Pick<RuntimeRecord, "capability" | "capabilitySource" | "family" | "familySource">;
export type ProbeCache = Map<string, Promise<RuntimeRecord>>;

/** One record per runtime that was found or asked for, in the order of the registry, declared ones after. */
export async function takeInventory(request: InventoryRequest): Promise<Inventory> {
  const asked = new Set(request.ids);
  const adapters = [
    ...SHIPPED,
    ...request.declared
      .filter((entry) => !SHIPPED.some((adapter) => adapter.id === entry.id))
      .map(declaredAdapter),
  ];
  const records = await Promise.all(adapters.map((adapter) => recordOf(adapter, asked, request)));
  const unknown = [...asked].filter((id) => !adapters.some((adapter) => adapter.id === id));
  return {
    schemaVersion: 1,
    probedAt: isoTime(request.clock.now()),
    hostOS: request.env.platform,
    records: [
      ...records.filter((record) => record !== null),
      ...unknown.map((id) => unavailable(id, "unknown-runtime", request)),
    ].map((record) => (request.rate === undefined ? record : { ...record, ...request.rate(record) })),
  };
}

async function recordOf(
  adapter: Adapter,
  asked: ReadonlySet<string>,
  request: InventoryRequest,
): Promise<RuntimeRecord | null> {
  if (adapter.id === "internal") return builtIn(adapter, internalProfile(request.harness), request);
  if (adapter.executable === null) return builtIn(adapter, adapter.profile(noAnswers(request)), request);
  const shipped = SHIPPED.includes(adapter);
  const wanted = asked.has(adapter.id) || (request.full && shipped);
  // A declared runtime counts only where somebody names it.
  if (!wanted && !shipped) return null;
  const located = await locate(adapter, request.env);
  if (located === null) return asked.has(adapter.id) ? notFound(adapter, request) : null;
  if (!wanted) return described(adapter, { ...UNPROVEN, reason: "not-probed" }, located, request);
  return reusable(adapter, located, request) ?? (await probed(adapter, located, request));
}

/**
 * The earlier record, when the same file in the same circumstances gave it and it is young enough; it says that it is
 * reused. A record that keeps the runtime out is never reused: its user may just have done what was missing.
 */
function reusable(adapter: Adapter, located: Located, request: InventoryRequest): RuntimeRecord | null {
  const { earlier } = request;
  if (earlier === undefined) return null;
  const record = earlier.inventory.records.find((entry) => entry.id === adapter.id);
  if (record === undefined || (record.state !== "available" && record.state !== "constrained")) return null;
  const age = request.clock.now() - Date.parse(record.probedAt);
  const same =
    record.binary === located.binary &&
    record.binaryReal === located.binaryReal &&
    originOf(adapter, located, request.env).every((origin) =>
      record.evidence.some(
        (one) =>
          one.source === origin.source && one.finding === origin.finding && one.sha256 === origin.sha256,
      ),
    );
  return same && age >= 0 && age <= earlier.maxAgeMs ? { ...record, reused: true } : null;
}

function probed(adapter: Adapter, located: Located, request: InventoryRequest): Promise<RuntimeRecord> {
  const key = `${adapter.id}\0${located.identity}`;
  const known = request.cache?.get(key);
  if (known !== undefined) return known;
  const asking = probe(adapter, located, request).then((profile) =>
    described(adapter, profile, located, request),
  );
  request.cache?.set(key, asking);
  return asking;
}

const noAnswers = (request: InventoryRequest): Parameters<Adapter["profile"]>[0] => {
  const silent = { exitCode: null, stdout: "", stderr: "", timedOut: false };
  return {
    binary: "",
    binaryReal: "",
    answers: { version: silent, help: [], auth: null, models: null },
    envNames: new Set(),
    hostOS: request.env.platform,
  };
};

const builtIn = (adapter: Adapter, profile: Profile, request: InventoryRequest): RuntimeRecord =>
  described(adapter, profile, null, request);

function notFound(adapter: Adapter, request: InventoryRequest): RuntimeRecord {
  const missing: Profile = {
    ...UNPROVEN,
    state: "unavailable",
    reason: "not-found",
    evidence: [{ source: "PATH", finding: `no executable \`${adapter.executable}\``, sha256: null }],
  };
  return described(adapter, missing, null, request);
}

function unavailable(id: string, reason: string, request: InventoryRequest): RuntimeRecord {
  const stub = { id, kind: "cli", role: "agent", capability: "C1" } as const;
  return described(stub, { ...UNPROVEN, state: "unavailable", reason }, null, request);
}

function described(
  adapter: Pick<Adapter, "id" | "kind" | "role" | "capability">,
  profile: Profile,
  located: Located | null,
  request: InventoryRequest,
): RuntimeRecord {
  // Behind another endpoint than the vendor's nobody knows who answers.
  const genuine = !profile.gateway;
  const family = genuine ? profile.family : null;
  const harness = adapter.kind === "internal";
  return {
    ...profile,
    id: adapter.id,
    role: adapter.role,
    kind: adapter.kind,
    binary: located?.binary ?? null,
    binaryReal: located?.binaryReal ?? null,
    hostOS: request.env.platform,
    probedAt: isoTime(request.clock.now()),
    reused: false,
    family,
    capability: genuine || adapter.capability !== "C3" ? adapter.capability : "C2",
    capabilitySource: harness ? "harness" : "adapter-default",
    familySource: family === null ? "unknown" : harness ? "harness" : "adapter-default",
    classifier_hint: null,
  };
}
