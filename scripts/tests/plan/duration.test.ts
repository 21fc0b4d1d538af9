import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration } from "../../src/plan/duration.ts";
import { PROPERTY } from "../support/property.ts";

describe("a duration", () => {
  it.each([
    ["90s", 90_000],
    ["10m", 600_000],
    ["1h30m", 5_400_000],
    ["1h30m15s", 5_415_000],
    ["500ms", 500],
    ["2s500ms", 2_500],
    ["0s", 0],
    ["24h", 86_400_000],
  ])("%s has %i milliseconds", (text, ms) => expect(parseDuration(text)).toEqual({ ok: true, value: ms }));

  it.each([
    "",
    "90",
    "1:30",
    "s",
    "10 m",
    "10m ",
    "-5s",
    "1.5h",
    "1m1h",
    "10M",
    "10min",
    "1d",
    "1e3s",
    "99999999999s",
    "１０m",
  ])("is not %j", (text) =>
    expect(parseDuration(text)).toEqual({
      ok: false,
      error: "is no duration such as `90s`, `10m` or `1h30m`",
    }),
  );

  it("is read back from the way it is written", () =>
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toEqual({ ok: true, value: ms });
      }),
      PROPERTY,
    ));
});
