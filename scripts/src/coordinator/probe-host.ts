/** The live inventory of this host, outside of any run. Asks versions, help, login state and models; spends nothing. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Inventory } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { findTargets, type TargetFinding } from "../run/find-targets.ts";
import { takeInventory } from "../run/inventory.ts";
import { PROBE_TARGETS } from "../runtimes/probe-targets.ts";
import { loadConfig } from "./load-config.ts";
import { ratingBy } from "./rating.ts";
import { workspaceRoot } from "./workspace-root.ts";

export async function probeHost(o: {
  readonly env: Environment;
  readonly clock: Clock;
  /** None: everything that ships and everything that is declared. */
  readonly ids: readonly string[];
  readonly harness: { readonly name: string; readonly subagents: boolean };
}): Promise<{
  inventory: Inventory;
  targets: readonly TargetFinding[];
  diagnostics: readonly Diagnostic[];
}> {
  const config = loadConfig({ root: workspaceRoot(o.env.cwd), home: o.env.home, now: o.clock.now() });
  const declared = config.declared.map((d) => d.entry);
  // Who declared a runtime under the name of a target means that one.
  const isTarget = (id: string): boolean =>
    PROBE_TARGETS.some((target) => target.id === id) && !declared.some((entry) => entry.id === id);
  const named = o.ids.filter((id) => !isTarget(id));
  const taking = takeInventory({
    ids: o.ids.length > 0 ? named : declared.map((entry) => entry.id),
    full: o.ids.length === 0,
    declared,
    env: o.env,
    clock: o.clock,
    exec,
    harness: o.harness,
    rate: ratingBy(config),
  });
  const looking = findTargets({
    ids: o.ids.length > 0 ? o.ids.filter(isTarget) : null,
    env: o.env,
    exec,
  });
  const [inventory, targets] = await Promise.all([taking, looking]);
  return {
    inventory,
    targets: targets.filter((target) => isTarget(target.id)),
    diagnostics: config.diagnostics,
  };
}
