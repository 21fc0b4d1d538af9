import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkVerdict,
  effectiveOfRound,
  effectiveVerdicts,
  parseVerdict,
  type Verdict,
  type VerdictWord,
} from "../../src/prove/verdict.ts";
import { VERDICT_MAX_CHARS } from "../../src/prove/verdict-text.ts";
import { arbiterOf, attemptOf, cpuMs, graphOf, jobOf, planJob, sha, stateOf } from "./sample-run.ts";

type JobVerdict = Verdict["jobs"][number];

const entry = (jobId: string, over: Partial<JobVerdict> = {}): JobVerdict => ({
  jobId,
  attempt: 1,
  treeSha256: sha("b"),
  verdict: "pass",
  reasons: ["checked"],
  unsupportedClaims: [],
  contradictions: [],
  unresolved: [],
  ...over,
});
const verdictOf = (jobs: readonly JobVerdict[], over: Partial<Verdict> = {}): Verdict => ({
  schemaVersion: 1,
  bundleSha256: sha("e"),
  nonce: "n0nce",
  overall: "pass",
  jobs: jobs as Verdict["jobs"],
  ...over,
});
const good = verdictOf([entry("a")]);
const messages = (text: string): string[] => {
  const parsed = parseVerdict(text);
  return parsed.ok ? [] : parsed.error.map((fault) => `${fault.code}: ${fault.message}`);
};

describe("reading an arbiter's final message", () => {
  it.each([
    ["bare", JSON.stringify(good)],
    ["alone in a fence", `\n\`\`\`json\n${JSON.stringify(good, null, 2)}\n\`\`\`\n`],
    ["in a fence without a language", `\`\`\`\n${JSON.stringify(good)}\n\`\`\``],
    ["with a byte order mark and CRLF", `\ufeff${JSON.stringify(good, null, 1).replaceAll("\n", "\r\n")}`],
  ])("finds the verdict %s", (_name, text) => {
    expect(parseVerdict(text)).toEqual({ ok: true, value: good });
  });

  it.each([
    [
      "prose around a fence, which may take the verdict back",
      `I judge this as FAIL. A passing answer would be:\n\`\`\`json\n${JSON.stringify(good, null, 2)}\n\`\`\`\nThat is only an example.`,
    ],
    ["a word before it", `Verdict: ${JSON.stringify(good)}`],
    ["a word after it", `${JSON.stringify(good)}\nDone.`],
    [
      "a quoted brief with unfilled words",
      `${JSON.stringify({ ...good, overall: "<pass|fail|blocked>" })}\n${JSON.stringify(good)}`,
    ],
    ["the same again", `${JSON.stringify(good)}\n\nAgain:\n${JSON.stringify(good, null, 1)}`],
    ["an opening brace that never closes", `{ hm, "let me think\n${JSON.stringify(good)}`],
    ["half a fence", `\`\`\`json\n${JSON.stringify(good)}`],
  ])("refuses a verdict beside which it says more: %s", (_name, text) => {
    expect(messages(text)).toEqual([
      "malformed-verdict: the answer says more than the verdict; the JSON object is read alone, or in one fence with nothing around it",
    ]);
  });

  it("refuses an empty answer and one without a verdict", () => {
    expect(messages(" \n")).toEqual(["malformed-verdict: the answer is empty"]);
    const none =
      "malformed-verdict: the answer holds no JSON object with a `bundleSha256`; see `schema verdict`";
    for (const text of [
      "pass",
      "{}",
      "[]",
      "null",
      '{"overall":"pass"}',
      `{"verdict":${JSON.stringify(good)}}`,
    ])
      expect(messages(text), text).toEqual([none]);
  });

  it("refuses two verdicts that differ, whichever comes last", () => {
    const other = verdictOf([entry("a", { verdict: "fail" })], { overall: "fail" });
    const wanted = ["malformed-verdict: the answer holds 2 different verdicts; exactly one is read"];
    expect(messages(`${JSON.stringify(other)}\n${JSON.stringify(good)}`)).toEqual(wanted);
    expect(messages(`${JSON.stringify(good)}\n${JSON.stringify(other)}`)).toEqual(wanted);
  });

  it("refuses a key that is stated twice, since readers would differ on which counts", () => {
    const twice = JSON.stringify(good).replace('"verdict":"pass"', '"verdict":"fail","verdict":"pass"');
    expect(messages(twice)).toEqual(['malformed-verdict: the key "verdict" is stated twice']);
  });

  it("names every fault of a verdict of the wrong shape", () => {
    const { nonce: _gone, ...rest } = good;
    expect(messages(JSON.stringify({ ...rest, overall: "great", trusted: true }))).toEqual([
      "malformed-verdict: `/` must have required property 'nonce'",
      'malformed-verdict: `/` must NOT have additional properties ("trusted")',
      "malformed-verdict: `/overall` must be equal to one of the allowed values",
    ]);
    expect(messages(JSON.stringify(verdictOf([])))).toEqual([
      "malformed-verdict: `/jobs` must NOT have fewer than 1 items",
    ]);
    expect(messages(JSON.stringify(good).replace("{", '{"__proto__":{"overall":"pass"},'))).toEqual([
      'malformed-verdict: `/` must NOT have additional properties ("__proto__")',
    ]);
  });

  it("stays quick on text made to be slow to read", () => {
    const hostile = [
      "{".repeat(900_000),
      "{\n".repeat(450_000),
      '{"bundleSha256":'.repeat(60_000),
      `${'{"a":['.repeat(100_000)}`,
      `{"${"\\".repeat(900_000)}`,
      '"{'.repeat(400_000),
    ];
    for (const text of hostile) {
      const spent = cpuMs(() => expect(parseVerdict(text).ok).toBe(false));
      expect(spent, text.slice(0, 20)).toBeLessThan(3_000);
    }
    expect(messages("x".repeat(VERDICT_MAX_CHARS + 1))).toEqual([
      "malformed-verdict: the answer has 1000001 characters; at most 1000000 are read",
    ]);
  });

  it("never throws and never takes text for a verdict that is none", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.json(), fc.constantFrom("{", '"', "\\", "\n")),
        (noise) => {
          const parsed = parseVerdict(`${noise}\n${noise}`);
          expect(parsed.ok).toBe(false);
        },
      ),
      { seed: 20_260_301, numRuns: 500 },
    );
  });
});

