/** Settings of V8 for a process that forks often. */
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { nodeVersion } from "../../src/host/node-version.ts";
import { forkingFlags } from "../../src/host/often-forked.ts";

it("are known to the Node that runs this", () => {
  const flags = forkingFlags(nodeVersion()[0]);
  expect(flags.length).toBeGreaterThan(1);
  // Node ends with 9 on a setting that V8 does not know.
  const { status, stderr } = spawnSync(process.execPath, [...flags, "-e", "0"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

it("are, of an untried Node, those that all tried ones know", () => {
  const untried = forkingFlags(99);
  for (const major of [20, 22, 24]) expect(forkingFlags(major)).toEqual(expect.arrayContaining([...untried]));
  expect(untried).toEqual(["--heap-growing-percent=20"]);
});
