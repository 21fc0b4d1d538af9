/** Which attempts the micro-arbiter is asked about, and whether its signals may decide. */
import { POLICY } from "../core/policy.ts";

export type MicroMode = "deciding" | "observing" | "shadow";

/**
 * `deciding`: only signals are missing for acceptance. `observing`: the same, without a valid calibration record. All
 * other attempts go to C3 whatever it says; of those, every n-th is sampled, a few per run. Null: not asked.
 */
export function microMode(o: {
  /** Every condition for acceptance without C3 holds but for those that the plane supplies. */
  readonly otherwiseAcceptable: boolean;
  readonly calibrationValid: boolean;
  /** Attempts of this run that went to C3 for other reasons, this one included. */
  readonly othersSoFar: number;
  readonly shadowCalls: number;
}): MicroMode | null {
  if (o.otherwiseAcceptable) return o.calibrationValid ? "deciding" : "observing";
  const due = o.othersSoFar > 0 && o.othersSoFar % POLICY.SHADOW_SAMPLE_EVERY_N.value === 0;
  return due && o.shadowCalls < POLICY.SHADOW_SAMPLE_MAX_PER_RUN.value ? "shadow" : null;
}
