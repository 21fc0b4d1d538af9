/** The spec that is frozen with a run, however many jobs it has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { parseSpec } from "../../src/plan/spec.ts";
import { createLane } from "../crash/harness/lane.ts";

const ODD = [
  "plain",
  "# no comment",
  "a: b",
  "\u2028 \u00e9 \u{1f600}",
  "tab\there",
  "- x\n  - y\n",
  "'\"\\",
];

it.each([3, 60])("reads back as it was given, with %i jobs", async (count) => {
  const jobs = Array.from({ length: count }, (_, i) => ({
    id: `job${i}`,
    after: i === 0 ? [] : [`job${i - 1}`],
    seconds: 0,
    fields: `prompt: ${JSON.stringify(ODD[i % ODD.length])}`,
  }));
  const lane = await createLane({ main: "unused", jobs });
  try {
    const text = readFileSync(join(lane.runDir, "jobs.yaml"), "utf8");
    expect(text).toMatch(/^# The input of .* as it runs\. Private; written once, changed by nothing\.\n/);
    const given = parse(readFileSync(join(lane.work, "jobs.yaml"), "utf8"));
    const frozen = parse(text);
    expect(frozen.jobs.map(({ runtimeFrom, ...job }: { runtimeFrom: string }) => [job, runtimeFrom])).toEqual(
      given.jobs.map((job: unknown) => [job, "spec"]),
    );
    expect({ ...frozen, jobs: [] }).toEqual({ ...given, jobs: [] });
    const { diagnostics } = parseSpec(text, { fileName: "jobs.yaml" });
    expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  } finally {
    lane.remove();
  }
});
