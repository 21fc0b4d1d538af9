import { describe, expect, it } from "vitest";
import {
  type ConfirmedEntry,
  type ConfirmedFile,
  NO_CONFIRMATIONS,
  parseConfirmed,
  withConfirmed,
  withoutConfirmed,
} from "../../src/plan/confirmations.ts";

const entry = (digit: string, o: Partial<ConfirmedEntry> = {}): ConfirmedEntry => ({
  digest: digit.repeat(64),
  kind: "policy",
  project: "/code/shop",
  words: `{"runtime":"claude","egress":"${digit}"}`,
  at: "2030-01-01T00:00:00.000Z",
  attested: false,
  ...o,
});
const list = (...entries: ConfirmedEntry[]): ConfirmedFile => ({ schemaVersion: 1, entries });
const read = (value: unknown) => parseConfirmed(JSON.stringify(value));

describe("the list of what was confirmed", () => {
  it("is read as it was written", () => {
    const file = list(entry("a"), entry("0", { kind: "runtimes", attested: true }));
    expect(read(file)).toEqual({ ok: true, value: file });
    expect(read(NO_CONFIRMATIONS)).toEqual({ ok: true, value: { schemaVersion: 1, entries: [] } });
  });

  it("loses what a stranger put beside it", () => {
    expect(read({ ...list(entry("a")), trusted: true })).toEqual({ ok: true, value: list(entry("a")) });
  });

  it.each<[string, string, string]>([
    ["half a file", '{"schemaVersion": 1, "entr', "is no JSON"],
    ["an empty file", "", "is no JSON"],
    ["nothing", "null", "is no object"],
    ["a text", '"confirmed"', "is no object"],
    ["a number", "1", "is no object"],
    [
      "a file of a later version",
      '{"schemaVersion": 2, "entries": []}',
      "has schema version 2; this version reads 1",
    ],
    ["a file without a version", '{"entries": []}', "has schema version undefined; this version reads 1"],
    [
      "a version as text",
      '{"schemaVersion": "1", "entries": []}',
      "has schema version 1; this version reads 1",
    ],
    ["a file without entries", '{"schemaVersion": 1}', "has entries of another form"],
    ["entries that are no list", '{"schemaVersion": 1, "entries": {}}', "has entries of another form"],
  ])("is refused as a whole when it is %s", (_, text, why) => {
    expect(parseConfirmed(text)).toEqual({ ok: false, error: why });
  });

  it.each<[string, unknown]>([
    ["nothing", null],
    ["a text", "a".repeat(64)],
    ["a number", 7],
    ["one without a digest", { ...entry("a"), digest: undefined }],
    ["one whose digest is a list of one", { ...entry("a"), digest: ["a".repeat(64)] }],
    ["one whose digest is short", { ...entry("a"), digest: "a".repeat(63) }],
    ["one whose digest goes on", { ...entry("a"), digest: "a".repeat(65) }],
    ["one whose digest begins later", { ...entry("a"), digest: `x${"a".repeat(64)}` }],
    ["one whose digest is no hex", { ...entry("a"), digest: "g".repeat(64) }],
    ["one whose digest is in capitals", { ...entry("a"), digest: "A".repeat(64) }],
    ["one of another kind", { ...entry("a"), kind: "spec" }],
    ["one of no kind", { ...entry("a"), kind: "" }],
    ["one without a project", { ...entry("a"), project: null }],
    ["one whose words are a map", { ...entry("a"), words: { runtime: "claude" } }],
    ["one whose time is a number", { ...entry("a"), at: 0 }],
    ["one that does not say who said it", { ...entry("a"), attested: undefined }],
    ["one that says it in words", { ...entry("a"), attested: "false" }],
  ])("is refused as a whole when an entry is %s", (_, bad) => {
    for (const entries of [[bad], [entry("b"), bad], [bad, entry("b")]])
      expect(read({ schemaVersion: 1, entries })).toEqual({
        ok: false,
        error: "has entries of another form",
      });
  });
});

describe("what is confirmed", () => {
  it("is put behind what was there", () => {
    expect(withConfirmed(list(entry("a")), [entry("b"), entry("c")])).toEqual(
      list(entry("a"), entry("b"), entry("c")),
    );
    expect(withConfirmed(NO_CONFIRMATIONS, [entry("a")])).toEqual(list(entry("a")));
  });

  it("stays as it was said the first time", () => {
    const first = list(entry("a", { attested: true, at: "2029-01-01T00:00:00.000Z" }));
    expect(withConfirmed(first, [entry("a"), entry("b")])).toEqual(list(...first.entries, entry("b")));
  });

  it("is taken back by its digest, and what was never there is no fault", () => {
    const file = list(entry("a"), entry("b"), entry("c"));
    expect(withoutConfirmed(file, new Set([entry("b").digest, entry("d").digest]))).toEqual(
      list(entry("a"), entry("c")),
    );
    expect(withoutConfirmed(file, new Set())).toEqual(file);
  });
});
