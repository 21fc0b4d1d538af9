/** How many jobs run at once: by the run's own bound and by one for each runtime, also when work is promoted into one. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder, throwawayRepo } from "../support/throwaway-repo.ts";
import { builtTool, runDirOf, standingOf, stateOf, traceOf } from "../support/tool.ts";

const tool = builtTool();

/** An agent that notes who works beside it, after it waited (for at most two seconds) until `want` are at work at once. */
const agent = (log: string, id: string, o: { want: number; fails: boolean }): string => `#!/bin/sh
case "$1" in --version) echo "${id} 1.0.0"; exit 0;; esac
cat > /dev/null
mkdir -p ${log}/inside ${log}/most
me=${log}/inside/${id}.$$
: > "$me"
looks=0
while [ "$(ls ${log}/inside | wc -l)" -lt ${o.want} ] && [ $looks -lt 40 ]; do looks=$((looks + 1)); sleep 0.05; done
echo "${id} $(ls ${log}/inside | grep -c '^${id}.') $(ls ${log}/inside | wc -l)" >> ${log}/seen
sleep 0.3
rm "$me"
${o.fails ? 'echo "503 service unavailable" >&2; kill -9 $$' : ""}
echo '{"type":"result","result":"looked at it, nothing to report"}'
`;

const declared = (bin: string, id: string): string => `  - id: ${id}
    command: ${bin}/${id}
    version_args: [--version]
    prompt: stdin
    flags: {read_only: [--read-only]}
    output: jsonl
    settled_by: {path: type, equals: result}
    result: {path: result}
    controls: {approval: scoped, toolGating: coarse, isolation: none, writeBoundary: enforced}
`;

function workspace(agents: Readonly<Record<string, { want: number; fails?: boolean }>>, spec: object) {
  const repo = throwawayRepo({ "README.md": "# pools\n" });
  const bin = temporaryFolder();
  mkdirSync(join(repo.path, ".orchestrate"));
  for (const [id, o] of Object.entries(agents)) {
    writeFileSync(join(bin, id), agent(bin, id, { fails: false, ...o }));
    chmodSync(join(bin, id), 0o755);
  }
  writeFileSync(
    join(repo.path, ".orchestrate/runtimes.yaml"),
    `runtimes:\n${Object.keys(agents)
      .map((id) => declared(bin, id))
      .join("")}`,
  );
  writeFileSync(
    join(repo.path, "jobs.json"),
    JSON.stringify({ version: 1, defaults: { timeout: "1m" }, ...spec }),
  );
  repo.commit("spec");
  return {
    path: repo.path,
    /** Most that were inside at once: of each agent, and in all. */
    most: () => {
      const seen = existsSync(join(bin, "seen"))
        ? readFileSync(join(bin, "seen"), "utf8").trim().split("\n")
        : [];
      const most: Record<string, number> = { all: 0 };
      for (const line of seen) {
        const [id, own, all] = line.split(" ") as [string, string, string];
        most[id] = Math.max(most[id] ?? 0, Number(own));
        most["all"] = Math.max(most["all"] as number, Number(all));
      }
      return { ...most, starts: seen.length };
    },
  };
}

const scout = (id: string, runtime: string, more: object = {}): object => ({
  id,
  task: "scout",
  runtime,
  prompt: "look",
  expected_output: "a note",
  ...more,
});

describe("pools", () => {
  it("hold back one runtime alone: the others fill the slots of the run", async () => {
    const { path, most } = workspace(
      { narrow: { want: 3 }, wide: { want: 3 } },
      {
        concurrency: 3,
        pools: { narrow: 1 },
        // Those that have to wait stand first: they must not keep the others from their slots.
        jobs: [
          ...["n1", "n2", "n3"].map((id) => scout(id, "narrow")),
          ...["w1", "w2"].map((id) => scout(id, "wide")),
        ],
      },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const standing = standingOf(stateOf(runDirOf(run)));
    expect(Object.values(standing).map((one) => one.split(",")[0])).toEqual(Array(5).fill("success"));
    expect(most()).toEqual({ narrow: 1, wide: 2, all: 3, starts: 5 });
  });

  it("hold for work that is promoted into the runtime, and what it waits for is seen", async () => {
    const { path, most } = workspace(
      { broken: { want: 1, fails: true }, narrow: { want: 2 } },
      {
        concurrency: 3,
        pools: { narrow: 1 },
        jobs: ["a", "b", "c"].map((id) => scout(id, "broken", { fallback_runtime: ["narrow"] })),
      },
    );
    const run = await tool().json(["run", "jobs.json"], { cwd: path });
    const runDir = runDirOf(run);
    for (const job of Object.values(stateOf(runDir).jobs))
      expect(job.attemptRecords.map((one) => `${one.relation} ${one.runtime} ${one.status}`)).toEqual([
        "first broken failed",
        "promotion narrow success",
      ]);
    expect(most()).toMatchObject({ narrow: 1, starts: 6 });
    const routes = traceOf(runDir).filter((line) => line.kind === "route");
    expect(routes.map((line) => [line.jobId, line.payload])).toEqual(
      ["a", "b", "c"].map((id) => [
        id,
        {
          chosen: "broken",
          model: null,
          effort: null,
          capabilityFloor: "C1",
          riskTier: "R0",
          pinned: true,
          runtimeFrom: null,
          chain: ["broken", "narrow"].map((runtime) => ({
            runtime,
            model: null,
            effort: null,
            capability: "C2",
            capabilitySource: "adapter-default",
            family: null,
            familySource: "unknown",
            independence: null,
            weaker: [],
          })),
          chainOmitted: 0,
          runnerUp: "narrow",
          margin: "declared_order",
          blocked: null,
          rejected: expect.any(Array),
          rejectedOmitted: 0,
        },
      ]),
    );
    const observed = traceOf(runDir).filter((line) => line.kind === "observe");
    expect(observed.map((line) => typeof line.payload["firstEventMs"]).sort()).toEqual([
      ...Array(3).fill("number"),
      ...Array(3).fill("object"),
    ]);
  });
});
