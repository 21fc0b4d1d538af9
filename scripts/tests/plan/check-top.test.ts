import { describe, expect, it } from "vitest";
import { BACKOFF, checkDuration, checkTop } from "../../src/plan/check-top.ts";
import { looseSpec, saidBy } from "./rule-support.ts";

type Top = NonNullable<Parameters<typeof looseSpec>[1]>;

/** A top level that says all there is to say. */
const WHOLE: Top = {
  outcome: "It is known.",
  constraints: ["no writes"],
  acceptance: ["a report"],
  calibration: { minimum_samples: 30 },
};
const top = (o: Top): string[] =>
  saidBy((say) => checkTop(looseSpec([{ id: "build" }, {}, { id: "test" }], { ...WHOLE, ...o }), say));

describe("a duration", () => {
  const duration = (text: string | undefined, minMs: number, maxMs: number): string[] =>
    saidBy((say) => checkDuration(text, ["defaults", "timeout"], { minMs, maxMs }, say));

  it("lies within its bounds, and on them", () => {
    for (const text of [undefined, "1s", "30s", "1m"]) expect(duration(text, 1_000, 60_000)).toEqual([]);
    expect(duration("0s", 0, 60_000)).toEqual([]);
  });

  it("beyond them is told with them", () => {
    expect(duration("61s", 1, 60_000)).toEqual([
      "duration-range defaults.timeout `timeout` must be more than 0s and at most 1m, but is `61s` | -",
    ]);
    expect(duration("0s", 1, 60_000)).toEqual([
      "duration-range defaults.timeout `timeout` must be more than 0s and at most 1m, but is `0s` | -",
    ]);
    expect(duration("2m", 0, 60_000)).toEqual([
      "duration-range defaults.timeout `timeout` must be at most 1m, but is `2m` | -",
    ]);
  });

  it("that is none was told before", () => {
    expect(duration("soon", 1, 60_000)).toEqual([]);
  });

  it("between attempts may be nothing, and a minute at most", () => {
    expect(BACKOFF).toEqual({ minMs: 0, maxMs: 60_000 });
  });
});

describe("the top level of a spec", () => {
  it("has bounds for each of its durations", () => {
    expect(
      top({
        quota_wait: "25h",
        defaults: { timeout: "0s", retry: { max_attempts: 2, backoff: "61s" } },
        arbiter: { timeout: "0s" },
        worktree_setup: [
          { command: "npm", timeout: "24h" },
          { command: "npm", timeout: "0s" },
          { command: "npm", timeout: "25h" },
        ],
      }),
    ).toEqual([
      "duration-range quota_wait `quota_wait` must be at most 24h, but is `25h` | -",
      "duration-range defaults.timeout `timeout` must be more than 0s and at most 24h, but is `0s` | -",
      "duration-range defaults.retry.backoff `backoff` must be at most 1m, but is `61s` | -",
      "duration-range arbiter.timeout `timeout` must be more than 0s and at most 24h, but is `0s` | -",
      "duration-range worktree_setup[1].timeout `timeout` must be more than 0s and at most 24h, but is `0s` | -",
      "duration-range worktree_setup[2].timeout `timeout` must be more than 0s and at most 24h, but is `25h` | -",
    ]);
    expect(top({ quota_wait: "0s", defaults: { retry: { max_attempts: 2, backoff: "0s" } } })).toEqual([]);
    expect(top({ defaults: {} })).toEqual([]);
  });

  it("sets worktrees up by programs, not by command lines", () => {
    expect(top({ worktree_setup: [{ command: "npm" }, { command: "npm ci" }] })).toEqual([
      "shell-string worktree_setup[1].command `npm ci` is a command line, but `command` is one program and no shell reads it | put the program into `command` and each argument into `args`",
    ]);
  });

  it("has placeholders of its arbiter in their own fields", () => {
    const runtimes =
      "`<verified-cli-runtime>`, `<verified-read-runtime>`, `<verified-judgment-runtime>` or `<verified-fallback-runtime>`";
    expect(
      top({
        arbiter: { runtime: "<a>", fallback_runtime: ["claude", "<b>"], model: "<c>" },
      }),
    ).toEqual([
      `unknown-placeholder arbiter.runtime \`runtime\` is \`<a>\`, but its placeholders are ${runtimes} | use one of them as the whole value, or a name`,
      `unknown-placeholder arbiter.fallback_runtime[1] \`fallback_runtime[1]\` is \`<b>\`, but its placeholders are ${runtimes} | use one of them as the whole value, or a name`,
      "unknown-placeholder arbiter.model `model` is `<c>`, but its placeholders are `<resolved-model>` | use one of them as the whole value, or a name",
    ]);
  });

  it("scripts verdicts for jobs that there are", () => {
    expect(
      top({
        arbiter: { mock: { build: "pass", tset: "fail", deploy: "pass", test: "pass", undefined: "pass" } },
      }),
    ).toEqual([
      "unknown-job arbiter.mock.tset `arbiter.mock` names `tset`, but there is no such job | did you mean `test`?",
      "unknown-job arbiter.mock.deploy `arbiter.mock` names `deploy`, but there is no such job | remove it",
      "unknown-job arbiter.mock.undefined `arbiter.mock` names `undefined`, but there is no such job | remove it",
    ]);
    expect(top({ arbiter: {} })).toEqual([]);
  });
});

describe("an intake", () => {
  const told = (fields: string): string =>
    `intake-incomplete - the spec states no ${fields}: the judge will know only what each job says | say what shall be true at the end, what must not happen, and what would show it`;

  it("is told what it leaves out, absent and empty alike", () => {
    expect(top({ outcome: undefined, constraints: undefined, acceptance: undefined })).toEqual([
      told("`outcome`, `constraints`, `acceptance`"),
    ]);
    expect(top({ outcome: "" })).toEqual([told("`outcome`")]);
    expect(top({ constraints: [] })).toEqual([told("`constraints`")]);
    expect(top({ acceptance: [] })).toEqual([told("`acceptance`")]);
    expect(top({})).toEqual([]);
  });
});

describe("a calibration", () => {
  it("without a least number of samples is off, told at the field that would hold it", () => {
    const message =
      "`calibration.minimum_samples` is absent: every job goes to a judge | set it to 30 or more to allow acceptance without a judge where a calibration record permits it";
    expect(top({ calibration: undefined })).toEqual([`calibration-off - ${message}`]);
    expect(top({ calibration: {} })).toEqual([`calibration-off calibration ${message}`]);
  });

  it("below thirty samples is off, and from there on says nothing", () => {
    expect(top({ calibration: { minimum_samples: 29 } })).toEqual([
      "calibration-off calibration.minimum_samples `calibration.minimum_samples` is 29, below 30: every job goes to a judge | set it to 30 or more",
    ]);
    expect(top({ calibration: { minimum_samples: 30 } })).toEqual([]);
    expect(top({ calibration: { minimum_samples: 300 } })).toEqual([]);
  });
});
