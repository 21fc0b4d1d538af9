import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { jobsAround } from "../../src/coordinator/jobs-around.ts";
import { JOB_ANCESTORS, JOB_MARKER } from "../../src/core/harness-markers.ts";

it("tells the jobs around a process from its environment, the innermost first, and nothing from what is no marker", () => {
  const markers = {
    [JOB_MARKER]: "/runs/in #1#build#2",
    [JOB_ANCESTORS]: "/runs/out#lead#1\n/runs/top#a.b-c#12",
  };
  expect(jobsAround(markers)).toEqual([
    { runDir: "/runs/in #1", jobId: "build" },
    { runDir: "/runs/out", jobId: "lead" },
    { runDir: "/runs/top", jobId: "a.b-c" },
  ]);
  expect(jobsAround({})).toEqual([]);
  expect(jobsAround({ [JOB_MARKER]: "", [JOB_ANCESTORS]: "smoke-1-claude-2\n#x#1\n/run#job#" })).toEqual([]);
});

it("tells them from an ancestor that has the marker when the process itself has it not", () => {
  const module = new URL("../../src/coordinator/jobs-around.ts", import.meta.url).pathname;
  const script = `import { jobsAround } from ${JSON.stringify(module)}; console.log(JSON.stringify(jobsAround({})));`;
  const tsx = new URL("../../../node_modules/tsx/dist/cli.mjs", import.meta.url).pathname;
  // A shell in between that lives as long as the process does.
  const shell = `env -u ${JOB_MARKER} "$0" "$1" -e "$2"; exit $?`;
  const done = spawnSync("sh", ["-c", shell, process.execPath, tsx, script], {
    env: { ...process.env, [JOB_MARKER]: "/runs/one#job#1" },
    encoding: "utf8",
  });
  expect(JSON.parse(done.stdout)).toEqual([{ runDir: "/runs/one", jobId: "job" }]);
});
