/** The real claude CLI, through our own start plan, supervision and settlement, against the loopback model. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { REAL_TIMEOUT, type RealCli, realCli, WIRINGS } from "../support/real-run.ts";

let server: ModelServer;
let cli: RealCli;
beforeAll(async () => {
  server = await startModelServer();
  cli = await realCli("claude", WIRINGS.claude(server));
}, 600_000);
afterAll(async () => {
  cli?.close();
  await server?.close();
});

describe("claude, probed", () => {
  it("is available with every control verified, behind a gateway", () => {
    expect(cli.record).toMatchObject({
      state: "available",
      reason: null,
      version: "2.1.197",
      authenticated: true,
      authSource: "key",
      gateway: true,
      family: null,
      capability: "C2",
      vendorBound: true,
      approval: { value: "scoped", evidence: "verified" },
      toolGating: { value: "granular", evidence: "verified" },
      writeBoundary: { value: "enforced", evidence: "verified" },
      bypassAbsent: { value: true, evidence: "verified" },
      capture: { value: "structured", evidence: "verified" },
      effortLevels: ["low", "medium", "high", "xhigh", "max"],
    });
  });
});

describe("claude, run for real", { timeout: REAL_TIMEOUT }, () => {
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

  it("writes a file below its folder and names it", async () => {
    const run = await cli.run({
      prompt: "[[stub: write sub/out.txt hello]] [[stub: say finished]]",
      tools: ["read", "search", "edit", "write"],
    });
    expect(run.settlement).toMatchObject({ ok: true, resultText: "finished" });
    expect(run.read("sub/out.txt")).toBe("hello");
    expect(run.events.filter((event) => event.kind === "artifact")).toHaveLength(1);
  });

  it("does not offer what was not granted", async () => {
    const before = server.calls.length;
    const run = await cli.run({ prompt: "[[stub: run touch ran.txt]]" });
    expect(run.settlement.ok).toBe(true);
    expect(run.read("ran.txt")).toBeNull();
    const offered = new Set(server.calls.slice(before).flatMap((call) => call.tools));
    expect([...offered].sort()).toEqual(["Glob", "Grep", "Read"]);
  });

  it("refuses a shell command beyond the granted prefix and says so", async () => {
    const tools = ["read", "search", 'shell(node -e "f(1), x")', "shell(echo granted)"];
    const run = await cli.run({
      prompt: '[[stub: run echo granted]] [[stub: run node -e "f(1), x"]] [[stub: run touch ran.txt]]',
      tools,
    });
    expect(run.read("ran.txt")).toBeNull();
    expect(run.state.denied).toEqual([{ boundary: "tool:Bash", requested: "touch ran.txt" }]);
    expect(run.events.filter((event) => event.kind === "permission")).toEqual([
      {
        kind: "permission",
        payload: { boundary: "tool:Bash", requestedScope: "touch ran.txt", granted: false },
      },
    ]);
    // The agent went on and answered: whether the work is there is for layer 1 to see.
    expect(run.settlement.ok).toBe(true);
  });

  it("does not write outside its folder", async () => {
    const run = await cli.run({
      prompt: `[[stub: write ${cli.home}/outside.txt x]]`,
      tools: ["read", "write"],
    });
    expect(run.state.denied.map((denial) => denial.boundary)).toEqual(["tool:Write"]);
  });

  it.each([
    ["401", "[[stub: status 401]]", "AUTH"],
    ["429", "[[stub: status 429]]", "RATE_LIMIT"],
    ["500", "[[stub: status 500]]", "NETWORK"],
    ["a model that does not exist", "[[stub: model-not-found]]", "MODEL_UNAVAILABLE"],
    ["a cut stream", "[[stub: drop]]", "NETWORK"],
    ["bytes that are no answer", "[[stub: garbage]]", "NETWORK"],
    [
      "a prompt over the limit",
      "[[stub: error 400 prompt is too long: 250000 tokens > 200000 maximum]]",
      "CONTEXT_OVERFLOW",
    ],
    [
      "an account without money",
      "[[stub: error 400 Your credit balance is too low to access the API]]",
      "QUOTA",
    ],
  ])("classifies %s", async (_, prompt, failureClass) => {
    const run = await cli.run({ prompt });
    expect(run.settlement).toMatchObject({ ok: false, failureClass, suspect: false });
    expect(run.result.exitCode).toBe(1);
  });

  it("asks the model once more when that says nothing, and answers with what comes then", async () => {
    const before = server.calls.length;
    const run = await cli.run({ prompt: "[[stub: silence]]" });
    expect(server.calls.length - before).toBe(2);
    expect(run.settlement).toMatchObject({
      ok: true,
      resultText: expect.stringContaining("no visible output"),
    });
  });

  it("reads when a spent allowance opens again", async () => {
    const run = await cli.run({
      prompt: "[[stub: error 429 You've hit your session limit · resets 4pm (Europe/Paris)]]",
    });
    expect(run.settlement.failureClass).toBe("QUOTA");
    expect(new Date(run.settlement.resetAt as number).getUTCMinutes()).toBe(0);
  });

  it("is ended with its whole tree in the middle of a tool", async () => {
    const run = await cli.run({
      prompt: "[[stub: run sleep 47]]",
      tools: ["shell"],
      onEvent: (event, supervised) => {
        if (event.kind === "tool" && event.phase === "start") supervised.cancel("graceful");
      },
    });
    expect(run.result).toMatchObject({ endedBy: "cancel", treeGone: true });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: null, detail: "cancelled" });
  });

  it("is STALLED when the model goes silent past the deadline", async () => {
    const run = await cli.run({ prompt: "[[stub: stall 60]] [[stub: say late]]", timeoutMs: 8_000 });
    expect(run.result).toMatchObject({ endedBy: "timeout", treeGone: true });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: "STALLED" });
  });

  it.each([
    ["200 KB of text", `${"lorem ipsum ".repeat(17_067)} [[stub: say long enough]]`, "long enough"],
    ["a leading dash", "--help me [[stub: say dashes are text]]", "dashes are text"],
    ["text of all scripts", "한국어 😀 \u0000é العربية [[stub: say 한😀é]]".replace("\u0000", ""), "한😀é"],
  ])("takes a prompt with %s whole", async (_, prompt, answer) => {
    const run = await cli.run({ prompt });
    expect(run.settlement).toMatchObject({ ok: true, resultText: answer });
    expect(server.calls.at(-1)?.promptBytes).toBe(Buffer.byteLength(prompt.trim()));
  });

  it("continues and forks a session in the folder it was made in", async () => {
    const first = await cli.run({ prompt: "[[stub: say one]]", keepSession: true });
    const handle = first.state.sessionHandle as string;
    const again = await cli.run({
      prompt: "[[stub: say two]]",
      cwd: first.cwd,
      resume: { handle, mode: "continue" },
    });
    expect(again.settlement).toMatchObject({ ok: true, resultText: "two" });
    expect(again.state.sessionHandle).toBe(handle);
    const fork = await cli.run({
      prompt: "[[stub: say three]]",
      cwd: first.cwd,
      resume: { handle, mode: "fork" },
    });
    expect(fork.settlement).toMatchObject({ ok: true, resultText: "three" });
    expect(fork.state.sessionHandle).not.toBe(handle);
  });

  it("fails when the session is not there", async () => {
    const handle = "00000000-0000-4000-8000-000000000000";
    const run = await cli.run({ prompt: "[[stub: say x]]", resume: { handle, mode: "continue" } });
    expect(run.settlement).toMatchObject({ ok: false, failureClass: "UNKNOWN" });
  });
});