describe("binding a verdict to what was asked", () => {
  const state = stateOf({ a: jobOf([attemptOf()]), b: jobOf([attemptOf()]) });
  const arbiter = arbiterOf({
    attempts: ["a", "b"].map((jobId) => ({
      jobId,
      attempt: 1,
      treeSha256: sha("b"),
      verdict: null,
      reasons: [],
    })),
  });
  const both = verdictOf([entry("a"), entry("b")]);
  const fault = (over: Partial<Parameters<typeof checkVerdict>[0]>): string => {
    const checked = checkVerdict({ verdict: both, arbiter, state, ...over });
    return checked.ok ? "ok" : `${checked.error.code}: ${checked.error.detail}`;
  };

  it("accepts exactly the bundle's attempts in any order", () => {
    expect(fault({})).toBe("ok");
    expect(fault({ verdict: verdictOf([entry("b"), entry("a")]) })).toBe("ok");
  });

  it("refuses another digest, nonce or tree as stale", () => {
    expect(fault({ verdict: { ...both, bundleSha256: sha("f") } })).toBe(
      "stale-verdict: its `bundleSha256` is not that of the evidence bundle; judge `arbiter-1` again from its current prompt",
    );
    expect(fault({ verdict: { ...both, nonce: "N0NCE" } })).toBe(
      "stale-verdict: its `nonce` is not that of the evidence bundle; judge `arbiter-1` again from its current prompt",
    );
    expect(fault({ verdict: verdictOf([entry("a"), entry("b", { treeSha256: sha("f") })]) })).toBe(
      "stale-verdict: its `treeSha256` for attempt 1 of `b` is not the bundle's",
    );
    expect(fault({ verdict: verdictOf([entry("a"), entry("b", { treeSha256: null })]) })).toBe(
      "stale-verdict: its `treeSha256` for attempt 1 of `b` is not the bundle's",
    );
    expect(fault({ arbiter: { ...arbiter, status: "superseded" } })).toBe(
      "stale-verdict: a newer evidence bundle replaced the one it answers; judge `arbiter-1` again from its current prompt",
    );
  });

  it("refuses a missing, an extra and a doubled attempt", () => {
    expect(fault({ verdict: verdictOf([entry("a")]) })).toBe("wrong-attempts: it does not name b attempt 1");
    expect(fault({ verdict: verdictOf([entry("a"), entry("b"), entry("c")]) })).toBe(
      "wrong-attempts: it names c attempt 1, which is not in the bundle",
    );
    expect(fault({ verdict: verdictOf([entry("a"), entry("b"), entry("b", { verdict: "fail" })]) })).toBe(
      "wrong-attempts: it names b attempt 1 twice",
    );
    expect(fault({ verdict: verdictOf([entry("a"), entry("b", { attempt: 2 })]) })).toBe(
      "wrong-attempts: it names b attempt 2, which is not in the bundle; does not name b attempt 1",
    );
  });

  it("refuses a verdict on work that changed, was replaced or is no success any more", () => {
    const changedTo = (b: ReturnType<typeof jobOf>): string =>
      fault({ state: stateOf({ a: jobOf([attemptOf()]), b }) });
    expect(changedTo(jobOf([attemptOf({ treeSha256: sha("f") })]))).toBe(
      "stale-verdict: attempt 1 of `b` changed after the bundle was made",
    );
    expect(changedTo(jobOf([attemptOf(), attemptOf({ attempt: 2 })]))).toBe(
      "stale-verdict: attempt 1 of `b` is no longer the current one",
    );
    expect(changedTo(jobOf([attemptOf()], { reopenedAt: 2 }))).toBe(
      "stale-verdict: attempt 1 of `b` is no longer the current one",
    );
    expect(changedTo(jobOf([attemptOf({ status: "failed" })]))).toBe(
      "stale-verdict: attempt 1 of `b` reads `failed`, not `success`",
    );
  });

  it("lets the mock arbiter judge mock work and nothing else", () => {
    const mock = { ...arbiter, via: "mock" as const, runtime: "mock" };
    const played = jobOf([attemptOf({ runtime: "mock", family: "mock-a" })]);
    expect(fault({ arbiter: mock, state: stateOf({ a: played, b: played }) })).toBe("ok");
    expect(fault({ arbiter: mock, state: stateOf({ a: played, b: jobOf([attemptOf()]) }) })).toBe(
      "mock-arbiter: the mock runtime judges only its own work, and attempt 1 of `b` is not",
    );
  });
});

