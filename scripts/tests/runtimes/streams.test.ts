/** Recorded runs of the five real CLIs, read by their adapters. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Adapter, AdapterEvent, ObservedState } from "../../src/runtimes/adapter.ts";
import { adapterFor } from "../../src/runtimes/registry.ts";
import { EXPECTED } from "../fixtures/streams/expected.ts";
import { foldLines, settleWith } from "../support/adapter-run.ts";
import { PROPERTY } from "../support/property.ts";

const FOLDER = fileURLToPath(new URL("../fixtures/streams/", import.meta.url));

interface Exit {
  readonly exitCode: number | null;
  readonly signal?: string;
  readonly hung?: boolean;
  readonly stderrTail?: string;
}
const EXITS = JSON.parse(readFileSync(`${FOLDER}exits.json`, "utf8")) as Record<string, Exit>;
const NAMES = Object.keys(EXITS);
const FILES = new Set(readdirSync(FOLDER).filter((file) => file.endsWith(".jsonl")));

const adapterOf = (name: string): Adapter => adapterFor(name.split("-", 1)[0] as string, []) as Adapter;

function recorded(name: string): string {
  if (!FILES.has(`${name}.jsonl`)) return "";
  const text = readFileSync(`${FOLDER}${name}.jsonl`, "utf8");
  return text.replace(/^\{"_trimmed_lines": \d+\}\n/gm, "");
}

function read(name: string): { state: ObservedState; events: readonly AdapterEvent[] } {
  return foldLines(adapterOf(name), recorded(name));
}

function settle(name: string, state: ObservedState) {
  const exit = EXITS[name] as Exit;
  return settleWith(adapterOf(name), state, {
    exitCode: exit.exitCode,
    signal: exit.signal ?? null,
    endedBy: exit.hung === true ? "timeout" : "self",
    stderrTail: exit.stderrTail ?? "",
    stdoutBytes: recorded(name).length,
  });
}

describe("every recorded run", () => {
  it("has an expectation, and every expectation a recording", () => {
    expect(Object.keys(EXPECTED).sort()).toEqual(NAMES.sort());
    expect([...FILES].filter((file) => EXITS[file.slice(0, -6)] === undefined)).toEqual([]);
  });

  it.each(NAMES)("%s settles as expected", (name) => {
    const expected = EXPECTED[name];
    if (expected === undefined) throw new Error(`no expectation for ${name}`);
    const { state } = read(name);
    const settlement = settle(name, state);
    expect(settlement.ok ? "done" : settlement.failureClass).toBe(expected.outcome);
    expect(settlement.suspect).toBe(false);
    if (expected.text !== undefined) expect(settlement.resultText?.startsWith(expected.text)).toBe(true);
    if (!settlement.ok) expect(settlement.detail).not.toBe("");
    expect([...new Set(state.denied.map((denial) => denial.boundary))]).toEqual(expected.denied ?? []);
    if (expected.tokens !== undefined)
      expect([state.usage?.inputTokens, state.usage?.outputTokens]).toEqual(expected.tokens);
  });

  it.each(NAMES)("%s has no line that its adapter does not know", (name) => {
    expect(read(name).state.unknownLines).toBe(0);
  });

  it.each(NAMES)("%s shows a refusal as an event that grants nothing", (name) => {
    const { state, events } = read(name);
    const permissions = events.filter((event) => event.kind === "permission");
    expect(permissions).toHaveLength(state.denied.length);
    for (const event of permissions) expect(event.payload["granted"]).toBe(false);
  });
});

describe.each(["claude", "codex", "gemini", "opencode", "pi"])("%s streams", (cli) => {
  const own = NAMES.filter((name) => name.startsWith(`${cli}-`));
  const settled = own.filter((name) => EXPECTED[name]?.outcome === "done");

  it("give session and usage in every settled run", () => {
    for (const name of settled) {
      const { state } = read(name);
      expect(state.sessionHandle).not.toBeNull();
      expect(state.usage?.inputTokens).toBeGreaterThanOrEqual(1_000);
      expect(state.usage?.outputTokens).toBeGreaterThanOrEqual(20);
    }
  });

  it("show tools with their end, and name the file that a file tool wrote", () => {
    const { events } = read(`${cli}-write`);
    const ends = events.filter((event) => event.kind === "tool" && event.phase === "end");
    expect(ends.map((event) => event.payload["ok"])).toEqual([true]);
    const artifacts = events.filter((event) => event.kind === "artifact");
    // codex writes through its shell, which shows nowhere.
    expect(artifacts.map((event) => event.payload["path"])).toEqual(cli === "codex" ? [] : ["<cwd>/out.txt"]);
  });

  it("are not settled when the last line is missing", () => {
    for (const name of settled) {
      const lines = recorded(name).trimEnd().split("\n");
      const { state } = foldLines(adapterOf(name), lines.slice(0, -1).join("\n"));
      expect(settle(name, state)).toMatchObject({ ok: false, failureClass: "BAD_OUTPUT" });
    }
  });

  it("stay a failure when the exit is 0 but the envelope holds an error", () => {
    for (const name of own) {
      const { state } = read(name);
      if (state.terminal === null || state.terminal.ok) continue;
      const settlement = settleWith(adapterOf(name), state, { exitCode: 0 });
      expect(settlement.ok).toBe(false);
    }
  });

  it("keep a valid result with a non-zero exit, as suspect", () => {
    for (const name of settled) {
      const { state } = read(name);
      expect(settleWith(adapterOf(name), state, { exitCode: 9 })).toMatchObject({ ok: true, suspect: true });
    }
  });

  it("take any lines in any order without throwing, and count what they cannot read", () => {
    const lines = own.flatMap((name) =>
      recorded(name)
        .split("\n")
        .filter((line) => line !== ""),
    );
    const adapter = adapterFor(cli, []) as Adapter;
    const broken = fc.oneof(
      fc.constantFrom(...lines),
      fc.string(),
      fc.json(),
      fc
        .tuple(fc.constantFrom(...lines), fc.nat())
        .map(([line, at]) => line.slice(0, at % (line.length + 1))),
      fc
        .record({ type: fc.string(), part: fc.anything(), message: fc.anything(), item: fc.anything() })
        .map((value) => safeJson(value)),
    );
    fc.assert(
      fc.property(fc.array(broken, { maxLength: 12 }), (list) => {
        let state = adapter.initial();
        for (const line of list) {
          const step = adapter.observe(state, line);
          expect(step.state.events).toBe(state.events + step.events.length);
          expect(step.state.unknownLines).toBeGreaterThanOrEqual(state.unknownLines);
          state = step.state;
        }
        const settlement = settleWith(adapter, state);
        expect(settlement.ok).toBe(settlement.failureClass === null);
      }),
      PROPERTY,
    );
  });

  it("are not changed by being observed: the same lines give the same state", () => {
    const name = `${cli}-write`;
    const adapter = adapterOf(name);
    const initial = JSON.stringify(adapter.initial());
    expect(read(name)).toEqual(read(name));
    expect(JSON.stringify(adapter.initial())).toBe(initial);
  });
});

describe("a success that is none", () => {
  it.each(["Loop detected, stopping execution", "Maximum session turns exceeded"])(
    "of gemini, which reports one after it stopped its model: %s",
    (message) => {
      const lines = recorded("gemini-plain").trimEnd().split("\n");
      const stopped = JSON.stringify({ type: "error", severity: "warning", message });
      const { state } = foldLines(
        adapterOf("gemini"),
        [...lines.slice(0, -1), stopped, lines.at(-1)].join("\n"),
      );
      expect(settleWith(adapterOf("gemini"), state)).toMatchObject({
        ok: false,
        failureClass: "UNKNOWN",
        detail: message,
        resultText: null,
      });
    },
  );

  it("of gemini is one when it only warned of something else", () => {
    const lines = recorded("gemini-plain").trimEnd().split("\n");
    const warned = JSON.stringify({ type: "error", severity: "warning", message: "a slow tool" });
    const { state } = foldLines(
      adapterOf("gemini"),
      [...lines.slice(0, -1), warned, lines.at(-1)].join("\n"),
    );
    expect(settleWith(adapterOf("gemini"), state)).toMatchObject({ ok: true, resultText: "hello from stub" });
  });

  it("of claude, whose result says success beside an error", () => {
    const lines = recorded("claude-e429").trimEnd().split("\n");
    const result = JSON.parse(lines.at(-1) as string);
    expect(result).toMatchObject({ type: "result", subtype: "success", is_error: true });
    const { state } = foldLines(adapterOf("claude"), lines.join("\n"));
    expect(settleWith(adapterOf("claude"), state, { exitCode: 0 })).toMatchObject({
      ok: false,
      failureClass: "RATE_LIMIT",
    });
  });

  it("of opencode, which leaves with 0 after a request that nobody granted", () => {
    const { state } = read("opencode-shell-ask");
    expect(settleWith(adapterOf("opencode"), state, { exitCode: 0 })).toMatchObject({
      ok: false,
      failureClass: "PERMISSION",
    });
  });

  it.each(["pi-e401", "pi-e500", "pi-drop"])("of pi, which always leaves with 0: %s", (name) => {
    expect(EXITS[name]?.exitCode).toBe(0);
    expect(settle(name, read(name).state).ok).toBe(false);
  });
});

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return "null";
  }
}
