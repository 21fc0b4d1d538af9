/** What a router's answer may change: floors, upwards. A weak signal is no target. */
import type { CapabilityTier, RiskTier } from "../core/tiers.ts";
import type { AnswerOf } from "./answer.ts";
import { confident } from "./answer.ts";

export interface FloorTargets {
  readonly capability: CapabilityTier | null;
  readonly risk: RiskTier | null;
}

export const routerTargets = (answers: AnswerOf<"router">): FloorTargets => ({
  capability: confident(answers.target_capability),
  risk: confident(answers.target_risk),
});

/** At both tops nothing is left to raise, so nothing is asked. */
export const routerCouldRaise = (job: {
  readonly capabilityFloor: CapabilityTier;
  readonly riskTier: RiskTier;
}): boolean => job.capabilityFloor !== "C3" || job.riskTier !== "R3";