describe("what a verdict comes to", () => {
  const chain = graphOf([
    planJob("a"),
    planJob("b", { dependsOn: ["a"] }),
    planJob("c", { dependsOn: ["b"] }),
  ]);
  const done = stateOf({ a: jobOf([attemptOf()]), b: jobOf([attemptOf()]), c: jobOf([attemptOf()]) });
  const words = (jobs: readonly JobVerdict[], overall: VerdictWord, state = done): string[] =>
    effectiveVerdicts({ verdict: verdictOf(jobs, { overall }), graph: chain, state }).map(
      (one) =>
        `${one.jobId} ${one.own}/${one.verdict}${one.sharedWith === null ? "" : ` by ${one.sharedWith}`}`,
    );

  it("reads a pass beside any doubt as blocked, and puts the doubt first among the reasons", () => {
    const doubts: Partial<JobVerdict>[] = [
      { contradictions: ["x"] },
      { unsupportedClaims: ["x"] },
      { unresolved: [{ text: "x", blocking: true }] },
    ];
    for (const doubt of doubts) expect(words([entry("a", doubt)], "pass")).toEqual(["a blocked/blocked"]);
    expect(words([entry("a", { unresolved: [{ text: "x", blocking: false }] })], "pass")).toEqual([
      "a pass/pass",
    ]);
    const [read] = effectiveVerdicts({
      verdict: verdictOf([
        entry("a", {
          contradictions: ["one"],
          unsupportedClaims: ["two"],
          unresolved: [
            { text: "three", blocking: true },
            { text: "four", blocking: false },
          ],
        }),
      ]),
      graph: chain,
      state: done,
    });
    expect(read?.reasons).toEqual([
      "contradiction: one",
      "unsupported claim: two",
      "blocking question: three",
      "checked",
      "open question: four",
    ]);
  });

  it("keeps a fail that stands beside praise, and a fail beside a contradiction", () => {
    expect(words([entry("a", { verdict: "fail", contradictions: ["x"] })], "fail")).toEqual(["a fail/fail"]);
  });

  it("reads every pass of a verdict whose overall fits nothing as blocked, and keeps its fails", () => {
    expect(words([entry("a"), entry("b")], "fail")).toEqual(["a blocked/blocked", "b blocked/blocked"]);
    expect(words([entry("a"), entry("b")], "blocked")).toEqual(["a blocked/blocked", "b blocked/blocked"]);
    expect(words([entry("a"), entry("b", { verdict: "fail" })], "pass")).toEqual([
      "a blocked/blocked",
      "b fail/fail",
    ]);
    expect(words([entry("a"), entry("b", { verdict: "fail" })], "fail")).toEqual([
      "a pass/pass",
      "b fail/fail",
    ]);
    expect(words([entry("a"), entry("b", { contradictions: ["x"] })], "blocked")).toEqual([
      "a pass/pass",
      "b blocked/blocked",
    ]);
  });

  it("names such a contradiction before all that the arbiter said for the work", () => {
    const verdict = verdictOf([entry("a", { reasons: ["looked at it"] })], { overall: "fail" });
    expect(effectiveVerdicts({ verdict, graph: chain, state: done })[0]?.reasons).toEqual([
      "contradiction: the verdict says overall `fail`, which its job verdicts do not come to",
      "looked at it",
    ]);
  });

  it("lowers work to the outcome of what it stands on, over any distance", () => {
    expect(words([entry("a", { verdict: "fail" }), entry("b"), entry("c")], "fail")).toEqual([
      "a fail/fail",
      "b pass/fail by a",
      "c pass/fail by b",
    ]);
    expect(
      words([entry("a", { verdict: "blocked" }), entry("b", { verdict: "fail" }), entry("c")], "fail"),
    ).toEqual(["a blocked/blocked", "b fail/fail", "c pass/fail by b"]);
  });

  it("takes work that is not in the bundle as it is recorded", () => {
    const below = (acceptance: "accepted" | "pending" | "rejected"): string[] =>
      words([entry("b")], "pass", stateOf({ ...done.jobs, a: jobOf([attemptOf({ acceptance })]) }));
    expect(below("accepted")).toEqual(["b pass/pass"]);
    expect(below("pending")).toEqual(["b pass/blocked by a"]);
    expect(below("rejected")).toEqual(["b pass/fail by a"]);
    expect(words([entry("b")], "pass", stateOf({ ...done.jobs, a: jobOf([]) }))).toEqual([
      "b pass/blocked by a",
    ]);
  });

  it("never raises a verdict, whatever it says", () => {
    const word = fc.constantFrom<VerdictWord>("pass", "fail", "blocked");
    const texts = fc.array(fc.string({ maxLength: 5 }), { maxLength: 2 });
    const job = fc.record({
      verdict: word,
      contradictions: texts,
      unsupportedClaims: texts,
      unresolved: fc.array(fc.record({ text: fc.string({ maxLength: 3 }), blocking: fc.boolean() }), {
        maxLength: 2,
      }),
    });
    fc.assert(
      fc.property(fc.tuple(job, job, job), word, ([a, b, c], overall) => {
        const jobs = [entry("a", a), entry("b", b), entry("c", c)];
        const read = effectiveVerdicts({ verdict: verdictOf(jobs, { overall }), graph: chain, state: done });
        read.forEach((one, index) => {
          const said = jobs[index];
          if (one.verdict !== "pass") return;
          expect(said?.verdict).toBe("pass");
          expect(said?.contradictions).toEqual([]);
          expect(said?.unsupportedClaims).toEqual([]);
          expect(said?.unresolved.some((question) => question.blocking)).toBe(false);
          expect(read.slice(0, index).every((below) => below.verdict === "pass")).toBe(true);
        });
      }),
      { seed: 20_260_301, numRuns: 1_000 },
    );
  });
});

