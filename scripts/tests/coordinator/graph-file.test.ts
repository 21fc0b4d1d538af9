/** The plan on disk: found by its digest only, whichever version of the tool wrote it. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freezeGraph, readGraph, shareGraph } from "../../src/coordinator/graph-file.ts";
import type { Graph } from "../../src/core/runtime.ts";
import { buildPlan } from "../../src/plan/build-plan.ts";
import { normalJob, planInput } from "../plan/plan-support.ts";
import { tempDir } from "../state/temp-dir.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Jobs of one kind and, among them, some that differ. */
function graphOf(count: number): Graph {
  const jobs = Array.from({ length: count }, (_, i) =>
    normalJob({
      id: `job${i}`,
      prompt: i % 7 === 0 ? "“other”\n],\n]}" : "the same",
      dependsOn: i === 0 ? [] : [`job${i - 1}`],
    }),
  );
  return {
    ...buildPlan(planInput(jobs, [])).graph,
    runId: "run",
    createdAt: "2026-01-01T00:00:00Z",
  } as Graph;
}

const fileOf = (runDir: string, id = "first"): string => join(runDir, "supervisor", id, "graph.json");

function place(runDir: string, text: string, id = "first"): string {
  mkdirSync(join(runDir, "supervisor", id), { recursive: true });
  writeFileSync(fileOf(runDir, id), text);
  return sha256(text);
}

test.each([0, 1, 2, 500])("%i jobs are read as they were written, and the file is JSON", (count) => {
  const runDir = tempDir();
  const graph = graphOf(count);
  const digest = freezeGraph(runDir, "first", graph);
  const text = readFileSync(fileOf(runDir), "utf8");
  expect(sha256(text)).toBe(digest);
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(graph)));
  expect(readGraph(runDir, digest)).toEqual({
    ok: true,
    value: { graph: JSON.parse(text), path: fileOf(runDir) },
  });
});

test("what jobs have in common is in memory once", () => {
  const runDir = tempDir();
  const read = readGraph(runDir, freezeGraph(runDir, "first", graphOf(3)));
  const [, second, third] = read.ok ? read.value.graph.jobs : [];
  expect(second?.retry).toBe(third?.retry);
  expect(second?.route).toBe(third?.route);
  expect(second?.dependsOn).not.toBe(third?.dependsOn);
});

test.each([
  ["in one line, as an older version wrote it", (graph: Graph) => `${JSON.stringify(graph)}\n`],
  ["indented", (graph: Graph) => JSON.stringify(graph, null, 2)],
])("a plan %s is read too", (_, textOf) => {
  const runDir = tempDir();
  const graph = graphOf(20);
  const digest = place(runDir, textOf(graph));
  const read = readGraph(runDir, digest);
  expect(read.ok && read.value.graph).toEqual(JSON.parse(JSON.stringify(graph)));
});

test("the plan is found among others, and a later supervisor's folder shows the same file", () => {
  const runDir = tempDir();
  freezeGraph(runDir, "a", graphOf(2));
  place(runDir, "not even JSON", "b");
  place(runDir, "", "c");
  const digest = freezeGraph(runDir, "d", graphOf(3));
  const read = readGraph(runDir, digest);
  expect(read.ok && read.value.path).toBe(fileOf(runDir, "d"));
  shareGraph(fileOf(runDir, "d"), runDir, "e");
  expect(readFileSync(fileOf(runDir, "e"), "utf8")).toBe(readFileSync(fileOf(runDir, "d"), "utf8"));
});

test("a plan cut at any line or changed in one byte is refused by name", () => {
  const runDir = tempDir();
  const digest = freezeGraph(runDir, "first", graphOf(4));
  const text = readFileSync(fileOf(runDir), "utf8");
  const cuts = [...text.matchAll(/\n/g)].map(({ index }) => text.slice(0, index));
  const changed = [
    text.replace("job3", "job4"),
    text.replace(/\n\{.*\},/, "\nnull,"),
    `${text} `,
    "{}",
    "null",
  ];
  for (const other of [...cuts, text.slice(0, -1), ...changed]) {
    place(runDir, other);
    expect(readGraph(runDir, digest), other.slice(-60)).toMatchObject({ error: { code: "graph-changed" } });
  }
});

test("a plan of a later version and no plan at all are refused by name", () => {
  const runDir = tempDir();
  const none = readGraph(runDir, "0".repeat(64));
  expect(none).toEqual({
    ok: false,
    error: {
      code: "graph-missing",
      message: `No graph.json below \`${runDir}/supervisor\`.`,
      fix: "The run was never prepared: start it again with `run SPEC`.",
    },
  });
  const digest = freezeGraph(runDir, "first", { ...graphOf(1), schemaVersion: 2 as 1 });
  expect(readGraph(runDir, digest)).toEqual({
    ok: false,
    error: {
      code: "graph-schema",
      message: `\`${fileOf(runDir)}\` has schema version 2; this version reads 1.`,
      fix: "Use the version of Orchestrate that started the run.",
    },
  });
});
