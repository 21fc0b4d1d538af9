/** The live inventory of this host, outside of any run. Asks versions, help, login state and models; spends nothing. */
import type { Diagnostic } from "../core/diagnostic.ts";
import type { Inventory } from "../core/runtime.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { takeInventory } from "../run/inventory.ts";
import { loadConfig } from "./load-config.ts";
import { ratingBy } from "./rating.ts";
import { workspaceRoot } from "./workspace-root.ts";

export async function probeHost(o: {
  readonly env: Environment;
  readonly clock: Clock;
  /** None: everything that ships and everything that is declared. */
  readonly ids: readonly string[];
  readonly harness: { readonly name: string; readonly subagents: boolean };
}): Promise<{ inventory: Inventory; diagnostics: readonly Diagnostic[] }> {
  const config = loadConfig({ root: workspaceRoot(o.env.cwd), home: o.env.home, now: o.clock.now() });
  const declared = config.declared.map((d) => d.entry);
  const inventory = await takeInventory({
    ids: o.ids.length > 0 ? o.ids : declared.map((entry) => entry.id),
    full: o.ids.length === 0,
    declared,
    env: o.env,
    clock: o.clock,
    exec,
    harness: o.harness,
    rate: ratingBy(config),
  });
  return { inventory, diagnostics: config.diagnostics };
}
