import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { coordinatorEnvironment } from "../../src/coordinator/start.ts";

describe("the coordinator's own environment", () => {
  it("keeps every variable and adds the bound on new memory to the options of Node", () => {
    expect(coordinatorEnvironment({ PATH: "/bin" })).toEqual({
      PATH: "/bin",
      NODE_OPTIONS: "--max-semi-space-size=1",
    });
    expect(coordinatorEnvironment({ NODE_OPTIONS: "--no-warnings" })).toEqual({
      NODE_OPTIONS: "--no-warnings --max-semi-space-size=1",
    });
  });

  it("leaves a bound of the user's own alone", () => {
    const own = { NODE_OPTIONS: "--max-semi-space-size=64" };
    expect(coordinatorEnvironment(own)).toEqual(own);
  });

  it("is one that this Node starts with", () => {
    const env = coordinatorEnvironment({ PATH: process.env["PATH"] ?? "" });
    expect(execFileSync(process.execPath, ["-p", "1 + 1"], { env, encoding: "utf8" })).toBe("2\n");
  });
});
