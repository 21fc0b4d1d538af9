import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { describe, expect, it } from "vitest";
import { type ReportInput, renderReport } from "../../src/prove/report.ts";
import { ATTACKS, runWith } from "./hostile-run.ts";
import { arbiterOf, attemptOf, cpuMs, graphOf, jobOf, NOW, planJob, sha, stateOf } from "./sample-run.ts";

const markdown = new MarkdownIt({ html: true, linkify: true });
const report = (
  graph: ReportInput["graph"],
  state: ReportInput["state"],
  over: Partial<ReportInput> = {},
): string =>
  renderReport({
    graph,
    state,
    inventory: null,
    runDir: "/repo/plans/reports/orchestrate-1",
    script: "/skill/scripts/orchestrate.mjs",
    trace: { status: "complete", records: 12, lost: 0, reason: null },
    now: NOW,
    ...over,
  });
const section = (text: string, title: string): string =>
  text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";

const accepted = attemptOf({
  acceptance: "accepted",
  c3Verdict: "pass",
  arbitration: {
    arbiterId: "arbiter-1",
    verdict: "pass",
    independence: "independent",
    bundleSha256: sha("e"),
    treeSha256: sha("b"),
  },
});

describe("report.md", () => {
  it("is headed with the status of the run", () => {
    const heads = (["running", "waiting", "accepted", "ended", "cancelled", "interrupted"] as const).map(
      (status) =>
        report(graphOf([planJob("a")]), stateOf({ a: jobOf([accepted]) }, { status }))
          .split("\n")
          .slice(0, 3),
    );
    expect(heads).toEqual([
      ["# Run running: sample", "", "> The run goes on; this is a snapshot."],
      ["# Run waiting: sample", "", "> Nothing runs: the run waits for an action."],
      ["# Run accepted: sample", "", "> Every job was verified and accepted."],
      ["# Run ended: sample", "", "> The run is settled, and not every job was accepted."],
      ["# Run cancelled: sample", "", "> The run was cancelled."],
      ["# Run interrupted: sample", "", "> The run stopped before its end and can be resumed."],
    ]);
  });

  it("has every section of its contract, in order", () => {
    const titles = report(graphOf([planJob("a")]), stateOf({ a: jobOf([accepted]) })).match(/^## .*$/gm);
    expect(titles).toEqual([
      "## What is due",
      "## Jobs",
      "## Acceptance",
      "## Failures and blocks",
      "## Changes awaiting integration",
      "## Nine questions",
      "## Open questions",
      "## Each job",
      "## Cost and tokens",
      "## What the run stood on",
      "## Runtimes to set up",
      "## Session handles",
      "## Reproduce",
    ]);
  });

  it("says in plain words that finished work needs an arbiter", () => {
    const state = stateOf(
      {
        a: jobOf([attemptOf()], {
          outcome: "blocked",
          outcomeBlock: { code: "needs-arbiter", detail: "Nobody has judged it." },
        }),
      },
      { status: "waiting", arbiters: [arbiterOf()] },
    );
    const text = report(graphOf([planJob("a")]), state);
    expect(text).toContain(
      "> **Needs an arbiter.** 1 job finished, but no independent arbiter has accepted the work: `a`.",
    );
    expect(section(text, "Acceptance")).toContain(
      "1 job finished and passed the coordinator's own checks, but no independent arbiter has accepted the work yet: `a`. Until a verdict is handed in, treat it as unverified.",
    );
    expect(section(text, "Acceptance")).toContain("Accepted without a C3 call: **0 of 1**.");
    expect(section(text, "Failures and blocks")).toContain(
      "| `a` | success | `needs-arbiter` | Nobody has judged it. | goes on once the action is taken |",
    );
    expect(section(text, "Jobs")).toContain(
      "| `a` | success | blocked | R0 | `claude`, `model-x` | 1 | none | nobody has judged it |",
    );
  });

  it("names who judged, how independent they were, and why", () => {
    const state = stateOf(
      { a: jobOf([accepted], { outcome: "accepted" }) },
      {
        status: "accepted",
        arbiters: [
          arbiterOf({
            status: "answered",
            overall: "pass",
            independence: "independent",
            attempts: [
              {
                jobId: "a",
                attempt: 1,
                treeSha256: sha("b"),
                verdict: "pass",
                reasons: ["ran `npm test` again"],
              },
            ],
          }),
        ],
      },
    );
    const text = report(graphOf([planJob("a")]), state);
    expect(section(text, "Jobs")).toContain("pass by `arbiter-1`, independent |");
    expect(section(text, "Acceptance")).toContain(
      "| `arbiter-1` | answered | native | independent | pass | `a` |",
    );
    expect(section(text, "Acceptance")).toContain("- `a` (pass, `arbiter-1`): ran `npm test` again");
  });

  it("states the exact boundary of a failure and where it goes from there", () => {
    const state = stateOf(
      {
        a: jobOf(
          [
            attemptOf({
              status: "blocked",
              failureClass: "PERMISSION",
              detail: "wanted to write `/etc/hosts`",
            }),
          ],
          {
            status: "blocked",
            outcome: "blocked",
            reason: "PERMISSION",
          },
        ),
        b: jobOf([], {
          status: "blocked",
          outcome: "blocked",
          block: { code: "dependency-failed", detail: "`a` ended blocked" },
        }),
      },
      { status: "ended" },
    );
    const text = report(graphOf([planJob("a"), planJob("b", { dependsOn: ["a"] })]), state);
    expect(section(text, "Failures and blocks")).toContain(
      "| `a` | blocked | `PERMISSION` | wanted to write `/etc/hosts` | final; goes again with resume --retry |",
    );
    expect(section(text, "Failures and blocks")).toContain(
      "| `b` | blocked | `dependency-failed` | `a` ended blocked | final; reopens with its dependency |",
    );
  });

  it("shows a promotion wherever it shows who did the work", () => {
    const job = jobOf([
      attemptOf({
        runtime: "codex",
        status: "failed",
        failureClass: "QUOTA",
        detail: "limit reached",
        exitCode: 1,
      }),
      attemptOf({ attempt: 2, relation: "promotion" }),
    ]);
    const text = report(graphOf([planJob("a")]), stateOf({ a: job }));
    expect(section(text, "Jobs")).toContain("`claude`, `model-x` (promoted)");
    expect(section(text, "Each job")).toContain(
      "- Attempt 1 (first): failed on `codex`, 60.0 s, exit 1, `QUOTA`: limit reached",
    );
    expect(section(text, "Each job")).toContain(
      "- Attempt 2 (promotion): success on `claude`, 60.0 s, exit 0",
    );
  });

  it("keeps unknown cost apart from zero, and never adds dimensions", () => {
    const usage = {
      inputTokens: 1_200,
      outputTokens: 0,
      cachedTokens: null,
      actualMarginalCostUsd: null,
      apiEquivalentCostUsd: 0.25,
      quotaBurn: null,
      source: "x",
    };
    const state = stateOf({ a: jobOf([attemptOf({ usage })]), b: jobOf([attemptOf()]) });
    expect(
      section(report(graphOf([planJob("a"), planJob("b")]), state), "Cost and tokens")
        .split("\n")
        .filter((line) => line.startsWith("|")),
    ).toEqual([
      "| Dimension | Reported | Attempts that did not report it |",
      "| --- | --- | --- |",
      "| Input tokens | at least 1,200 | 1 of 2 |",
      "| Output tokens | at least 0 | 1 of 2 |",
      "| Cached tokens | unknown | 2 of 2 |",
      "| Actual marginal cost | unknown | 2 of 2 |",
      "| API-equivalent cost | at least $0.2500 | 1 of 2 |",
      "| Quota burned | unknown | 2 of 2 |",
    ]);
  });

  it("marks mock work as mock everywhere", () => {
    const mock = attemptOf({
      runtime: "mock",
      model: "mock-a",
      family: "mock-a",
      acceptance: "accepted",
      c3Verdict: "pass",
      arbitration: accepted.arbitration,
    });
    const state = stateOf(
      { a: jobOf([mock], { outcome: "accepted" }) },
      {
        status: "accepted",
        mock: true,
        arbiters: [
          arbiterOf({
            via: "mock",
            runtime: "mock",
            status: "answered",
            overall: "pass",
            independence: "independent",
          }),
        ],
      },
    );
    const text = report(graphOf([planJob("a")]), state);
    expect(text.split("\n")[0]).toBe("# Run accepted (mock run): sample");
    expect(text).toContain(
      "> **Mock run.** The built-in mock runtime played all of this work from a script. No model took part, and nothing here says anything about real work.",
    );
    expect(section(text, "Jobs")).toContain("| **mock**, no model |");
    expect(section(text, "Acceptance")).toContain("| `arbiter-1` | answered | **mock**, no model |");
    expect(section(text, "Cost and tokens")).toContain("1 mock attempt used no model and cost nothing.");
    const partly = stateOf({ a: jobOf([mock]), b: jobOf([attemptOf()]) }, { mock: true });
    expect(report(graphOf([planJob("a"), planJob("b")]), partly).split("\n")[0]).toBe(
      "# Run running (partly mock): sample",
    );
  });

  it("tells branches that await integration from edits that are in the checkout", () => {
    const state = stateOf({
      a: jobOf(
        [
          attemptOf({
            changedPaths: ["src/a.ts"],
            commit: "abcdef0123456789",
            baseCommit: "c0ffee0123456789",
            diffStat: "1 file changed",
            acceptance: "accepted",
          }),
        ],
        {
          worktree: "/wt/a",
          branch: "orchestrate/r/a",
          outcome: "accepted",
        },
      ),
      b: jobOf([attemptOf({ changedPaths: ["src/b.ts"] })]),
    });
    const text = section(
      report(graphOf([planJob("a"), planJob("b")]), state),
      "Changes awaiting integration",
    );
    expect(text).toContain(
      "Accepted and not in your branch yet: `a`. Integrating is a separate, reviewed step: look, then apply; it can be undone.",
    );
    expect(text).toContain(
      "| `a` | accepted, awaits integration | `orchestrate/r/a` | 1 file changed | `git diff c0ffee012345 abcdef012345` |",
    );
    expect(text).toContain("**Already in your checkout:** 1 job wrote without a worktree, accepted or not.");
    expect(text).toContain("- `b` (pending): `src/b.ts`");
  });

  it("answers nine questions, each with who answered", () => {
    const rows = section(
      report(graphOf([planJob("a")]), stateOf({ a: jobOf([attemptOf()]) })),
      "Nine questions",
    )
      .split("\n")
      .filter((line) => /^\| \d/.test(line));
    expect(rows).toHaveLength(9);
    expect(rows[2]).toBe(
      "| 3 | Does the evidence contradict itself, or one job another? An open answer forces a C3 verdict. | None within a job; between jobs nobody has looked. | the coordinator's own checks, within each job only |",
    );
    expect(rows[4]).toBe(
      "| 5 | Is every claim borne out by evidence? | Not judged for 1 finished job. | nobody yet |",
    );
  });

  it("says what the trace is worth", () => {
    const of = (trace: ReportInput["trace"]): string =>
      /\*\*Trace\*\* \| (.*) \|/.exec(
        report(graphOf([planJob("a")]), stateOf({ a: jobOf([]) }), { trace }),
      )?.[1] ?? "";
    expect(of({ status: "complete", records: 1, lost: 0, reason: null })).toBe("**complete**, 1 record");
    expect(of({ status: "partial", records: 9, lost: 4, reason: "bounds" })).toBe(
      "**partial**, 9 records, 4 lost (bounds): this is no complete audit trail",
    );
    expect(of({ status: "partial", records: 9, lost: null, reason: "interrupted" })).toBe(
      "**partial**, 9 records, an unknown number lost (interrupted): this is no complete audit trail",
    );
    expect(of({ status: "absent", records: 0, lost: 3, reason: "write-failed" })).toBe(
      "**absent**: no record of the decisions could be kept (write-failed)",
    );
  });

  it("says how much was observed, and why that is not known", () => {
    const of = (over: Partial<ReportInput["state"]>): string =>
      /^- Events: (.*)$/m.exec(
        report(graphOf([planJob("a")]), { ...stateOf({ a: jobOf([]) }), ...over }),
      )?.[1] ?? "";
    const events = { written: 24, dropped: 2, unknown: 1 };
    expect(of({ status: "ended", events })).toBe("24 written, 2 dropped, 1 that no adapter could read");
    expect(of({ status: "ended" })).toBe("not counted");
    expect(of({ status: "running", events })).toBe("not counted until the run pauses or ends");
    expect(of({ status: "ended", events: null })).toBe(
      "not counted, because a coordinator ended before it could record how many",
    );
  });

  it("gives commands that reproduce it, quoted for a shell", () => {
    const failed = jobOf([attemptOf({ status: "failed" })], {
      status: "failed",
      outcome: "failed",
      reason: "UNKNOWN",
    });
    const text = report(graphOf([planJob("a")]), stateOf({ a: failed }), { runDir: "/my runs/1" });
    expect(section(text, "Reproduce")).toContain(
      [
        "```sh",
        "node /skill/scripts/orchestrate.mjs run /repo/jobs.yaml",
        "node /skill/scripts/orchestrate.mjs verify '/my runs/1'",
        "node /skill/scripts/orchestrate.mjs report '/my runs/1'",
        "node /skill/scripts/orchestrate.mjs resume '/my runs/1' --retry a",
        "```",
      ].join("\n"),
    );
  });

  it("says what is due, or that nobody asked", () => {
    const due = (over: Partial<ReportInput>): string =>
      section(report(graphOf([planJob("a")]), stateOf({ a: jobOf([]) }), over), "What is due");
    expect(due({})).toContain("Ask with `next RUN`.");
    expect(due({ next: [] })).toContain("Nothing.");
    const next = [
      {
        id: "resume",
        action: "resume" as const,
        reason: "It was interrupted.",
        argv: [],
        shell: "node x resume",
      },
    ];
    expect(due({ next, nextOmitted: 2 })).toContain(
      "`resume`: It was interrupted.\n\n```sh\nnode x resume\n```\n\n2 more: run `next`.",
    );
  });

  it("scales to ten thousand jobs: bounded, faults first, with counts of what it leaves out", () => {
    const plans = Array.from({ length: 10_000 }, (_, i) => planJob(`job-${i}`, { index: i }));
    const jobs = Object.fromEntries(
      plans.map((plan, i) => [
        plan.id,
        i >= 9_900
          ? jobOf([attemptOf({ status: "failed", failureClass: "UNKNOWN" })], {
              status: "failed",
              outcome: "failed",
              reason: "UNKNOWN",
            })
          : jobOf([accepted], { outcome: "accepted" }),
      ]),
    );
    let text = "";
    const spent = cpuMs(() => {
      text = report(graphOf(plans), stateOf(jobs, { status: "ended" }));
    });
    expect(spent).toBeLessThan(5_000);
    expect(text.length).toBeLessThan(200_000);
    expect(section(text, "Jobs")).toContain("9800 more jobs are not shown; all are in `state.json`.");
    expect(section(text, "Jobs").split("\n")[4]).toContain("| `job-9900` | failed |");
    expect(text).toContain("9900 success, 100 failed");
  });
});

/** Block structure, with the titles of the report's own sections: what no text may change. */
function skeleton(text: string): string[] {
  const tokens = markdown.parse(text, {});
  return tokens.flatMap((token, index) => {
    if (token.type !== "inline")
      return token.type === "fence" ? [`fence:${token.info}`] : [`${token.type}:${token.tag}`];
    const wrong = (token.children ?? []).filter(
      (child) => !["text", "text_special", "code_inline", "strong_open", "strong_close"].includes(child.type),
    );
    const own = tokens[index - 1]?.tag === "h2" ? [`title:${token.content}`] : [];
    return [...own, ...wrong.map((child) => `unexpected ${child.type}: ${child.content || child.markup}`)];
  });
}

/** Line breaks aside, nothing that moves a cursor, hides or reorders text. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: looking for control characters
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udfff]/u;

describe("text of others in report.md", () => {
  const expected = skeleton(renderReport(runWith("harmless")));

  it("has a structure to compare with", () => {
    expect(expected.filter((line) => line.startsWith("title:"))).toHaveLength(13);
    expect(expected.filter((line) => line.startsWith("unexpected"))).toEqual([]);
  });

  it.each(ATTACKS.map((attack) => [JSON.stringify(attack), attack] as const))(
    "stays text: %s",
    (_name, attack) => {
      const text = renderReport(runWith(attack));
      expect(skeleton(text)).toEqual(expected);
      expect(text).not.toMatch(UNSAFE);
    },
  );

  it("stays text in any mixture", () => {
    const piece = fc.oneof(
      fc.constantFrom(...ATTACKS),
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("\n", "|", "`", "\\", "<", " ", "*", "#", "x"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = renderReport(runWith(pieces.join("")));
        expect(skeleton(text)).toEqual(expected);
        expect(text).not.toMatch(UNSAFE);
      }),
      { seed: 20_260_301, numRuns: process.env["ORCHESTRATE_SOAK"] === "1" ? 10_000 : 400 },
    );
  });
});
