import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LayerOneEvidence, type LayerOneResult, verifyLayerOne } from "../../src/prove/verify.ts";
import { evidence, HASH, NO_CHANGES, OTHER_HASH, observing, output, verification } from "./layer-one.ts";

const verdict = (
  e: LayerOneEvidence,
): [boolean, LayerOneResult["failureClass"], string | null, string | null] => {
  const result = verifyLayerOne(e);
  return [result.ok, result.failureClass, result.reason, result.detail];
};

describe("work that holds", () => {
  it("passes with every check recorded", () => {
    expect(verifyLayerOne(evidence({ outputs: [output()], verification: [verification()] }))).toEqual({
      ok: true,
      checks: [
        {
          id: "settled",
          ok: true,
          detail: "the process tree is gone and the result is complete",
          code: null,
          exitCode: null,
          wallMs: null,
        },
        { id: "final-text", ok: true, detail: "present", code: null, exitCode: null, wallMs: null },
        {
          id: "output:out.md",
          ok: true,
          detail: `\`out.md\`: 10 bytes, SHA-256 ${HASH}`,
          code: null,
          exitCode: null,
          wallMs: null,
        },
        {
          id: "owned-paths",
          ok: true,
          detail: "1 changed, all inside its boundary",
          code: null,
          exitCode: null,
          wallMs: null,
        },
        {
          id: "change",
          ok: true,
          detail: "there is a change or an output",
          code: null,
          exitCode: null,
          wallMs: null,
        },
        {
          id: "verification:1",
          ok: true,
          detail: "`node check.js` exited 0",
          code: null,
          exitCode: 0,
          wallMs: 12,
        },
        {
          id: "injection-fixture",
          ok: true,
          detail: "same decision with the instruction planted in 5 places",
          code: null,
          exitCode: null,
          wallMs: null,
        },
      ],
      failureClass: null,
      reason: null,
      detail: null,
      flags: [],
      artifacts: [{ path: "out.md", sha256: HASH, bytes: 10 }],
      changedPaths: ["src/a.ts"],
      scripts: [],
      question: null,
      injectionFixture: "passed",
    });
  });

  const held: [string, LayerOneEvidence][] = [
    ["an observing job that changed nothing", observing()],
    [
      "an observing job that created its declared output",
      observing({ outputs: [output()], changes: { created: ["out.md"] } }),
    ],
    [
      "an observing job that rewrote an output which is not tracked",
      observing({ outputs: [output()], changes: { modified: ["out.md"] } }),
    ],
    [
      "an optional output that was not made",
      evidence({ outputs: [output({ required: false, found: null })] }),
    ],
    [
      "a declared digest in capitals",
      evidence({ outputs: [output({ declaredSha256: HASH.toUpperCase() })] }),
    ],
    [
      "an agent without final text whose outputs are declared",
      evidence({ resultText: "", outputs: [output()] }),
    ],
    [
      "a cut-off final text beside declared outputs",
      evidence({ resultTruncated: true, outputs: [output()] }),
    ],
    [
      "a program without any output",
      evidence({ agent: false, resultText: null, job: { task: "mechanical" }, changes: { modified: [] } }),
    ],
    ["a suspect exit at R1", evidence({ suspect: true })],
    [
      "ignored files in an own worktree",
      evidence({
        ownWorktree: true,
        changes: { modified: ["src/a.ts"], created: ["x.log"], ignored: ["x.log"] },
      }),
    ],
    [
      "a writer that declares no boundary in an own worktree",
      evidence({
        ownWorktree: true,
        job: { ownedPaths: [], riskTier: "R2" },
        changes: { modified: ["any/file"] },
      }),
    ],
    [
      "the same with an output that the coordinator writes",
      evidence({
        ownWorktree: true,
        job: { ownedPaths: [], riskTier: "R2" },
        outputs: [output({ fromResult: true })],
        changes: { modified: ["any/file"] },
      }),
    ],
    ["a dot file below an owned folder", evidence({ changes: { created: ["src/.hidden/.x"] } })],
    ["paths below the job's cwd", evidence({ cwdPrefix: "pkg", changes: { modified: ["pkg/src/a.ts"] } })],
    [
      "a deleted file that it owns",
      evidence({ changes: { modified: [], deleted: ["src/a.ts"], tracked: ["src/a.ts"] } }),
    ],
    [
      "an implement job that left an output only",
      evidence({ outputs: [output()], changes: { modified: [], created: ["out.md"] } }),
    ],
    [
      "a moved HEAD in its own worktree",
      evidence({ ownWorktree: true, changes: { headMoved: { from: "1", to: "2" } } }),
    ],
    [
      "a large folder without git under an observing job",
      observing({ changes: { ...NO_CHANGES, measured: false } }),
    ],
    [
      "a fixture that was not run",
      evidence({
        fixture: { status: "not-run", detail: "there is no recorded output to replay", differences: [] },
      }),
    ],
    [
      "a claim that agrees",
      evidence({
        claims: [
          { kind: "hash", subject: "a", claimed: HASH, recorded: `SHA-256 ${HASH}`, contradicts: false },
        ],
      }),
    ],
  ];
  it.each(held)("%s passes", (_, e) => {
    expect(verdict(e)).toEqual([true, null, null, null]);
  });
});

