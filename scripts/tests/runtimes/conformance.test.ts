/**
 * Seven checks that every shipped runtime has to pass; the names that are missing from one are in the failure. The parts
 * that need the program itself are in the real suites.
 */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bypassFlag } from "../../src/core/bypass-flags.ts";
import { validate } from "../../src/core/generated/runtimes.validate.js";
import { EFFORTS, RISK_TIERS } from "../../src/core/tiers.ts";
import { checkControls } from "../../src/plan/controls.ts";
import type { Adapter } from "../../src/runtimes/adapter.ts";
import { readHelp } from "../../src/runtimes/help-flags.ts";
import { RESULT_TEXT_MAX } from "../../src/runtimes/observed.ts";
import { SHIPPED } from "../../src/runtimes/registry.ts";
import { EXPECTED } from "../fixtures/streams/expected.ts";
import { exitFacts, foldLines } from "../support/adapter-run.ts";
import { ANSWERS, answer, inputOf, recordOf } from "../support/probe-answers.ts";
import { PROPERTY } from "../support/property.ts";
import { startInput } from "../support/start-input.ts";

const CLIS = SHIPPED.filter((adapter) => adapter.executable !== null);
const root = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const NOTES = "plugins/orchestrate/skills/orchestrate/runtimes";

const CONTROLS = ["approval", "toolGating", "writeBoundary", "capture"] as const;

it("ships the runtimes that it says it ships", () => {
  expect(SHIPPED.map((adapter) => adapter.id)).toEqual([
    "claude",
    "codex",
    "gemini",
    "opencode",
    "pi",
    "internal",
    "mock",
  ]);
  expect(Object.keys(ANSWERS)).toEqual(CLIS.map((adapter) => adapter.id));
});

