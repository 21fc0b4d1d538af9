/** An `Environment` of the test's own making: nothing of the machine leaks in but what the test names. */
import { hostname, tmpdir } from "node:os";
import type { Environment } from "../../src/host/env.ts";

export function testEnvironment(o: {
  readonly home: string;
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly tmp?: string;
}): Environment {
  return {
    cwd: o.cwd,
    home: o.home,
    tmp: o.tmp ?? tmpdir(),
    platform: process.platform,
    hostname: hostname(),
    stdoutIsTty: false,
    stderrIsTty: false,
    get: (name) => o.variables[name],
    all: () => ({ ...o.variables }),
  };
}
