/** The operator's policy applied to the records of an inventory: the planner's rule, as a value for the prober. */
import type { RuntimeRecord } from "../core/runtime.ts";
import { claimOf, rateRecord } from "../plan/capability.ts";
import type { Rating } from "../run/inventory.ts";
import type { Config } from "./load-config.ts";

export const ratingBy =
  (config: Pick<Config, "declared" | "policy">): ((record: RuntimeRecord) => Rating) =>
  (record) => {
    const declared = config.declared.find((one) => one.entry.id === record.id);
    return rateRecord(record, config.policy, declared === undefined ? null : claimOf(declared));
  };
