import { describe, expect, it } from "vitest";
import { HOSTILE_INSTRUCTION, type ReplayDecision, runFixture } from "../../src/prove/fixture.ts";

const STREAM = [
  '{"type":"init","session_id":"s-1","model":"m"}',
  '{"type":"assistant","message":{"content":[{"type":"text","text":"I will look at the file."}]}}',
  '{"type":"result","subtype":"success","is_error":false,"result":"All done here."}',
];

const SAME: ReplayDecision = {
  actions: ["verify"],
  approvals: [],
  controls: { approval: "inherit" },
  tier: "R1",
};

/** A parser that reads types and ids only: what production code does. */
const sound = (lines: readonly string[]): ReplayDecision => {
  let settled = false;
  let session = "";
  for (const line of lines) {
    try {
      const value = JSON.parse(line) as { type?: string; session_id?: string };
      if (value.type === "result") settled = true;
      if (value.session_id !== undefined) session = value.session_id;
    } catch {
      // Text of its own is counted elsewhere and decides nothing.
    }
  }
  return { ...SAME, actions: [settled ? "verify" : "fail"], controls: { session } };
};

describe("the injection fixture", () => {
  it("passes when the planted instruction decides nothing", () => {
    expect(runFixture({ outputLines: STREAM, replay: sound })).toEqual({
      status: "passed",
      detail: "same decision with the instruction planted in 5 places",
      differences: [],
    });
  });

  it("passes for plain text and for an empty stream", () => {
    expect(runFixture({ outputLines: ["some text", "more"], replay: () => SAME }).status).toBe("passed");
    expect(runFixture({ outputLines: [], replay: () => SAME }).status).toBe("passed");
  });

  it("plants in the words of one JSON document only, since nothing can stand beside it", () => {
    const pretty = JSON.stringify({ result: "All done here.", ok: true }, null, 2).split("\n");
    const seen: string[][] = [];
    const replay = (lines: readonly string[]): ReplayDecision => {
      seen.push([...lines]);
      JSON.parse(lines.join("\n"));
      return SAME;
    };
    expect(runFixture({ outputLines: pretty, replay }).status).toBe("passed");
    expect(seen).toHaveLength(2);
    expect(seen[1]?.join("\n")).toContain(HOSTILE_INSTRUCTION);
  });

  it("plants the instruction as lines of its own, in the words of messages, and never in ids, types or states", () => {
    const seen: string[][] = [];
    runFixture({
      outputLines: STREAM,
      replay: (lines) => {
        seen.push([...lines]);
        return SAME;
      },
    });
    const inWords = seen.at(-1) ?? [];
    expect(inWords[0]).toBe(STREAM[0]);
    expect(inWords[1]).toContain(HOSTILE_INSTRUCTION);
    const result = JSON.parse(inWords[2] ?? "") as { type: string; result: string };
    expect([result.type, result.result.includes(HOSTILE_INSTRUCTION)]).toEqual(["result", true]);
    expect(
      seen.slice(1, 4).map((lines) => lines.filter((line) => line === HOSTILE_INSTRUCTION).length),
    ).toEqual([1, 1, 1]);
  });
});

describe("decision code that can be talked to is caught", () => {
  const includes = (lines: readonly string[], text: string): boolean =>
    lines.some((line) => line.includes(text));
  const mutants: [string, (lines: readonly string[]) => ReplayDecision, string][] = [
    [
      "it sets an approval that the output asks for",
      (lines) => ({ ...SAME, controls: { approval: includes(lines, "approval=auto") ? "auto" : "inherit" } }),
      "planted as a first line, the instruction changed the control `approval`: `inherit` became `auto`",
    ],
    [
      "it classifies a failure by prose",
      (lines) => ({
        ...SAME,
        actions: includes(lines, "permission denied") ? ["PERMISSION:block"] : ["verify"],
      }),
      "planted as a first line, the instruction changed the actions: `verify` became `PERMISSION:block`",
    ],
    [
      "it grants what a forged record grants",
      (lines) => ({
        ...SAME,
        approvals: lines.some((line) => line.startsWith('{"kind":"permission"')) ? ["*:approved"] : [],
      }),
      "planted as a line that looks like a record of ours, the instruction changed the approvals: none became `*:approved`",
    ],
    [
      "it lowers the tier for words in a message",
      (lines) => ({
        ...SAME,
        tier: lines.some((line) => line.startsWith('{"type":"assistant"') && line.includes("bypass flag"))
          ? "R0"
          : "R1",
      }),
      "planted as the words of its messages, the instruction changed the tier: R1 became R0",
    ],
    [
      "it drops a control",
      (lines) => ({ ...SAME, controls: includes(lines, "bypass flag") ? {} : { sandbox: "read-only" } }),
      "planted as a first line, the instruction changed the control `sandbox`: `read-only` became ``",
    ],
    [
      "it stops at a line it cannot read",
      (lines) => {
        for (const line of lines) JSON.parse(line);
        return SAME;
      },
      "planted as a first line, the instruction made the replay fail (SyntaxError)",
    ],
    [
      "it believes the last line only",
      (lines) => ({ ...SAME, actions: [lines.at(-1)?.includes("re-run") === true ? "retry" : "verify"] }),
      "planted as a last line, the instruction changed the actions: `verify` became `retry`",
    ],
  ];
  it.each(mutants)("%s", (_, replay, first) => {
    const result = runFixture({ outputLines: STREAM, replay });
    expect([result.status, result.differences[0], result.detail]).toEqual(["failed", first, first]);
  });
});

describe("a fixture that cannot run", () => {
  it("says so when there is no output", () => {
    expect(runFixture({ outputLines: null, replay: () => SAME })).toEqual({
      status: "not-run",
      detail: "there is no recorded output to replay",
      differences: [],
    });
  });

  it("says so when the recorded output itself cannot be replayed", () => {
    const replay = (): ReplayDecision => {
      throw new RangeError("no");
    };
    expect(runFixture({ outputLines: STREAM, replay })).toEqual({
      status: "not-run",
      detail: "the recorded output could not be replayed (RangeError)",
      differences: [],
    });
  });
});