describe("each clause alone", () => {
  const broken: [string, LayerOneEvidence, NonNullable<LayerOneResult["failureClass"]>, string, string][] = [
    ["not settled", evidence({ settled: false }), "BAD_OUTPUT", "unsettled", "the attempt is not settled"],
    [
      "a suspect exit at R2",
      evidence({ suspect: true, job: { riskTier: "R2" } }),
      "BAD_OUTPUT",
      "suspect-exit",
      "the runtime gave a result and then exited with a failure",
    ],
    [
      "an agent without final text",
      observing({ resultText: " \n" }),
      "BAD_OUTPUT",
      "empty-result",
      "the agent ended without a final text",
    ],
    [
      "an agent whose only outputs are optional and missing, without final text",
      observing({ resultText: null, outputs: [output({ required: false, found: null })] }),
      "BAD_OUTPUT",
      "empty-result",
      "the agent ended without a final text",
    ],
    [
      "a final text that was cut off",
      observing({ resultTruncated: true }),
      "BAD_OUTPUT",
      "result-truncated",
      "the final text was cut off at the output limit",
    ],
    [
      "a cut-off text that is a declared output",
      observing({ resultTruncated: true, outputs: [output({ fromResult: true })] }),
      "BAD_OUTPUT",
      "result-truncated",
      "the final text was cut off at the output limit",
    ],
    [
      "a missing output",
      evidence({ outputs: [output({ found: null })] }),
      "BAD_OUTPUT",
      "missing-artifact",
      "`out.md` does not exist",
    ],
    [
      "an empty output",
      evidence({ outputs: [output({ found: { sha256: HASH, bytes: 0 } })] }),
      "BAD_OUTPUT",
      "empty-artifact",
      "`out.md` is empty",
    ],
    [
      "an empty optional output",
      evidence({ outputs: [output({ required: false, found: { sha256: HASH, bytes: 0 } })] }),
      "BAD_OUTPUT",
      "empty-artifact",
      "`out.md` is empty",
    ],
    [
      "an output of other content",
      evidence({ outputs: [output({ declaredSha256: OTHER_HASH })] }),
      "BAD_OUTPUT",
      "artifact-hash",
      `\`out.md\` has SHA-256 ${HASH}, declared ${OTHER_HASH}`,
    ],
    [
      "an output that is a link",
      evidence({ outputs: [output({ found: null, fault: "`out.md` is a symbolic link" })] }),
      "BAD_OUTPUT",
      "unsafe-artifact",
      "`out.md` is a symbolic link",
    ],
    [
      "an edit out of bounds",
      evidence({ changes: { modified: ["lib/b.ts", "src/a.ts"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`lib/b.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "a new file out of bounds",
      evidence({ changes: { created: ["b.ts"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`b.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "a deletion out of bounds",
      evidence({ changes: { deleted: ["b.ts"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`b.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "an ignored file in the shared checkout",
      evidence({ changes: { created: ["x.log"], ignored: ["x.log"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`x.log` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "a neighbour of the cwd with the same start",
      evidence({ cwdPrefix: "pkg", changes: { modified: ["pkg2/src/a.ts"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`pkg2/src/a.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "a writer with outputs and no owned paths that changed more",
      evidence({
        ownWorktree: true,
        job: { ownedPaths: [] },
        outputs: [output()],
        changes: { modified: ["src/a.ts"] },
      }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`src/a.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "no owned paths in a shared checkout",
      evidence({ job: { ownedPaths: [] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`src/a.ts` changed outside of `owned_paths` and `outputs`",
    ],
    [
      "an observing job that changed a tracked file",
      observing({ changes: { modified: ["src/a.ts"], tracked: ["src/a.ts"] } }),
      "BAD_OUTPUT",
      "tracked-file-changed",
      "an observing job changed `src/a.ts`",
    ],
    [
      "an observing job whose declared output is a tracked file",
      observing({ outputs: [output()], changes: { modified: ["out.md"], tracked: ["out.md"] } }),
      "BAD_OUTPUT",
      "tracked-file-changed",
      "an observing job changed `out.md`",
    ],
    [
      "an observing job that left a file behind",
      observing({ changes: { created: ["note.txt"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`note.txt` changed, but an observing job may only create its declared outputs",
    ],
    [
      "an observing job that relies on owned paths",
      observing({ job: { ownedPaths: ["src/**"] }, changes: { created: ["src/new.ts"] } }),
      "BAD_OUTPUT",
      "out-of-bounds",
      "`src/new.ts` changed, but an observing job may only create its declared outputs",
    ],
    [
      "a moved HEAD in the shared checkout",
      evidence({ changes: { headMoved: { from: "1", to: "2" } } }),
      "BAD_OUTPUT",
      "head-moved",
      "HEAD of the shared checkout moved from 1 to 2",
    ],
    [
      "a writer without evidence",
      evidence({ changes: { measured: false } }),
      "BAD_OUTPUT",
      "no-diff-evidence",
      "there is no evidence of what was changed",
    ],
    [
      "an implement job that changed nothing",
      evidence({ changes: { modified: [], tracked: [] } }),
      "BAD_OUTPUT",
      "no-change",
      "the implement job changed nothing and left no output",
    ],
    [
      "a mechanical job that changed ignored files of its worktree only",
      evidence({
        ownWorktree: true,
        job: { task: "mechanical" },
        changes: { modified: [], created: ["x.log"], ignored: ["x.log"] },
      }),
      "BAD_OUTPUT",
      "no-change",
      "the mechanical job changed nothing and left no output",
    ],
    [
      "a check that failed",
      evidence({ verification: [verification({ exitCode: 1, stderrTail: "1 test failed\n" })] }),
      "TEST_FAILURE",
      "check-failed",
      "`node check.js` exited 1: 1 test failed",
    ],
    [
      "a check that was killed",
      evidence({ verification: [verification({ exitCode: null, signal: "SIGSEGV" })] }),
      "TEST_FAILURE",
      "check-failed",
      "`node check.js` was ended by SIGSEGV",
    ],
    [
      "a check that took too long",
      evidence({ verification: [verification({ exitCode: null, timedOut: true })] }),
      "TEST_FAILURE",
      "check-timed-out",
      "`node check.js` did not end in time",
    ],
    [
      "a check that timed out and exited 0",
      evidence({ verification: [verification({ timedOut: true })] }),
      "TEST_FAILURE",
      "check-timed-out",
      "`node check.js` did not end in time",
    ],
    [
      "a check that could not start",
      evidence({ verification: [verification({ exitCode: null, spawnError: "ENOENT" })] }),
      "TEST_FAILURE",
      "check-not-started",
      "`node check.js` could not be started (ENOENT)",
    ],
    [
      "a check that was not run",
      evidence({ verification: [verification({ ran: false, reason: "cancelled", exitCode: null })] }),
      "BAD_OUTPUT",
      "check-not-run",
      "`node check.js` was not run: cancelled",
    ],
    [
      "the second of two checks",
      evidence({ verification: [verification(), verification({ index: 2, argv: ["false"], exitCode: 1 })] }),
      "TEST_FAILURE",
      "check-failed",
      "`false` exited 1",
    ],
    [
      "an edited check script that is not owned",
      evidence({
        ownWorktree: true,
        job: { ownedPaths: [] },
        changes: { modified: ["check.js"] },
        verification: [
          verification({ files: [{ path: "check.js", sha256: HASH, implied: false, reads: false }] }),
        ],
      }),
      "BAD_OUTPUT",
      "check-changed",
      "`check.js`, which the check runs, changed since the job's base and is not owned by the job",
    ],
    [
      "a check script that somebody else edited meanwhile",
      evidence({
        changes: { modified: ["check.js", "src/a.ts"] },
        peers: [
          { jobId: "other", effect: "scoped-write", cwdPrefix: "", ownedPaths: ["check.js"], outputs: [] },
        ],
        verification: [
          verification({ files: [{ path: "check.js", sha256: HASH, implied: false, reads: false }] }),
        ],
      }),
      "BAD_OUTPUT",
      "check-changed",
      "`check.js`, which the check runs, changed since the job's base and is not owned by the job",
    ],
    [
      "a contradicted digest",
      evidence({
        claims: [
          {
            kind: "hash",
            subject: "out.md",
            claimed: OTHER_HASH,
            recorded: `SHA-256 ${HASH}`,
            contradicts: true,
          },
        ],
      }),
      "BAD_OUTPUT",
      "contradiction",
      `the output says \`out.md\`: SHA-256 ${OTHER_HASH}; recorded: SHA-256 ${HASH}`,
    ],
    [
      "a contradicted check",
      evidence({
        claims: [
          {
            kind: "check-passed",
            subject: "npm test",
            claimed: "passed",
            recorded: "failed",
            contradicts: true,
          },
        ],
      }),
      "BAD_OUTPUT",
      "contradiction",
      "the output says `npm test`: passed; recorded: failed",
    ],
    [
      "a failed fixture",
      evidence({ fixture: { status: "failed", detail: "it obeyed", differences: ["it obeyed"] } }),
      "BAD_OUTPUT",
      "injection-fixture",
      "it obeyed",
    ],
  ];
  it.each(broken)("%s fails", (_, e, failureClass, reason, detail) => {
    expect(verdict(e)).toEqual([false, failureClass, reason, detail]);
  });

  it("nothing that holds elsewhere makes a broken clause pass", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...broken),
        fc.boolean(),
        fc.string({ maxLength: 40 }),
        ([, e], strong, text) => {
          const result = verifyLayerOne({
            ...e,
            toolEvents: strong ? 50 : 0,
            ...(e.resultText?.trim() && !e.resultTruncated
              ? { resultText: `All checks passed. ${text}` }
              : {}),
          });
          expect(result.ok).toBe(false);
        },
      ),
      { seed: 3, numRuns: 500 },
    );
  });

  it("no change to the evidence of a boundary widens it", () => {
    const paths = fc.uniqueArray(fc.constantFrom("src/a.ts", "src/b/c.ts", "lib/x.ts", "out.md", "x.log"), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(paths, paths, fc.boolean(), (created, deleted, own) => {
        const e = evidence({
          ownWorktree: own,
          outputs: [output()],
          changes: { modified: [], created, deleted, ignored: ["x.log"] },
        });
        const outside = [...created, ...deleted].filter(
          (path) => path === "lib/x.ts" || (path === "x.log" && !own),
        );
        expect(verifyLayerOne(e).checks.find((check) => check.id === "owned-paths")?.ok).toBe(
          outside.length === 0,
        );
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

describe("a checkout that several attempts share", () => {
  const writer = {
    jobId: "writer",
    effect: "scoped-write",
    cwdPrefix: "",
    ownedPaths: ["src/**"],
    outputs: ["notes.md"],
  } as const;

  it("the writer's changes are not held against the observer beside it", () => {
    const result = verifyLayerOne(
      observing({
        peers: [writer],
        changes: { modified: ["src/a.ts"], created: ["notes.md"], tracked: ["src/a.ts"] },
      }),
    );
    expect([result.ok, result.changedPaths]).toEqual([true, []]);
  });

  it("a change that nobody owns fails the observer, naming who ran beside it", () => {
    expect(verdict(observing({ peers: [writer], changes: { created: ["stray.txt"] } }))).toEqual([
      false,
      "BAD_OUTPUT",
      "out-of-bounds",
      "`stray.txt` changed, but an observing job may only create its declared outputs; it ran beside `writer`",
    ]);
  });

  it("a change that nobody owns fails the writer too", () => {
    expect(
      verifyLayerOne(
        evidence({ peers: [{ ...writer, effect: "observe" }], changes: { created: ["stray.txt"] } }),
      ).reason,
    ).toBe("out-of-bounds");
  });

  it("an observer beside it does not lend its owned paths, and lends its outputs only while they are not tracked", () => {
    const scout = { ...writer, jobId: "scout", effect: "observe" } as const;
    expect(verifyLayerOne(observing({ peers: [scout], changes: { created: ["src/new.ts"] } })).ok).toBe(
      false,
    );
    expect(verifyLayerOne(observing({ peers: [scout], changes: { created: ["notes.md"] } })).ok).toBe(true);
    expect(
      verifyLayerOne(
        observing({ peers: [scout], changes: { modified: ["notes.md"], tracked: ["notes.md"] } }),
      ).ok,
    ).toBe(false);
  });
});

describe("flags", () => {
  it("a trailing question is flagged with its words", () => {
    const result = verifyLayerOne(evidence({ resultText: "Did the first half.\n\nShall I continue?" }));
    expect([result.ok, result.flags, result.question]).toEqual([
      true,
      ["trailing-question"],
      "Shall I continue?",
    ]);
  });

  it("a check script that the job owns and changed is flagged and passes", () => {
    const files = [{ path: "src/check.js", sha256: HASH, implied: false, reads: false }];
    const result = verifyLayerOne(
      evidence({ changes: { modified: ["src/check.js"] }, verification: [verification({ files })] }),
    );
    expect([result.ok, result.flags]).toEqual([true, ["check-edited"]]);
  });

  it("a changed package.json behind `npm test` is flagged", () => {
    const files = [{ path: "package.json", sha256: HASH, implied: true, reads: false }];
    const result = verifyLayerOne(
      evidence({
        job: { ownedPaths: ["**"] },
        changes: { modified: ["package.json"] },
        verification: [verification({ files })],
      }),
    );
    expect([result.ok, result.flags]).toEqual([true, ["check-edited"]]);
  });

  it("an agent that used no tool and left nothing is flagged for zero work", () => {
    expect(verifyLayerOne(observing({ toolEvents: 0 })).flags).toEqual(["zero-work"]);
    expect(verifyLayerOne(observing({ toolEvents: null, resultText: "OK" })).flags).toEqual(["zero-work"]);
    expect(verifyLayerOne(observing({ toolEvents: null })).flags).toEqual([]);
    expect(verifyLayerOne(observing({ toolEvents: 0, outputs: [output()] })).flags).toEqual([]);
    expect(verifyLayerOne(observing({ agent: false, toolEvents: 0 })).flags).toEqual([]);
  });

  it("a suspect exit and a cut-off stream are flagged", () => {
    expect(
      verifyLayerOne(evidence({ suspect: true, resultTruncated: true, outputs: [output()] })).flags,
    ).toEqual(["suspect", "truncated"]);
  });

  it("ignored files of an own worktree are listed with the changes, at most a hundred", () => {
    const ignored = Array.from({ length: 150 }, (_, i) => `log/${String(i).padStart(3, "0")}`);
    const result = verifyLayerOne(
      evidence({ ownWorktree: true, changes: { modified: ["src/a.ts"], created: ignored, ignored } }),
    );
    expect(result.changedPaths).toHaveLength(101);
    expect(result.checks.find((c) => c.id === "owned-paths")?.detail).toBe(
      "1 changed, all inside its boundary; 150 ignored files changed",
    );
  });
});

describe("what layer 1 records", () => {
  const found = (e: LayerOneEvidence, id: string) => verifyLayerOne(e).checks.find((one) => one.id === id);

  it("names each check by what it is about", () => {
    const e = evidence({
      suspect: true,
      outputs: [output(), output({ path: "more.md", required: false, found: null })],
      verification: [verification()],
    });
    expect(verifyLayerOne(e).checks.map((one) => `${one.id}: ${one.detail}`)).toEqual([
      "settled: the process tree is gone and the result is complete",
      "exit: the result was kept although the runtime exited with a failure",
      "final-text: present",
      `output:out.md: \`out.md\`: 10 bytes, SHA-256 ${HASH}`,
      "output:more.md: `more.md` is optional and was not made",
      "owned-paths: 1 changed, all inside its boundary",
      "change: there is a change or an output",
      "verification:1: `node check.js` exited 0",
      "injection-fixture: same decision with the instruction planted in 5 places",
    ]);
    expect(found(observing({ settled: false }), "settled")?.code).toBe("unsettled");
    expect(found(evidence({ suspect: true, job: { riskTier: "R2" } }), "exit")?.code).toBe("suspect-exit");
    const fixture = { status: "not-run", detail: "nothing to replay", differences: [] } as const;
    expect(found(evidence({ fixture }), "injection-fixture")).toMatchObject({
      ok: true,
      code: "fixture-not-run",
    });
  });

  it("needs a final text unless declared files are the result; one made of the text is no such file", () => {
    const silent = { resultText: " ", outputs: [output()] };
    expect(found(evidence(silent), "final-text")).toMatchObject({
      ok: true,
      detail: "no final text; the declared outputs are the result",
    });
    const written = [output(), output({ path: "b.md", fromResult: true })];
    expect(found(evidence({ ...silent, outputs: written }), "final-text")).toMatchObject({
      ok: false,
      code: "empty-result",
    });
    expect(found(evidence({ resultTruncated: true, outputs: written }), "final-text")?.code).toBe(
      "result-truncated",
    );
  });

  it("lists changes and the files of checks in order, with their bytes", () => {
    const files = [{ path: "src/check.js", sha256: OTHER_HASH, implied: false, reads: false }];
    const result = verifyLayerOne(
      evidence({
        changes: { created: ["src/z.ts"], modified: ["src/a.ts"], tracked: ["src/a.ts"] },
        verification: [verification(), verification({ index: 2, files })],
      }),
    );
    expect(result.changedPaths).toEqual(["src/a.ts", "src/z.ts"]);
    expect(result.scripts).toEqual([{ index: 2, path: "src/check.js", sha256: OTHER_HASH }]);
  });

  it("tells how a check failed by its last words, bounded, and never calls a killed one passed", () => {
    const failing = (over: Parameters<typeof verification>[0]): string =>
      found(evidence({ verification: [verification(over)] }), "verification:1")?.detail ?? "";
    expect(failing({ exitCode: 1, stderrTail: " one \n two \n" })).toBe("`node check.js` exited 1: two");
    expect(failing({ exitCode: 1, stdoutTail: `${"x".repeat(300)}` })).toBe(
      `\`node check.js\` exited 1: ${"x".repeat(200)}`,
    );
    expect(failing({ exitCode: 1 })).toBe("`node check.js` exited 1");
    expect(failing({ exitCode: 0, signal: "SIGKILL" })).toContain("exited 0");
    expect(
      verifyLayerOne(evidence({ verification: [verification({ exitCode: 0, signal: "SIGKILL" })] })).ok,
    ).toBe(false);
  });

  it("says what the output claimed beside what is recorded", () => {
    const said = (kind: "file-created" | "file-deleted" | "check-failed" | "check-passed" | "hash") =>
      found(
        evidence({
          claims: [{ kind, subject: "a.md", claimed: HASH, recorded: "otherwise", contradicts: true }],
        }),
        "contradiction:a.md",
      )?.detail;
    expect(said("file-created")).toBe("the output says `a.md`: was created; recorded: otherwise");
    expect(said("file-deleted")).toBe("the output says `a.md`: was deleted; recorded: otherwise");
    expect(said("check-failed")).toBe("the output says `a.md`: failed; recorded: otherwise");
    expect(said("check-passed")).toBe("the output says `a.md`: passed; recorded: otherwise");
    expect(said("hash")).toBe(`the output says \`a.md\`: SHA-256 ${HASH}; recorded: otherwise`);
  });

  it("takes an edited check for the work of whoever may have edited it", () => {
    const script = { path: "check.js", sha256: HASH, implied: false, reads: false };
    const e = (over: Parameters<typeof evidence>[0]) =>
      verifyLayerOne(evidence({ verification: [verification({ files: [script] })], ...over }));
    const peer = {
      jobId: "other",
      effect: "scoped-write" as const,
      cwdPrefix: "",
      ownedPaths: ["check.js", "tests/**"],
      outputs: [],
    };
    const changes = { modified: ["src/a.ts", "check.js"], tracked: ["src/a.ts", "check.js"] };
    // Of a job beside it: not out of bounds, and yet this job's check is worth nothing.
    expect(e({ changes, peers: [peer] })).toMatchObject({ ok: false, reason: "check-changed", flags: [] });
    expect(e({ changes, peers: [peer] }).checks.map((one) => one.id)).toContain("check-script:1");
    // Its own output, or its own path: allowed, and flagged.
    for (const own of [
      { outputs: [output({ path: "check.js" })] },
      { job: { ownedPaths: ["src/**", "check.js"] } },
    ])
      expect(e({ changes, ...own })).toMatchObject({ ok: true, flags: ["check-edited"] });
    // Untouched: neither.
    expect(e({})).toMatchObject({ ok: true, flags: [] });
    // What a program reads by itself, changed by the neighbour: the neighbour's business, and no edit of this job.
    const implied = [verification({ files: [{ ...script, implied: true, reads: false }] })];
    expect(e({ changes, peers: [peer], verification: implied })).toMatchObject({ ok: true, flags: [] });
    const both = [
      verification({
        files: [
          { ...script, implied: true, reads: false },
          { path: "src/a.ts", sha256: HASH, implied: false, reads: false },
        ],
      }),
    ];
    expect(e({ changes, peers: [peer], verification: both })).toMatchObject({
      ok: true,
      flags: ["check-edited"],
    });
  });

  it("sees zero work in a word or two without a tool, a change or a byte", () => {
    const flags = (over: Parameters<typeof observing>[0]) => verifyLayerOne(observing(over)).flags;
    expect(flags({ toolEvents: null, resultText: "all is well" })).toEqual(["zero-work"]);
    expect(flags({ toolEvents: null, resultText: "  all \n\n is   well  " })).toEqual(["zero-work"]);
    expect(flags({ toolEvents: null, resultText: "all is well here" })).toEqual([]);
    expect(flags({ toolEvents: null, resultText: "all  is  well  here" })).toEqual([]);
    expect(flags({ toolEvents: 1, resultText: "OK" })).toEqual([]);
    const empty = output({ found: { sha256: HASH, bytes: 0 } });
    expect(flags({ toolEvents: 0, outputs: [empty] })).toEqual(["zero-work"]);
    expect(verifyLayerOne(evidence({ toolEvents: 0 })).flags).toEqual([]);
  });
});

describe("the boundary in words", () => {
  const owned = (e: LayerOneEvidence) => verifyLayerOne(e).checks.find((one) => one.id === "owned-paths");
  const of = (e: LayerOneEvidence): [boolean | undefined, string | null | undefined, string | undefined] => {
    const one = owned(e);
    return [one?.ok, one?.code, one?.detail];
  };

  it("says what changed, sorted, at most five by name", () => {
    const created = ["f", "e", "d", "c", "b", "a"].map((name) => `x/${name}`);
    expect(of(evidence({ changes: { created } }))).toEqual([
      false,
      "out-of-bounds",
      "`x/a`, `x/b`, `x/c`, `x/d`, `x/e` and 1 more changed outside of `owned_paths` and `outputs`",
    ]);
    expect(of(evidence({ changes: { created: created.slice(1) } }))[2]).toBe(
      "`x/a`, `x/b`, `x/c`, `x/d`, `x/e` changed outside of `owned_paths` and `outputs`",
    );
  });

  it("says that nothing changed, and counts ignored files of an own worktree only", () => {
    expect(of(observing())).toEqual([true, null, "nothing changed"]);
    expect(of(evidence({ ownWorktree: true }))[2]).toBe("1 changed, all inside its boundary");
    const ignored = { created: ["log/b", "log/a"], ignored: ["log/b", "log/a"] };
    expect(of(observing({ ownWorktree: true, changes: ignored }))[2]).toBe(
      "nothing changed; 2 ignored files changed",
    );
    expect(of(observing({ changes: ignored }))[0]).toBe(false);
    expect(verifyLayerOne(observing({ ownWorktree: true, changes: ignored })).changedPaths).toEqual([
      "log/a",
      "log/b",
    ]);
  });

  it("is the whole worktree only of a writer without paths and files of its own", () => {
    const job = { ownedPaths: [] };
    const changes = { created: ["anywhere.txt"], modified: [] };
    const unbounded = evidence({ job, changes, ownWorktree: true });
    expect(of(unbounded)).toEqual([
      true,
      null,
      "1 changed, no `owned_paths` declared: the whole worktree is its boundary",
    ]);
    expect(of(evidence({ job, changes }))[0]).toBe(false);
    expect(of(evidence({ job, changes, ownWorktree: true, outputs: [output()] }))[0]).toBe(false);
    expect(of(observing({ changes, ownWorktree: true }))[0]).toBe(false);
  });

  it("fails whoever may write where nothing could be measured, and nobody else", () => {
    const changes = { ...NO_CHANGES, measured: false };
    const none = "there is no evidence of what was changed";
    expect(of(evidence({ changes }))).toEqual([false, "no-diff-evidence", none]);
    expect(of(evidence({ changes, job: { writer: false } }))).toEqual([false, "no-diff-evidence", none]);
    expect(of(observing({ changes, job: { writer: true } }))).toEqual([false, "no-diff-evidence", none]);
    expect(of(observing({ changes }))).toEqual([
      true,
      "no-diff-evidence",
      "not measured: the folder has no git and is too large",
    ]);
  });

  it("tells where HEAD of a shared checkout went, also from and to nothing", () => {
    const head = (from: string | null, to: string | null) =>
      verifyLayerOne(evidence({ changes: { headMoved: { from, to } } })).checks.find(
        (one) => one.id === "head",
      )?.detail;
    expect(head("1", null)).toBe("HEAD of the shared checkout moved from 1 to nothing");
    expect(head(null, "2")).toBe("HEAD of the shared checkout moved from nothing to 2");
  });

  it("takes an empty file for no work of an implementation", () => {
    const changes = { modified: [], tracked: [] };
    const change = (bytes: number, more: readonly ReturnType<typeof output>[] = []) =>
      verifyLayerOne(
        evidence({ changes, outputs: [output({ found: { sha256: HASH, bytes } }), ...more] }),
      ).checks.find((one) => one.id === "change");
    expect(change(1)).toMatchObject({ ok: true, detail: "there is a change or an output" });
    expect(change(0)).toMatchObject({ ok: false, code: "no-change" });
    expect(change(0, [output({ path: "b" })])?.ok).toBe(true);
  });
});