describe.each(CLIS.map((adapter) => [adapter.id, adapter] as const))("%s", (id, adapter) => {
  it("1: is discovered and probed by questions that change nothing", () => {
    const { version, help, auth, models, sandbox } = adapter.probe;
    const asked = [version, ...help, auth, models, sandbox ?? null].filter((args) => args !== null);
    expect(version.length).toBeGreaterThan(0);
    expect(help.length).toBeGreaterThan(0);
    for (const args of asked) {
      expect(args.join(" ")).not.toMatch(/\b(?:install|update|upgrade|logout|setup-token|token)\b|\blogin$/);
      expect(args).not.toContain("-p");
      if (args[0] === "exec") expect(args.at(-1)).toBe("--help");
      expect(bypassFlag([adapter.executable as string, ...args], adapter.bypassFlags)).toBeNull();
    }
    expect(adapter.probe.footprint).toBeDefined();
  });

  it("2: gives a record of the schema, and calls nothing verified that was not shown", () => {
    const record = recordOf(id);
    expect(validate({ schemaVersion: 1, probedAt: "x", hostOS: "linux", records: [record] })).toBe(true);
    expect(record).toMatchObject({ state: "available", reason: null, headless: true });
    expect(record.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(record.evidence.length).toBeGreaterThan(0);
    const silent = answer("", { exitCode: 0 });
    const bare = recordOf(id, {
      answers: {
        version: answer("9.9.9"),
        help: adapter.probe.help.map(() => silent),
        auth: null,
        models: null,
      },
      settings: {},
      envNames: new Set(),
    });
    expect(bare.state).toBe("unavailable");
    expect(Object.values(bare.flags)).not.toContain(true);
    for (const control of CONTROLS) {
      const { value, evidence } = bare[control];
      // What is the weakest value of all may be known without asking.
      if (evidence === "verified") expect(["auto", "none"]).toContain(value);
    }
  });

  it("2: is unavailable when a question goes unanswered", () => {
    const late = answer("", { exitCode: null, timedOut: true });
    const input = inputOf(id);
    expect(adapter.profile({ ...input, answers: { ...input.answers, version: late } })).toMatchObject({
      state: "unavailable",
      reason: "probe-timeout",
      version: null,
    });
  });

  it("3: starts in the pinned folder with the assigned controls, by flags of the live help only", () => {
    const help = readHelp(inputOf(id).answers.help.flatMap((text) => [text.stdout, text.stderr]));
    for (const allowed of [
      ["read", "search"],
      ["read", "search", "edit", "write"],
    ]) {
      const planned = adapter.start(
        startInput(id, { job: { tools: { allowed, disallowed: [], origin: "spec" } } }),
      );
      if (!planned.ok) throw new Error(planned.error.detail);
      const { argv, stdin } = planned.value;
      expect(stdin).toBe("# Task\n\nDo it.\n");
      expect(argv.join(" ")).not.toContain("Do it.");
      const flags = argv
        .slice(1)
        .filter((word) => /^--?[a-z]/i.test(word))
        .map((word) => word.split("=", 1)[0] as string);
      expect(flags.filter((flag) => !help.has(flag))).toEqual([]);
      const named = recordOf(id).cwdControl;
      if (named === "process-owned") expect(argv.join(" ")).not.toContain("/code space/repo");
      else expect(argv.some((word) => word.endsWith("/code space/repo"))).toBe(true);
    }
  });

  it("3: starts a reader and a writer differently", () => {
    const plan = (allowed: string[]) => {
      const planned = adapter.start(
        startInput(id, { job: { tools: { allowed, disallowed: [], origin: "spec" } } }),
      );
      return planned.ok
        ? JSON.stringify([planned.value.argv, planned.value.env, planned.value.files])
        : planned.error.code;
    };
    expect(plan(["read"])).not.toBe(plan(["read", "write"]));
  });

  it("3: refuses what the live help does not show", () => {
    const record = { ...recordOf(id), flags: {} };
    const planned = adapter.start(startInput(id, { record }));
    expect(planned.ok ? null : planned.error.code).toBe("flag-missing");
  });

  it("3: never passes a bypass, whatever the job asks for", () => {
    const word = fc.oneof(
      fc.constantFrom(
        "read",
        "search",
        "edit",
        "write",
        "shell",
        "web",
        "agent",
        "mcp(x)",
        "Bash",
        "bypassPermissions",
      ),
      fc.constantFrom("shell(npm test)", "shell(a, b (c))", "shell(--yolo)", "shell(rm -rf *)"),
      fc.string({ maxLength: 20 }).map((text) => `shell(${text})`),
      fc.string({ maxLength: 12 }),
    );
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 5 }),
        fc.array(word, { maxLength: 3 }),
        fc.constantFrom("spec" as const, "tier" as const),
        fc.option(fc.constantFrom(...EFFORTS), { nil: null }),
        fc.option(fc.constantFrom("some/model", "--yolo", "x y"), { nil: null }),
        (allowed, disallowed, origin, effort, model) => {
          const base = startInput(id, { job: { tools: { allowed, disallowed, origin } } });
          const planned = adapter.start({ ...base, candidate: { ...base.candidate, effort, model } });
          if (!planned.ok) return;
          expect(bypassFlag(planned.value.argv, adapter.bypassFlags)).toBeNull();
          expect(planned.value.argv.join("\n")).not.toContain("Do it.");
          expect(effort === null || recordOf(id).effortLevels.includes(effort)).toBe(true);
          if (origin === "spec") expect(adapter.unmappedTool(allowed, "R0", disallowed)).toBeNull();
        },
      ),
      PROPERTY,
    );
  });

  it("3: goes on with a session exactly where it says it can, and keeps none that nobody asked for", () => {
    expect(adapter.sessionScope !== undefined).toBe(adapter.resume === "verified");
    for (const mode of ["continue", "fork"] as const) {
      const started = adapter.start(
        startInput(id, {
          resumeSession: { handle: "session-handle", mode },
          sessionDir: "/run/sessions",
        }),
      );
      const proven = mode === "fork" ? adapter.fork : adapter.resume;
      expect(started.ok).toBe(proven === "verified");
      if (started.ok) expect(started.value.argv.join(" ")).toContain("session-handle");
    }
  });

  it("4: finds the settlement in a recorded run, and none in any part of it", () => {
    const text = readFileSync(root(`scripts/tests/fixtures/streams/${id}-plain.jsonl`), "utf8");
    const lines = text.trimEnd().split("\n");
    expect(EXPECTED[`${id}-plain`]?.outcome).toBe("done");
    for (let cut = 0; cut < lines.length; cut += 1) {
      const { state } = foldLines(adapter, lines.slice(0, cut).join("\n"));
      expect(adapter.settle(state, exitFacts()).ok).toBe(false);
    }
    expect(adapter.settle(foldLines(adapter, text).state, exitFacts()).ok).toBe(true);
  });

  it("4: invents nothing out of lines that say nothing", () => {
    const { state, events } = foldLines(
      adapter,
      'hello\n{"broken": \n{}\n[1]\n{"type": "nobody-knows-this"}\n42\n',
    );
    expect(events.every((event) => event.kind === "unknown")).toBe(true);
    expect(state).toMatchObject({ settled: false, resultText: null, model: null, usage: null, denied: [] });
    expect(state.unknownLines).toBe(6);
  });

  it("5: bounds what it keeps and reports the real exit", () => {
    const long = "x".repeat(RESULT_TEXT_MAX + 10);
    const lines = readFileSync(root(`scripts/tests/fixtures/streams/${id}-plain.jsonl`), "utf8");
    const { state } = foldLines(adapter, lines.replaceAll("hello from stub", long));
    expect(state.resultText?.length).toBeLessThanOrEqual(RESULT_TEXT_MAX);
    const crashed = adapter.settle(adapter.initial(), exitFacts({ exitCode: 3, stderrTail: "why\n" }));
    expect(crashed).toMatchObject({ ok: false, failureClass: "RUNTIME_CRASH", detail: "exited with 3: why" });
    const killed = adapter.settle(adapter.initial(), exitFacts({ exitCode: null, signal: "SIGKILL" }));
    expect(killed).toMatchObject({
      ok: false,
      failureClass: "RUNTIME_CRASH",
      detail: "ended by signal SIGKILL",
    });
    const absent = adapter.settle(
      adapter.initial(),
      exitFacts({ exitCode: null, endedBy: "spawn-failed", spawnError: "ENOENT" }),
    );
    expect(absent).toMatchObject({
      ok: false,
      failureClass: "RUNTIME_CRASH",
      detail: "could not be started (ENOENT)",
    });
  });

  it("6: has every control that a tier needs, verified", () => {
    const record = recordOf(id);
    for (const riskTier of RISK_TIERS.slice(0, 3)) {
      const job = { riskTier, writer: riskTier !== "R0", worktree: riskTier === "R2", tools: ["read"] };
      const unmet = checkControls(record, job).filter((check) => !check.met || check.evidence !== "verified");
      // Without a permission system nothing but a worktree bounds its writing.
      const allowed = id === "pi" && riskTier === "R1" ? ["writeBoundary"] : [];
      expect([riskTier, unmet.map((check) => check.concern)]).toEqual([riskTier, allowed]);
    }
  });

  it("7: has a note, and the index names it", () => {
    expect(existsSync(root(`${NOTES}/${id}.md`))).toBe(true);
    expect(readFileSync(root(`${NOTES}/README.md`), "utf8")).toContain(`(${id}.md)`);
  });
});

describe.each(SHIPPED.map((adapter) => [adapter.id, adapter] as const))(
  "%s, the interface",
  (id, adapter: Adapter) => {
    it("is whole", () => {
      expect(adapter.id).toBe(id);
      expect(Object.isFrozen(adapter.initial()) || adapter.initial().events === 0).toBe(true);
      expect(adapter.unmappedTool(["read"], "R0")).toBeNull();
      expect(
        adapter.settle(adapter.initial(), exitFacts({ endedBy: "cancel", exitCode: null })),
      ).toMatchObject({ ok: false });
    });
  },
);
