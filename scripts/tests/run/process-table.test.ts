import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JobTrace, membersOf, type ProcessTable } from "../../src/run/process-table.ts";
import type { ProcessFacts } from "../../src/run/process-tree.ts";

const row = (pid: number, parent: number, more: Partial<ProcessFacts> = {}): ProcessFacts => ({
  pid,
  parent,
  group: pid,
  session: pid,
  state: "S",
  startTime: `t${pid}`,
  ...more,
});
const tableOf = (processes: ProcessFacts[], markers: Record<number, string[]> = {}): ProcessTable => ({
  processes,
  markers: new Map(Object.entries(markers).map(([pid, found]) => [Number(pid), found])),
  quiet: true,
});
const trace = (more: Partial<JobTrace> = {}): JobTrace => ({
  marker: "job",
  pid: 100,
  startTime: "t100",
  groupIsOurs: true,
  known: new Map(),
  ...more,
});
const pids = (members: readonly ProcessFacts[]): number[] => members.map((member) => member.pid);

describe("the processes of a job", () => {
  it("are its leader, its group and session, the marked ones, the known ones, and all their descendants", () => {
    const table = tableOf(
      [
        row(1, 0),
        row(100, 1),
        row(101, 100),
        row(102, 1, { group: 100 }),
        row(103, 1, { session: 100 }),
        row(104, 1),
        row(105, 104),
        row(106, 1),
        row(107, 1),
        row(108, 105),
        row(200, 1),
      ],
      { 104: ["other", "job"], 200: ["job2"] },
    );
    const known = new Map([
      [106, "t106"],
      [107, "an earlier process"],
    ]);
    expect(pids(membersOf(trace({ known }), table))).toEqual([100, 101, 102, 103, 104, 105, 106, 108]);
  });

  it("do not include a process that got the leader's number later, nor its group", () => {
    const table = tableOf([row(100, 1, { startTime: "later" }), row(101, 100), row(102, 1, { group: 100 })]);
    expect(pids(membersOf(trace({ groupIsOurs: false }), table))).toEqual([]);
    expect(pids(membersOf(trace({ groupIsOurs: false, startTime: null }), table))).toEqual([]);
  });

  it("never include this process or init, even where they carry the marker", () => {
    const table = tableOf([row(1, 0), row(process.pid, 1), row(100, process.pid)], {
      1: ["job"],
      [process.pid]: ["job"],
    });
    expect(pids(membersOf(trace(), table))).toEqual([100]);
  });

  it("are closed under descent and independent of the order of the table", () => {
    const parents = fc.array(fc.tuple(fc.nat(), fc.boolean()), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(parents, fc.nat(), (specs, turn) => {
        const processes = specs.map(([seed], index) =>
          row(1_000_000 + index, index === 0 ? 1 : 1_000_000 + (seed % index)),
        );
        const markers = Object.fromEntries(
          specs.flatMap(([, marked], index) => (marked ? [[1_000_000 + index, ["job"]]] : [])),
        );
        const members = new Set(pids(membersOf(trace({ pid: null }), tableOf(processes, markers))));
        for (const process of processes) {
          const expected = markers[process.pid] !== undefined || members.has(process.parent);
          expect(members.has(process.pid)).toBe(expected);
        }
        const at = turn % processes.length;
        const turned = [...processes.slice(at), ...processes.slice(0, at)];
        expect(new Set(pids(membersOf(trace({ pid: null }), tableOf(turned, markers))))).toEqual(members);
      }),
      { numRuns: 500, seed: 13 },
    );
  });
});
