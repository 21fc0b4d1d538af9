/** Risk and capability tiers, tasks and effects: the tables that every other module derives from. */

export const RISK_TIERS = ["R0", "R1", "R2", "R3"] as const;
export type RiskTier = (typeof RISK_TIERS)[number];
export const CAPABILITY_TIERS = ["C1", "C2", "C3"] as const;
export type CapabilityTier = (typeof CAPABILITY_TIERS)[number];
export const EFFECTS = ["observe", "scoped-write", "high-impact-write", "external-destructive"] as const;
export type Effect = (typeof EFFECTS)[number];
export const TASKS = [
  "scout",
  "architecture",
  "implement",
  "review",
  "audit",
  "security",
  "test",
  "docs",
  "mechanical",
] as const;
export type Task = (typeof TASKS)[number];
export const EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof EFFORTS)[number];
export const TOOL_WORDS = ["read", "search", "edit", "write", "shell", "web", "agent"] as const;
export const RETRY_CLASSES = ["RATE_LIMIT", "QUOTA", "NETWORK", "RUNTIME_CRASH"] as const;

export const EFFECT_RISK: Readonly<Record<Effect, RiskTier>> = {
  observe: "R0",
  "scoped-write": "R1",
  "high-impact-write": "R2",
  "external-destructive": "R3",
};

const rank = <T extends string>(order: readonly T[], value: T): number => order.indexOf(value);

export const maxRisk = (a: RiskTier, b: RiskTier): RiskTier =>
  rank(RISK_TIERS, a) >= rank(RISK_TIERS, b) ? a : b;
export const maxCapability = (a: CapabilityTier, b: CapabilityTier): CapabilityTier =>
  rank(CAPABILITY_TIERS, a) >= rank(CAPABILITY_TIERS, b) ? a : b;
export const riskAtLeast = (tier: RiskTier, floor: RiskTier): boolean =>
  rank(RISK_TIERS, tier) >= rank(RISK_TIERS, floor);
export const capabilityAtLeast = (tier: CapabilityTier, floor: CapabilityTier): boolean =>
  rank(CAPABILITY_TIERS, tier) >= rank(CAPABILITY_TIERS, floor);
/** A job that may change files. */
export const writes = (effect: Effect, tier: RiskTier): boolean =>
  effect !== "observe" || riskAtLeast(tier, "R1");