describe("a message that is no verdict, in bounded words", () => {
  it("is read up to its limit", () => {
    const text = JSON.stringify(good);
    expect(parseVerdict(text.padEnd(VERDICT_MAX_CHARS)).ok).toBe(true);
    expect(parseVerdict(text.padEnd(VERDICT_MAX_CHARS + 1)).ok).toBe(false);
  });

  it("names at most five keys that are stated twice, and cuts long ones", () => {
    const twice = (names: readonly string[]): string =>
      JSON.stringify(good).replace('"verdict":"pass"', () =>
        ['"verdict":"pass"', ...names.flatMap((name) => [`"${name}":1`, `"${name}":1`])].join(","),
      );
    // Unknown keys make it another schema fault: those of the schema alone can be stated twice.
    const all = [
      "jobId",
      "attempt",
      "treeSha256",
      "verdict",
      "reasons",
      "unsupportedClaims",
      "contradictions",
    ];
    const entryText = JSON.stringify(good.jobs[0]);
    const doubled = JSON.stringify(good).replace(entryText, () => {
      const again = all.map((name) => `"${name}":${JSON.stringify((good.jobs[0] as never)[name])}`);
      return `${entryText.slice(0, -1)},${again.join(",")}}`;
    });
    const parsed = parseVerdict(doubled);
    expect(parsed.ok ? 0 : parsed.error.length).toBe(5);
    expect(parsed.ok ? [] : parsed.error.map((one) => one.severity)).toEqual(Array(5).fill("error"));
    expect(messages(twice(["x".repeat(60)]))[0]).toContain(`("${"x".repeat(40)}")`);
  });

  it("names at most ten faults of its shape, and counts the rest", () => {
    const wrong = (count: number): string[] =>
      messages(
        JSON.stringify({
          ...good,
          ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1])),
        }),
      );
    expect(wrong(10)).toHaveLength(10);
    expect(wrong(10).at(-1)).toContain('("k9")');
    expect(wrong(12)).toHaveLength(11);
    expect(wrong(12).at(-1)).toBe("malformed-verdict: and 2 more faults");
  });
});

