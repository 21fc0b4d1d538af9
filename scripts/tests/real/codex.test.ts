/** The real codex CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { REAL_TIMEOUT, type RealCli, type RealRun, realCli, WIRINGS } from "../support/real-run.ts";

let server: ModelServer;
let cli: RealCli;
beforeAll(async () => {
  server = await startModelServer();
  cli = await realCli("codex", WIRINGS.codex(server));
}, 600_000);
afterAll(async () => {
  cli?.close();
  await server?.close();
});

const WRITE = ["read", "search", "edit", "write", "shell"];

/**
 * The sandbox refused `count` writes: the model was told so each time, and every command that the stream shows is recorded
 * as denied. A command that fails at once is now and then missing from codex's own stream, so that is not counted on.
 */
function refusedWrites(run: RealRun, count = 1): void {
  const told = server.calls.at(-1)?.results ?? [];
  expect(told.filter((text) => /read-only file system/i.test(text))).toHaveLength(count);
  const shown = run.events.filter((event) => event.kind === "tool" && event.phase === "end");
  expect(run.state.denied).toHaveLength(shown.length);
  expect(run.events.filter((event) => event.kind === "permission")).toHaveLength(shown.length);
  for (const denial of run.state.denied)
    expect(denial).toEqual({ boundary: "sandbox", requested: expect.stringContaining("touch ") });
}

describe("codex, probed", () => {
  it("is available with its sandbox proved on this host, behind a provider of the user's own", () => {
    expect(cli.record).toMatchObject({
      state: "available",
      reason: null,
      version: "0.171.0",
      authenticated: "unverified",
      gateway: true,
      provider: "stub",
      family: null,
      models: null,
      capability: "C2",
      cwdControl: "enforced",
      approval: { value: "scoped", evidence: "verified" },
      toolGating: { value: "coarse", evidence: "verified" },
      writeBoundary: { value: "enforced", evidence: "verified" },
      isolation: { value: "os-sandbox", evidence: "verified" },
      bypassAbsent: { value: true, evidence: "verified" },
      capture: { value: "structured", evidence: "verified" },
      effortLevels: ["low", "medium", "high", "xhigh"],
    });
    expect(cli.record.evidence).toContainEqual({
      source: "sandbox",
      finding: "refused a write below a read-only root",
      sha256: null,
    });
  });

  it("is started without its launcher, so that signals reach it", () => {
    expect(cli.record.binary).toMatch(/\.bin\/codex$/);
    expect(cli.record.binaryReal).toMatch(/\/vendor\/[^/]+\/bin\/codex$/);
  });
});

