import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resetTimeIn } from "../../src/runtimes/reset-time.ts";
import { PROPERTY } from "../support/property.ts";

const NOW = Date.parse("2026-11-29T12:30:00Z");
const reset = (text: string, now = NOW): string | null => {
  const at = resetTimeIn(text, now);
  return at === null ? null : new Date(at).toISOString();
};

describe("a wall-clock time with a zone", () => {
  it.each([
    ["usage window spent, opens again 4pm (Europe/Paris)", "2026-11-29T15:00:00.000Z"],
    ["You've hit your session limit · resets 4pm (Europe/Paris)", "2026-11-29T15:00:00.000Z"],
    // Gone by today: tomorrow.
    ["resets 9am (Europe/Paris)", "2026-11-30T08:00:00.000Z"],
    ["resets at 3:04 PM UTC", "2026-11-29T15:04:00.000Z"],
    ["resets 15:45 (America/New_York)", "2026-11-29T20:45:00.000Z"],
    ["limit reached, try again 12am (Asia/Tokyo)", "2026-11-29T15:00:00.000Z"],
    ["resets 5:30am (Asia/Kathmandu)", "2026-11-29T23:45:00.000Z"],
  ])("%s", (text, expected) => {
    expect(reset(text)).toBe(expected);
  });

  it("is right across a change of the clock", () => {
    // Paris leaves summer time on 2026-10-25 at 01:00 UTC.
    expect(reset("resets 4pm (Europe/Paris)", Date.parse("2026-10-24T20:00:00Z"))).toBe(
      "2026-10-25T15:00:00.000Z",
    );
    expect(reset("resets 4pm (Europe/Paris)", Date.parse("2026-03-28T20:00:00Z"))).toBe(
      "2026-03-29T14:00:00.000Z",
    );
  });

  it.each([
    "resets 4pm",
    "resets at 15:45",
    "resets 4pm (Mars/Olympus)",
    "resets 4pm (local time)",
    "resets 25:00 UTC",
    "the meeting is at 4pm (Europe/Paris)",
  ])("gives no guess: %s", (text) => {
    expect(reset(text)).toBeNull();
  });
});

describe("other ways to say it", () => {
  it.each([
    ["try again in 90 seconds", "2026-11-29T12:31:30.000Z"],
    ["Please try again in 3h 20m.", "2026-11-29T15:50:00.000Z"],
    ["available again in 2 days 3 hours 5 minutes", "2026-12-01T15:35:00.000Z"],
    ["retry-after: 30", "2026-11-29T12:30:30.000Z"],
    ["rate limited (retry after 20 seconds)", "2026-11-29T12:30:20.000Z"],
    ["limit reached|1795960000", "2026-11-29T13:46:40.000Z"],
    ['{"resets_at": 1795960000}', "2026-11-29T13:46:40.000Z"],
    ["resets at 2026-11-30T01:00:00Z", "2026-11-30T01:00:00.000Z"],
    ["resets at 2026-11-30 01:00:00 UTC", "2026-11-30T01:00:00.000Z"],
    ["resets at 2026-11-30T01:00:00+02:00", "2026-11-29T23:00:00.000Z"],
  ])("%s", (text, expected) => {
    expect(reset(text)).toBe(expected);
  });

  it.each([
    // A local time of an unknown zone is no instant.
    "resets at 2026-11-30T01:00:00",
    // Over.
    "resets at 2026-11-01T01:00:00Z",
    // Beyond every provider's window.
    "resets at 2031-11-30T01:00:00Z",
    "try again in 900 days",
    "try again later",
    "",
  ])("gives no guess: %s", (text) => {
    expect(reset(text)).toBeNull();
  });
});

describe("every answer", () => {
  it("lies in the future and is the same when asked again", () => {
    const zones = fc.constantFrom(
      "Europe/Paris",
      "UTC",
      "Asia/Tokyo",
      "America/St_Johns",
      "Pacific/Chatham",
      "Australia/Lord_Howe",
    );
    const instant = fc.integer({ min: Date.parse("2026-01-01"), max: Date.parse("2027-12-31") });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        zones,
        instant,
        (hour, minute, zone, now) => {
          const text = `resets at ${hour}:${String(minute).padStart(2, "0")} (${zone})`;
          const at = resetTimeIn(text, now) as number;
          expect(at).toBeGreaterThan(now);
          // At most a day and the hour that a clock may be set back.
          expect(at - now).toBeLessThanOrEqual(25 * 3_600_000);
          const shown = new Intl.DateTimeFormat("en-GB", {
            timeZone: zone,
            hour: "2-digit",
            minute: "2-digit",
          }).format(at);
          const skipped = Number(shown.slice(0, 2)) !== hour;
          // An hour that a clock skips does not exist on that day.
          if (!skipped)
            expect(shown).toBe(`${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`);
        },
      ),
      PROPERTY,
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        const at = resetTimeIn(`resets ${text}`, NOW);
        if (at !== null) expect(at).toBeGreaterThan(NOW);
      }),
      PROPERTY,
    );
  });
});