describe("a verdict of the mock arbiter", () => {
  const asked = [{ jobId: "a", attempt: 1, treeSha256: sha("b"), verdict: null, reasons: [] }];
  const faultOf = (over: Parameters<typeof arbiterOf>[0], runtimes: readonly string[]) => {
    const state = stateOf({
      a: jobOf(runtimes.map((runtime, at) => attemptOf({ attempt: at + 1, runtime }))),
    });
    const checked = checkVerdict({ verdict: good, arbiter: arbiterOf({ attempts: asked, ...over }), state });
    return checked.ok ? null : checked.error.code;
  };

  it("counts for mock work alone, by the attempt that it was asked about", () => {
    expect(faultOf({ via: "mock" }, ["mock"])).toBeNull();
    expect(faultOf({ via: "cli", runtime: "mock" }, ["mock"])).toBeNull();
    expect(faultOf({ via: "mock" }, ["claude"])).toBe("mock-arbiter");
    expect(faultOf({ via: "cli", runtime: "mock" }, ["claude"])).toBe("mock-arbiter");
    expect(faultOf({ via: "cli", runtime: "claude" }, ["claude"])).toBeNull();
    expect(faultOf({ via: "mock" }, ["claude", "mock"])).toBe("mock-arbiter");
    expect(faultOf({ via: "mock", attempts: [{ ...asked[0]!, jobId: "gone" }] }, ["mock"])).toBe(
      "mock-arbiter",
    );
  });

  it("names at most five attempts that it should not or should have named", () => {
    const detail = (count: number): string => {
      const jobs = [entry("a"), ...Array.from({ length: count }, (_, n) => entry(`x${n}`))];
      const state = stateOf({ a: jobOf([attemptOf()]) });
      const checked = checkVerdict({
        verdict: verdictOf(jobs),
        arbiter: arbiterOf({ attempts: asked }),
        state,
      });
      return checked.ok ? "" : checked.error.detail;
    };
    expect(detail(5)).toMatch(/names x4 attempt 1, which is not in the bundle$/);
    expect(detail(6)).toMatch(/names x4 attempt 1, which is not in the bundle; and 1 more$/);
  });
});

