/** Opens a run for its coordinator: plan, inventory, logs; on a resume after a fresh look at the host. */
import { join } from "node:path";
import { ulid } from "ulid";
import { RUN_FILES } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Graph, Inventory, State } from "../core/runtime.ts";
import { openEventsLog } from "../evidence/events-log.ts";
import { openTrace } from "../evidence/trace.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { ensureDir } from "../host/files.ts";
import { redactText } from "../run/redact.ts";
import type { Adapter } from "../runtimes/adapter.ts";
import { adapterFor, SHIPPED } from "../runtimes/registry.ts";
import { pendingCommands } from "../state/inbox.ts";
import type { Store } from "../state/store.ts";
import { readGraph, shareGraph, supervisorDir } from "./graph-file.ts";
import { readInventory, writeInventory } from "./inventory-file.ts";
import { createObservation } from "./observation.ts";
import { createPlane, type Plane } from "./plane.ts";
import { indexJobs } from "./readiness.ts";
import { type Refreshed, refresh } from "./refresh.ts";
import { secretValuesOf } from "./secret-values.ts";
import type { Session } from "./session.ts";

export interface MutableSession extends Session {
  fault: Error | null;
  readonly hardStops: Set<() => void>;
  /** What a resume found when it looked again; null on a first start. */
  readonly refreshed: Refreshed | null;
}

export interface OpenInput {
  readonly runDir: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly self: readonly string[];
  readonly resume: boolean;
  readonly harness: State["harness"] | null;
}

export async function openSession(o: OpenInput, store: Store): Promise<Result<MutableSession, string>> {
  const read = readGraph(o.runDir, store.state.graphSha256);
  if (!read.ok) return err(`${read.error.message} ${read.error.fix}`);
  const inventory = readInventory(o.runDir);
  if (!inventory.ok) return inventory;
  const prepared = store.state.status === "preparing" ? store.state.supervisorRunId : null;
  const supervisorRunId = prepared ?? ulid(o.clock.now());
  ensureDir(supervisorDir(o.runDir, supervisorRunId));
  if (!o.resume) {
    shareGraph(read.value.path, o.runDir, supervisorRunId);
    return ok(
      sessionOf(o, {
        store,
        supervisorRunId,
        graph: read.value.graph,
        inventory: inventory.value,
        refreshed: null,
      }),
    );
  }
  const refreshed = await refresh({
    runDir: o.runDir,
    supervisorRunId,
    graph: read.value.graph,
    graphPath: read.value.path,
    state: store.state,
    before: inventory.value,
    harness: o.harness,
    retrying: new Set(
      pendingCommands(o.runDir).flatMap(({ command }) => (command.kind === "retry" ? [command.jobId] : [])),
    ),
    env: o.env,
    clock: o.clock,
  });
  await store.commit([
    { type: "run", patch: { graphSha256: refreshed.graphSha256, harness: refreshed.harness } },
  ]);
  return ok(
    sessionOf(o, {
      store,
      supervisorRunId,
      graph: refreshed.graph,
      inventory: refreshed.inventory,
      refreshed,
    }),
  );
}

function sessionOf(
  o: OpenInput,
  run: {
    store: Store;
    supervisorRunId: string;
    graph: Graph;
    inventory: Inventory;
    refreshed: Refreshed | null;
  },
): MutableSession {
  const { store, supervisorRunId, graph, inventory } = run;
  const secretValues = secretValuesOf({
    env: o.env,
    workspaceRoot: graph.workspaceRoots[0] as string,
    script: o.self.at(-1) ?? "",
  });
  const redact = (text: string): string => redactText(text, secretValues);
  const hardStops = new Set<() => void>();
  const records = new Map(inventory.records.map((record) => [record.id, record]));
  let plane: Plane | null = null;
  const session: MutableSession = {
    runDir: o.runDir,
    runId: graph.runId,
    supervisorRunId,
    graph,
    index: indexJobs(graph.jobs),
    store,
    clock: o.clock,
    env: o.env,
    self: o.self,
    inventory,
    records,
    adapters: adaptersOf(graph),
    events: openEventsLog({
      file: join(supervisorDir(o.runDir, supervisorRunId), RUN_FILES.events),
      runId: graph.runId,
      now: o.clock.now,
      redact,
    }),
    trace: openTrace({ file: join(o.runDir, RUN_FILES.trace), runId: graph.runId, now: o.clock.now }),
    secretValues,
    cancelledJobs: new Set(),
    observation: createObservation({
      runDir: o.runDir,
      cwds: graph.jobs.map((job) => job.cwd),
      mono: o.clock.mono,
    }),
    redact,
    renew(record) {
      records.set(record.id, record);
      writeInventory(o.runDir, {
        ...inventory,
        records: inventory.records.map((known) => records.get(known.id) ?? known),
      });
    },
    get plane() {
      plane ??= createPlane(session);
      return plane;
    },
    unions: new Map(),
    claims: new Map(),
    nativeOpen: new Set(),
    fault: null,
    hardStops,
    refreshed: run.refreshed,
    onHardStop(end) {
      hardStops.add(end);
      return () => hardStops.delete(end);
    },
    commit: (records) => store.commit(records),
    fail(error) {
      session.fault ??= error;
    },
  };
  return session;
}

function adaptersOf(graph: Graph): Map<string, Adapter> {
  // graph.json holds entries that were validated when the run was prepared.
  const declared = graph.declaredRuntimes as unknown as Parameters<typeof adapterFor>[1];
  const ids = [...SHIPPED.map((adapter) => adapter.id), ...declared.map((entry) => entry.id)];
  return new Map(
    ids.flatMap((id) => {
      const adapter = adapterFor(id, declared);
      return adapter === null ? [] : [[id, adapter] as const];
    }),
  );
}
