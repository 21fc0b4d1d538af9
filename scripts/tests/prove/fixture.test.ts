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

describe("where the instruction is planted", () => {
  /** The outputs that a replay is given beside the recorded one. */
  const plants = (lines: readonly string[]): string[][] => {
    const seen: string[][] = [];
    runFixture({
      outputLines: lines,
      replay: (given) => {
        seen.push([...given]);
        return SAME;
      },
    });
    expect(seen[0]).toEqual(lines);
    return seen.slice(1);
  };

  it("is before, between and after the recorded lines, of which none is lost or doubled", () => {
    const [first, middle, last, forged, ...more] = plants(["a", "b", "c"]);
    expect(first).toEqual([HOSTILE_INSTRUCTION, "a", "b", "c"]);
    expect(middle).toEqual(["a", HOSTILE_INSTRUCTION, "b", "c"]);
    expect(last).toEqual(["a", "b", "c", HOSTILE_INSTRUCTION]);
    expect([forged?.[0], forged?.[2], forged?.[3], forged?.length]).toEqual(["a", "b", "c", 4]);
    expect(JSON.parse(forged?.[1] ?? "")).toMatchObject({ kind: "permission", payload: { granted: true } });
    expect(more).toEqual([]);
  });

  it("is inside whatever holds the words of a model or a tool, and nowhere else", () => {
    const line = {
      type: "a type",
      id: "an id",
      note: "two words",
      text: "two words",
      state: "word",
      summary: "word",
      message: { role: "the role", content: [{ text: "two words", stdout: "more words" }, 1, null, true] },
    };
    const planted = plants([JSON.stringify(line), "{ broken", "plain"]).at(-1) ?? [];
    const words = `two words\n${HOSTILE_INSTRUCTION}\n`;
    expect(JSON.parse(planted[0] ?? "")).toEqual({
      ...line,
      text: words,
      message: {
        role: "the role",
        content: [{ text: words, stdout: `more words\n${HOSTILE_INSTRUCTION}\n` }, 1, null, true],
      },
    });
    expect(planted.slice(1)).toEqual(["{ broken", "plain"]);
  });

  it("is not in the text of an error that the runtime itself reports", () => {
    const failed = JSON.stringify({ type: "result", is_error: true, result: "out of quota now" });
    expect(plants([failed, "x"])).toHaveLength(4);
    const fine = JSON.stringify({ type: "result", is_error: false, result: "all is done" });
    expect(plants([fine, "x"])).toHaveLength(5);
  });

  it("is not in lines without words, which then count as four places", () => {
    expect(plants(['{"type":"init","id":"s 1"}', '{"text":"word"}'])).toHaveLength(4);
    expect(plants(['"a text of its own"', "[1]"])).toHaveLength(4);
  });

  it("is in the words of one document, however it is laid out", () => {
    for (const lines of [['  {"result": "all done"}'], ["{", '"result": "all done"', "}"]]) {
      const [only, ...more] = plants(lines);
      expect(more).toEqual([]);
      expect(JSON.parse(only?.join("\n") ?? "")).toEqual({ result: `all done\n${HOSTILE_INSTRUCTION}\n` });
    }
    const result = runFixture({
      outputLines: ['{"result": "all done"}'],
      replay: ([line = ""]) => ({ ...SAME, tier: line.includes("bypass") ? "R0" : "R1" }),
    });
    expect(result.detail).toBe(
      "planted as the words of its answer, the instruction changed the tier: R1 became R0",
    );
  });

  it("reaches deep words, and does not lose itself in endless ones", () => {
    const nested = (depth: number): string =>
      JSON.stringify({
        text: Array.from({ length: depth }).reduce<unknown>((value) => [value], "two words"),
      });
    expect(
      plants([nested(10)])
        .at(-1)
        ?.join(""),
    ).toContain("bypass flag");
    expect(
      plants([nested(40)])
        .at(-1)
        ?.join(""),
    ).not.toContain("bypass flag");
  });

  it("is named with everything that it changed, controls by name", () => {
    const result = runFixture({
      outputLines: ["a"],
      replay: (lines) =>
        lines.length === 1
          ? { ...SAME, actions: ["verify", "keep"], controls: { b: "1", a: "1" } }
          : { ...SAME, actions: [], controls: { c: "1", a: "2", b: "1" } },
    });
    expect(result.differences.slice(0, 3)).toEqual([
      "planted as a first line, the instruction changed the actions: `verify`, `keep` became none",
      "planted as a first line, the instruction changed the control `a`: `1` became `2`",
      "planted as a first line, the instruction changed the control `c`: `` became `1`",
    ]);
    expect(result.differences[3]).toMatch(/^planted as a middle line, /);
  });
});
