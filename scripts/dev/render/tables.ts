/** One renderer per generated block. Each derives from the table in the code that owns the fact. */
import { POLICY, type PolicyConstant } from "../../src/core/policy.ts";
import { COMMAND_TABLES } from "./command-tables.ts";
import { code, table } from "./markdown.ts";
import { RUN_TABLES } from "./run-tables.ts";
import { SPEC_TABLES } from "./spec-tables.ts";

/** Block id → Markdown. */
export const TABLES: Readonly<Record<string, () => string>> = {
  ...COMMAND_TABLES,
  ...SPEC_TABLES,
  ...RUN_TABLES,
  ...constantTables(),
};

/** `constants:OWNER` for each document that owns policy numbers. */
function constantTables(): Record<string, () => string> {
  const all = Object.entries(POLICY as Readonly<Record<string, PolicyConstant>>);
  const owners = [...new Set(all.map(([, constant]) => constant.owner))];
  return Object.fromEntries(
    owners.map((owner) => [
      `constants:${owner}`,
      () =>
        table(
          ["constant", "value", "unit", "why"],
          all
            .filter(([, constant]) => constant.owner === owner)
            .map(([name, constant]) => [code(name), String(constant.value), constant.unit, constant.reason]),
        ),
    ]),
  );
}
