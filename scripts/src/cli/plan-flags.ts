/** The flags that change how a spec is planned, the same for `plan`, `gate` and `run`. */
import type { PlanFlags } from "../coordinator/plan-spec.ts";
import type { Environment } from "../host/env.ts";
import { flagInteger, flagList, flagOn, type Parsed } from "./context.ts";
import { harnessOf } from "./harness.ts";

export function planFlags(env: Environment, parsed: Parsed): PlanFlags {
  return {
    yes: flagOn(parsed, "yes"),
    internal: flagOn(parsed, "internal"),
    concurrency: flagInteger(parsed, "concurrency") ?? null,
    only: flagList(parsed, "only"),
    harness: harnessOf(env, parsed) ?? { name: "unknown", subagents: false },
  };
}