describe("codex, run for real", { timeout: REAL_TIMEOUT }, () => {
  it("gives a plain answer", async () => {
    const run = await cli.run({ prompt: "[[stub: say hello from the model]]" });
    expect(run.settlement).toMatchObject({ ok: true, resultText: "hello from the model", suspect: false });
    expect(run.state).toMatchObject({
      settled: true,
      unknownLines: 0,
      denied: [],
      usage: { inputTokens: 1_000, outputTokens: 20, cachedTokens: 100 },
    });
    expect(run.state.sessionHandle).toMatch(/^[0-9a-f-]{36}$/);
    expect(run.result.treeGone).toBe(true);
  });

  it("writes a file below its folder", async () => {
    const run = await cli.run({
      prompt: "[[stub: write out.txt hello]] [[stub: say finished]]",
      tools: WRITE,
    });
    expect(run.settlement).toMatchObject({ ok: true, resultText: "finished" });
    expect(run.read("out.txt")).toBe("hello");
    expect(run.toolGating).toBe("coarse");
  });

  it("cannot write when it may only read, and says so", async () => {
    const run = await cli.run({ prompt: "[[stub: run touch ran.txt]]" });
    expect(run.read("ran.txt")).toBeNull();
    refusedWrites(run);
    expect(run.settlement.ok).toBe(true);
  });

  it("cannot write outside its folder, nor in the temporary folder", async () => {
    const outside = join(cli.home, "outside.txt");
    const shared = "/tmp/orchestrate-must-not-appear.txt";
    const run = await cli.run({
      prompt: `[[stub: run touch ${outside}]] [[stub: run touch ${shared}]]`,
      tools: WRITE,
    });
    refusedWrites(run, 2);
    expect([existsSync(outside), existsSync(shared)]).toEqual([false, false]);
  });

  it.each([
    ["401", "[[stub: status 401]]", "AUTH"],
    ["429", "[[stub: status 429]]", "RATE_LIMIT"],
    ["500", "[[stub: status 500]]", "NETWORK"],
    ["a model that does not exist", "[[stub: model-not-found]]", "MODEL_UNAVAILABLE"],
    ["a cut stream", "[[stub: drop]]", "NETWORK"],
    ["bytes that are no answer", "[[stub: garbage]]", "NETWORK"],
  ])("classifies %s", async (_, prompt, failureClass) => {
    const run = await cli.run({ prompt });
    expect(run.settlement).toMatchObject({ ok: false, failureClass, suspect: false });
    expect(run.result.exitCode).toBe(1);
  });

  it("settles with an empty text when the model says nothing", async () => {
    const run = await cli.run({ prompt: "[[stub: silence]]" });
    expect(run.settlement).toMatchObject({ ok: true, resultText: "" });
  });

  it("is ended with its whole tree in the middle of a tool", async () => {
    const run = await cli.run({
      prompt: "[[stub: run sleep 47]]",
      tools: WRITE,
      onEvent: (event, supervised) => {
        if (event.kind === "tool" && event.phase === "start") supervised.cancel("graceful");
      },
    });
    expect(run.result).toMatchObject({ endedBy: "cancel", treeGone: true });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: null, detail: "cancelled" });
  });

  it("is STALLED when the model goes silent past the deadline", async () => {
    const run = await cli.run({ prompt: "[[stub: stall 60]] [[stub: say late]]", timeoutMs: 6_000 });
    expect(run.result).toMatchObject({ endedBy: "timeout", treeGone: true });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: "STALLED" });
  });

  it.each([
    ["200 KB of text", `${"lorem ipsum ".repeat(17_067)} [[stub: say long enough]]`, "long enough"],
    ["a leading dash", "--help me [[stub: say dashes are text]]", "dashes are text"],
    ["text of all scripts", "한국어 😀 é العربية [[stub: say 한😀é]]", "한😀é"],
  ])("takes a prompt with %s whole", async (_, prompt, answer) => {
    const run = await cli.run({ prompt });
    expect(run.settlement).toMatchObject({ ok: true, resultText: answer });
    expect(server.calls.at(-1)?.promptBytes).toBe(Buffer.byteLength(prompt.trim()));
  });

  it("continues and forks a session, in another folder too", async () => {
    const first = await cli.run({ prompt: "[[stub: say one]]", keepSession: true });
    const handle = first.state.sessionHandle as string;
    const again = await cli.run({ prompt: "[[stub: say two]]", resume: { handle, mode: "continue" } });
    expect(again.settlement).toMatchObject({ ok: true, resultText: "two" });
    expect(again.state.sessionHandle).toBe(handle);
    const fork = await cli.run({ prompt: "[[stub: say three]]", resume: { handle, mode: "fork" } });
    expect(fork.settlement).toMatchObject({ ok: true, resultText: "three" });
    expect(fork.state.sessionHandle).not.toBe(handle);
  });

  it("stays read-only in a continued session", async () => {
    const first = await cli.run({ prompt: "[[stub: say one]]", tools: WRITE, keepSession: true });
    const handle = first.state.sessionHandle as string;
    const again = await cli.run({
      prompt: "[[stub: run touch ran.txt]]",
      resume: { handle, mode: "continue" },
    });
    expect(again.read("ran.txt")).toBeNull();
    refusedWrites(again);
  });

  it("fails when the session is not there", async () => {
    const handle = "00000000-0000-4000-8000-000000000000";
    const run = await cli.run({ prompt: "[[stub: say x]]", resume: { handle, mode: "continue" } });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: "UNKNOWN" });
  });
});
