/** Every id that a policy or a command may name: what ships, what is declared, and targets that a probe recognizes. */
import type { DeclaredSource } from "../plan/plan-input.ts";
import { PROBE_TARGETS } from "../runtimes/probe-targets.ts";
import { SHIPPED } from "../runtimes/registry.ts";

export const knownRuntimes = (declared: readonly DeclaredSource[]): string[] => [
  ...new Set([
    ...SHIPPED.map((adapter) => adapter.id),
    ...declared.map(({ entry }) => entry.id),
    ...PROBE_TARGETS.map((target) => target.id),
  ]),
];
