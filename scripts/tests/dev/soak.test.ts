/** A suite of the soak that names a file which is not there would pass without a test. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../../dev/repo.ts";
import { chosen, fault, SUITES } from "../../dev/soak.ts";

describe("the suites of the soak", () => {
  it("name tests that exist, each suite by its own name", () => {
    expect(new Set(SUITES.map(({ name }) => name)).size).toBe(SUITES.length);
    const missing = SUITES.flatMap(({ files }) => files)
      .map((file) => join(ROOT, "scripts/tests", file))
      .filter((path) => !existsSync(path) && !existsSync(`${path}.test.ts`));
    expect(missing).toEqual([]);
  });

  it("are all of them without a name, and those that are named with one", () => {
    expect(chosen([])).toBe(SUITES);
    expect(chosen(["kills", "damage"]).map(({ name }) => name)).toEqual(["damage", "kills"]);
    expect([fault([]), fault(["kills", "damage"])]).toEqual([null, null]);
    expect(fault(["kill", "damage", "--help"])).toBe(
      `no suite \`kill\`, \`--help\`: \`--list\`, or some of ${SUITES.map(({ name }) => name).join(", ")}`,
    );
  });
});
