/** The environment of an attempt's process: a short allowlist, what the adapter declares, and the spec's own `env_allow`. */
import { BASE_ENVIRONMENT } from "../core/child-environment.ts";
import type { PlanJob } from "../core/runtime.ts";
import { childEnvironment } from "../run/child-env.ts";
import type { Adapter, StartPlan } from "../runtimes/adapter.ts";
import type { Session } from "./session.ts";

export function childEnvFor(
  s: Session,
  o: {
    readonly adapter: Adapter;
    readonly job: PlanJob;
    readonly plan: Pick<StartPlan, "env" | "envPass">;
    readonly marker: string;
  },
): Record<string, string> {
  const allow = [...BASE_ENVIRONMENT, ...o.plan.envPass, ...(o.job.invocation?.envAllow ?? [])];
  return childEnvironment({ parent: s.env.all(), allow, set: o.plan.env, marker: o.marker }).env;
}

/** For commands of the spec itself (setup, verification, preview): the same allowlist, no provider variables. */
export const commandEnv = (s: Pick<Session, "env">, marker: string): Record<string, string> =>
  childEnvironment({ parent: s.env.all(), allow: BASE_ENVIRONMENT, set: {}, marker }).env;
