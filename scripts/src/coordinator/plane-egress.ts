/** Which leave to send content a spec or a run asks for, and the user's answer to it. */
import type { State } from "../core/runtime.ts";
import { updateHomeRecord, withEntry, withoutEntry } from "./home-record.ts";
import { loadSpec, type SpecInput } from "./load-spec.ts";
import { planeStanding } from "./plane-setup.ts";

export type EgressRequest = NonNullable<State["plane"]>["egress"][number];

/** Empty for a spec that cannot be used or asks for nothing. */
export function egressOfSpec(o: SpecInput & { readonly script: string }): readonly EgressRequest[] {
  const { loaded } = loadSpec(o);
  if (loaded === null) return [];
  const { state } = planeStanding(
    {
      declared: loaded.config.declared,
      specEgress: loaded.top.egress,
      policyEgress: loaded.config.egress,
      specSha256: loaded.sha256,
      root: loaded.top.workspaceRoots[0] as string,
      script: o.script,
      env: o.env,
    },
    { records: [], malformed: false },
  );
  return state.egress;
}

/** Kept in the home, where no project can write it; the later answer counts. */
export function recordEgress(home: string, id: string, decision: "approve" | "deny"): void {
  const yes = decision === "approve";
  updateHomeRecord(home, ({ egress, egressDenied }) => ({
    egress: yes ? withEntry(egress, id) : withoutEntry(egress, id),
    egressDenied: yes ? withoutEntry(egressDenied, id) : withEntry(egressDenied, id),
  }));
}
