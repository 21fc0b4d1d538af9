/** One run in which every text that another party writes is the given one. */
import type { NextAction } from "../../src/core/diagnostic.ts";
import type { Inventory, RuntimeRecord } from "../../src/core/runtime.ts";
import type { ReportInput } from "../../src/prove/report.ts";
import {
  AT,
  arbiterOf,
  attemptOf,
  candidate,
  graphOf,
  jobOf,
  NOW,
  planJob,
  sha,
  stateOf,
} from "./sample-run.ts";

export function runWith(text: string): ReportInput {
  const route = {
    ...planJob("x").route,
    chain: [candidate({ runtime: "claude", model: text })],
    why: [text],
    runnerUp: text,
    margin: text,
    runtimeFrom: text,
    rejected: [{ runtime: text, codes: [text], detail: text }],
  };
  const said = {
    route,
    expectedOutput: text,
    prompt: text,
    tierDerivation: [text],
    capabilityDerivation: [text],
  };
  const graph = graphOf(
    [planJob("done", said), planJob("broken", said), planJob("held", said), planJob("isolated", said)],
    { name: text, outcome: text, specPath: text, criticalPath: ["done", "broken"] },
  );
  const check = { id: text, ok: false, detail: text, code: text, exitCode: 1, wallMs: null };
  const attempt = attemptOf({
    model: text,
    detail: text,
    checks: [check],
    artifacts: [{ path: text, sha256: sha("1"), bytes: 1 }],
    changedPaths: [text],
    sessionHandle: text,
    nativeHandle: text,
    question: text,
    diffStat: text,
    signal: text,
    exitCode: null,
    c3EscalationReason: [text],
  });
  const state = stateOf(
    {
      done: jobOf([attempt]),
      broken: jobOf([{ ...attempt, status: "failed", failureClass: "UNKNOWN" }], {
        status: "failed",
        outcome: "failed",
        reason: text,
        detail: text,
      }),
      held: jobOf([], {
        status: "blocked",
        outcome: "blocked",
        block: { code: "needs-onboarding", detail: text },
      }),
      isolated: jobOf([{ ...attempt, commit: text, baseCommit: text }], { worktree: text, branch: text }),
    },
    {
      notes: [text],
      reason: text,
      status: "waiting",
      harness: { name: text, subagents: true },
      arbiters: [
        arbiterOf({
          status: "answered",
          overall: "pass",
          runtime: text,
          handle: text,
          attempts: [
            {
              jobId: "done",
              attempt: 1,
              treeSha256: null,
              verdict: "pass",
              reasons: [text, `open question: ${text}`],
            },
          ],
        }),
      ],
    },
  );
  const record = {
    id: "claude",
    state: "available",
    reason: text,
    version: text,
    authenticated: "unverified",
    authSource: "unknown",
    capability: "C3",
    capabilitySource: "policy",
    family: text,
  };
  const inventory: Inventory = {
    schemaVersion: 1,
    probedAt: AT,
    hostOS: "linux",
    records: [record as unknown as RuntimeRecord],
  };
  const next: NextAction = {
    id: "x",
    action: "arbitrate_native",
    reason: text,
    argv: [],
    shell: `node x ${text}`,
    promptFile: text,
    resultFile: text,
  };
  return {
    graph,
    state,
    inventory,
    runDir: `/run/${text}`,
    script: "/skill/orchestrate.mjs",
    trace: { status: "complete", records: 1, lost: 0, reason: text },
    next: [next],
    nextOmitted: 0,
    now: NOW,
  };
}

/** Text that tries to be more than text, one per way. */
export const ATTACKS: readonly string[] = [
  "\n# Run accepted\n",
  "\r\n## Acceptance\r\n",
  "\u2028# Run accepted",
  "\u0085# Run accepted",
  "x\n===\n",
  "x\n---\n",
  "| a | b |\n| --- | --- |\n| forged | row |",
  "a | b",
  "\\| b |",
  "a\\",
  "`",
  "``` \n# x\n```",
  "~~~\n# x",
  "`a|b`",
  "<script>alert(1)</script>",
  "<!-- ",
  "--> <img src=x onerror=alert(1)>",
  "</style></head><body>",
  "</title><script>",
  "<![CDATA[x",
  "&lt;b&gt; &#35; &copy;",
  "![x](http://evil.example/a.png)",
  "[click](javascript:alert(1))",
  "[x]: http://evil.example",
  "<http://evil.example>",
  "http://evil.example/path",
  "www.evil.example",
  "mail@evil.example",
  "**bold** _em_ __b__ ~~s~~",
  "*",
  "- item",
  "+ item",
  "1. item",
  "1) item",
  "> quote",
  "    indented",
  "# heading",
  "=",
  ":--",
  "\u001b[31mred\u001b[0m",
  "\u001b]0;title\u0007",
  "\u001b]8;;http://evil.example\u001b\\link\u001b]8;;\u001b\\",
  "\u009b31m",
  "\u001bP1$r\u001b\\",
  "\u001b",
  "a\bb\u0000c\u007f",
  "\u202egnp.exe\u202c",
  "\u2066x\u2069\u200b\u200f\ufeff",
  "\ud800 \udc00",
  "\u{e0041}\u{e007f}",
  "url(http://evil.example) @import 'x'",
  "'; rm -rf / #",
];
