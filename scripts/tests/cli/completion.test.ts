import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { completionScript } from "../../src/cli/completion.ts";

const SELF = ["/usr/bin/node", "/a folder/it's/orchestrate.mjs"];

/** What bash offers after these words, the last of them unfinished. */
function bashOffers(...words: string[]): string[] {
  const script = `${completionScript("bash", SELF)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); cd /nonexistent 2>/dev/null; _orchestrate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, status, stderr } = spawnSync("bash", ["-c", script, "bash", "orchestrate", ...words], {
    encoding: "utf8",
    cwd: "/proc/self/fdinfo",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((line) => line !== "");
}

describe("bash completion", () => {
  it("offers commands, subcommands, flags and the values of closed sets", () => {
    expect(bashOffers("wa")).toEqual(["wait", "watch"]);
    expect(bashOffers("native", "f")).toEqual(["finish", "fail"]);
    expect(bashOffers("native", "start", "--h")).toEqual(["--handle", "--help"]);
    expect(bashOffers("wait", "--for", "")).toEqual(["action", "change", "settled"]);
    expect(bashOffers("completion", "z")).toEqual(["zsh"]);
  });

  it("defines the command for a tool whose path needs quoting", () => {
    const { stdout } = spawnSync(
      "bash",
      ["-c", `${completionScript("bash", ["echo", SELF[1] ?? ""])}\norchestrate x "y z"`],
      {
        encoding: "utf8",
      },
    );
    expect(stdout).toBe("/a folder/it's/orchestrate.mjs x y z\n");
  });
});

describe("other shells", () => {
  it("zsh takes the bash script by its own means", () => {
    expect(completionScript("zsh", SELF)).toBe(
      `autoload -U +X bashcompinit && bashcompinit\n${completionScript("bash", SELF)}`,
    );
  });

  it("fish has a line for every command and flag", () => {
    const lines = completionScript("fish", SELF).split("\n");
    for (const spec of COMMANDS)
      for (const flag of spec.flags)
        expect(
          lines.some((line) => line.includes(`-l ${flag.name} `)),
          `${spec.name} ${flag.name}`,
        ).toBe(true);
  });
});
