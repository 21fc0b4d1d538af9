/** The live inventory of this host, outside of any run. Asks versions, help, login state and models; only `smoke` spends. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Inventory } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { findTargets, type TargetFinding } from "../run/find-targets.ts";
import { takeInventory } from "../run/inventory.ts";
import type { Adapter } from "../runtimes/adapter.ts";
import { PROBE_TARGETS } from "../runtimes/probe-targets.ts";
import { adapterFor } from "../runtimes/registry.ts";
import { earlierInventory, reuseDiagnostics } from "./inventory-file.ts";
import { loadConfig } from "./load-config.ts";
import { ratingBy } from "./rating.ts";
import { canSmoke, type Smoke, smokeTest } from "./smoke.ts";
import { workspaceRoot } from "./workspace-root.ts";

export interface HostProbe {
  readonly inventory: Inventory;
  readonly targets: readonly TargetFinding[];
  /** Null: nothing was asked. */
  readonly smokes: readonly Smoke[] | null;
  readonly diagnostics: readonly Diagnostic[];
}

export interface HostProbeRequest {
  readonly env: Environment;
  readonly clock: Clock;
  /** None: everything that ships and everything that is declared. */
  readonly ids: readonly string[];
  readonly harness: { readonly name: string; readonly subagents: boolean };
  /** Answers of the newest run may stand in while they are young. */
  readonly reuse?: boolean;
  /** One tiny inference for each live agent. */
  readonly smoke?: {
    readonly timeoutMs: number;
    readonly self: readonly string[];
    readonly progress: (line: string) => void;
  };
}

export async function probeHost(o: HostProbeRequest): Promise<HostProbe> {
  const root = workspaceRoot(o.env.cwd);
  const config = loadConfig({ root, home: o.env.home, now: o.clock.now() });
  const declared = config.declared.map((d) => d.entry);
  // A target is no runtime; who declared a runtime under the name of a target means that one.
  const isTarget = (id: string): boolean =>
    PROBE_TARGETS.some((target) => target.id === id) && !declared.some((entry) => entry.id === id);
  const named = o.ids.filter((id) => !isTarget(id));
  const earlier = o.reuse === true ? earlierInventory(root) : undefined;
  const [found, looked] = await Promise.all([
    takeInventory({
      ids: o.ids.length > 0 ? named : declared.map((entry) => entry.id),
      full: o.ids.length === 0,
      declared,
      env: o.env,
      clock: o.clock,
      exec,
      harness: o.harness,
      rate: ratingBy(config),
      ...(earlier === undefined ? {} : { earlier }),
    }),
    findTargets({ ids: o.ids.length > 0 ? o.ids.filter(isTarget) : null, env: o.env, exec }),
  ]);
  const targets = looked.filter((target) => isTarget(target.id));
  const diagnostics = [...config.diagnostics, ...reuseDiagnostics(found, o.clock.now())];
  if (o.smoke === undefined) return { inventory: found, targets, smokes: null, diagnostics };
  const smokes: Smoke[] = [];
  // One after the other: two of them at once on a small machine would time each other out.
  for (const record of found.records.filter(canSmoke)) {
    o.smoke.progress(`asking ${record.id}`);
    const adapter = adapterFor(record.id, declared) as Adapter;
    smokes.push(await smokeTest({ adapter, record, env: o.env, clock: o.clock, root, ...o.smoke }));
  }
  const raised = new Map(smokes.map((smoke) => [smoke.runtime, smoke.record]));
  const records = found.records.map((record) => raised.get(record.id) ?? record);
  return { inventory: { ...found, records }, targets, smokes, diagnostics };
}