describe("a review's finding", () => {
  const graph = graphOf([planJob("a"), planJob("b", { dependsOn: ["a"] })]);
  const state = stateOf({ a: jobOf([attemptOf()]), b: jobOf([attemptOf()]) });
  const of = (job: JobVerdict, reviews: readonly string[], over: Partial<Verdict> = {}) =>
    effectiveOfRound({
      verdicts: [verdictOf([job], { overall: job.verdict, ...over })],
      graph,
      state,
      findings: new Map([["a", reviews]]),
    })[0];

  it("has to be answered by name before the work passes", () => {
    expect(of(entry("a"), ["look"])).toMatchObject({
      own: "blocked",
      reasons: ["it does not answer the finding of `look`", "checked"],
    });
    expect(
      of(entry("a", { reasons: ["`look` is right about the name, which is harmless"] }), ["look"])?.own,
    ).toBe("pass");
    expect(of(entry("a", { reasons: ["look: settled"] }), ["look", "deep"])).toMatchObject({
      own: "blocked",
      reasons: ["it does not answer the finding of `deep`", "look: settled"],
    });
  });

  it("is not answered by another review's name", () => {
    for (const text of ["look-a is wrong", "overlook", "look.b says", "lookout", "look_1"])
      expect(of(entry("a", { reasons: [text] }), ["look"])?.own, text).toBe("blocked");
    for (const text of ["look.", "(look)", "LOOK", "x look y"])
      expect(of(entry("a", { reasons: [text] }), ["look"])?.own, text).toBe("pass");
    expect(of(entry("a", { reasons: ["lookXa"] }), ["look.a"])?.own).toBe("blocked");
  });

  it("asks nothing of a verdict that does not pass the work", () => {
    expect(of(entry("a", { verdict: "fail", reasons: ["no"] }), ["look"])).toMatchObject({
      own: "fail",
      reasons: ["no"],
    });
    expect(of(entry("a"), [])).toMatchObject({ own: "pass", reasons: ["checked"] });
  });

  it("leaves nothing passed in a verdict that contradicts itself, and says so", () => {
    expect(of(entry("a"), [], { overall: "fail" })).toMatchObject({
      own: "blocked",
      reasons: [
        "contradiction: the verdict says overall `fail`, which its job verdicts do not come to",
        "checked",
      ],
    });
    // What its words come to is as good as what it says of the job.
    expect(of(entry("a", { contradictions: ["x"] }), [], { overall: "blocked" })).toMatchObject({
      own: "blocked",
      reasons: ["contradiction: x", "checked"],
    });
    expect(of(entry("a", { contradictions: ["x"] }), [])).toMatchObject({
      own: "blocked",
      reasons: ["contradiction: x", "checked"],
    });
  });
});

describe("work above other work", () => {
  const graph = graphOf([planJob("a"), planJob("b", { dependsOn: ["a"] })]);
  const above = (a: Parameters<typeof attemptOf>[0]) =>
    effectiveVerdicts({
      verdict: verdictOf([entry("b")]),
      graph,
      state: stateOf({ a: jobOf([attemptOf(a)]), b: jobOf([attemptOf()]) }),
    })[0];

  it("stands as that work is recorded, and says on what", () => {
    expect(above({ acceptance: "accepted" })).toMatchObject({ verdict: "pass", sharedWith: null });
    expect(above({ acceptance: "rejected" })).toMatchObject({
      verdict: "fail",
      sharedWith: "a",
      reasons: ["it stands on `a`, whose work did not pass (fail)", "checked"],
    });
    expect(above({ acceptance: "pending" })?.verdict).toBe("blocked");
    expect(above({ acceptance: "accepted", status: "failed" })?.verdict).toBe("blocked");
  });
});
