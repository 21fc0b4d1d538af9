import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { targetText } from "../../src/coordinator/target-text.ts";
import { exec } from "../../src/host/exec.ts";
import { findTargets } from "../../src/run/find-targets.ts";
import { fakeCli } from "../support/fake-cli.ts";
import { testEnvironment } from "../support/test-environment.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

function host(clis: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const bin = temporaryFolder();
  const home = temporaryFolder();
  for (const [name, cases] of Object.entries(clis)) fakeCli(bin, name, cases);
  const env = testEnvironment({
    home,
    cwd: home,
    variables: { PATH: `${bin}:${process.env["PATH"]}`, HOME: home, XAI_API_KEY: "not-for-a-probe" },
  });
  return { bin, home, env };
}

const GROK = { "--version": "echo 1.2.3", "--help": "echo '  -p, --prompt P\n  --max-tool-rounds N'" };

describe("probe targets on a host", () => {
  it("are told apart by their help, in an empty home and without credentials", async () => {
    const { bin, home, env } = host({
      grok: {
        ...GROK,
        "--version": 'echo 1.2.3; echo "$HOME $XAI_API_KEY" > "$FAKE/seen"; touch "$HOME/mark"',
      },
    });
    const found = await findTargets({ ids: ["grok"], env, exec });
    expect(found).toEqual([
      {
        id: "grok",
        state: "stub",
        binary: join(bin, "grok"),
        version: "1.2.3",
        program: "community grok-cli",
        known: ["xAI Grok Build", "community grok-cli"],
      },
    ]);
    expect(targetText(found[0]!)).toBe(
      `grok: community grok-cli 1.2.3, ${join(bin, "grok")}; a probe target: to use it, declare it in \`runtimes.yaml\` under an id of its own`,
    );
    expect(readdirSync(home)).toEqual([]);
  });

  it("that are none of the known programs, or are not there, are said to be so", async () => {
    const { bin, env } = host({ aider: { "*": "echo something else" } });
    const [aider, omp] = (await findTargets({ ids: ["omp", "aider"], env, exec })).reverse();
    expect(targetText(aider!)).toBe(
      `aider: none of the programs known by that name (aider), ${join(bin, "aider")}; a probe target: to use it, declare it in \`runtimes.yaml\` under an id of its own`,
    );
    expect(targetText(omp!)).toBe("omp: not on PATH; a probe target, nothing dispatches to it");
  });

  it("are looked for among what is on PATH when nobody names one", async () => {
    const { env } = host({ grok: GROK });
    const found = await findTargets({ ids: null, env, exec });
    expect(found.filter((one) => one.id === "grok").map((one) => one.program)).toEqual([
      "community grok-cli",
    ]);
    expect(found.every((one) => one.binary !== null)).toBe(true);
  });
});
