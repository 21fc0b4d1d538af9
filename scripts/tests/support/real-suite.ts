/** What every real CLI of the smaller suites goes through: a short set always, all of it in a soak. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import type { CliName } from "./clis.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { REAL_TIMEOUT, type RealCli, type RealRun, type RunOptions, realCli, WIRINGS } from "./real-run.ts";

export interface SuiteOptions {
  readonly name: CliName;
  readonly record: Partial<RuntimeRecord>;
  /** Tools that let it write a file, and run any command. */
  readonly write: readonly string[];
  readonly shell: readonly string[];
  /** A request that its bounds refuse: what was asked, and how the refusal shows. */
  readonly denied: RunOptions;
  readonly refusal: (run: RealRun) => void;
  /** Exit code of a run that an API error ended. */
  readonly errorExit: (status: number) => number;
  readonly resumes: boolean;
  /** What it does when the model says nothing: settle with an empty text, or ask the model once more. */
  readonly silence: "settles" | "asks-again";
}

const SOAK = process.env["ORCHESTRATE_SOAK"] === "1";
const FULL = 600_000;

export function realSuite(o: SuiteOptions): void {
  let server: ModelServer;
  let cli: RealCli;
  beforeAll(async () => {
    server = await startModelServer();
    cli = await realCli(o.name, WIRINGS[o.name](server));
  }, FULL);
  afterAll(async () => {
    cli?.close();
    await server?.close();
  });
  const run = (options: RunOptions): Promise<RealRun> => cli.run(options);

  it(`${o.name} is available, its controls as recorded`, () => {
    expect(cli.record).toMatchObject(o.record);
  });

  describe(`${o.name}, run for real`, { timeout: REAL_TIMEOUT }, () => {
    it("gives a plain answer", async () => {
      const done = await run({ prompt: "[[stub: say hello from the model]]" });
      expect(done.settlement).toMatchObject({ ok: true, resultText: "hello from the model", suspect: false });
      expect(done.state).toMatchObject({
        settled: true,
        unknownLines: 0,
        denied: [],
        usage: { inputTokens: 1_000, outputTokens: 20, cachedTokens: 100 },
      });
      expect(done.state.sessionHandle).not.toBeNull();
      expect(done.result.treeGone).toBe(true);
    });

    it("writes a file below its folder and names it", async () => {
      const done = await run({
        prompt: "[[stub: write out.txt hello]] [[stub: say finished]]",
        tools: o.write,
      });
      expect(done.settlement).toMatchObject({ ok: true, resultText: "finished" });
      expect(done.read("out.txt")).toBe("hello");
      expect(done.events.filter((event) => event.kind === "artifact")).toHaveLength(1);
    });

    it("stops at its bounds and says so", async () => {
      o.refusal(await run(o.denied));
    });

    it("classifies 401", async () => {
      const failed = await run({ prompt: "[[stub: status 401]]" });
      expect(failed.settlement).toMatchObject({ ok: false, failureClass: "AUTH", suspect: false });
      expect(failed.result.exitCode).toBe(o.errorExit(401));
    });

    it("is ended with its whole tree in the middle of a tool", async () => {
      const ended = await run({
        prompt: "[[stub: run sleep 47]]",
        tools: o.shell,
        endWhenRunning: /^sleep 47/,
      });
      expect(ended.result).toMatchObject({ endedBy: "cancel", treeGone: true });
      expect(ended.settlement).toMatchObject({ ok: false, failureClass: null, detail: "cancelled" });
    });

    it("takes a prompt of 200 KB whole", async () => {
      const prompt = `${"lorem ipsum ".repeat(17_067)} [[stub: say long enough]]`;
      const before = server.calls.length;
      const done = await run({ prompt });
      expect(done.settlement).toMatchObject({ ok: true, resultText: "long enough" });
      const got = server.calls.slice(before).map((call) => call.promptBytes);
      expect(Math.max(...got)).toBeGreaterThanOrEqual(Buffer.byteLength(prompt));
    });
  });

  if (!SOAK) return;
  describe(`${o.name}, run for real, the rest`, { timeout: FULL }, () => {
    it.each([
      ["429", "[[stub: status 429]]", "RATE_LIMIT"],
      ["500", "[[stub: status 500]]", "NETWORK"],
      ["a model that does not exist", "[[stub: model-not-found]]", "MODEL_UNAVAILABLE"],
      ["a cut stream", "[[stub: drop]]", "NETWORK"],
      ["bytes that are no answer", "[[stub: garbage]]", "NETWORK"],
    ])("classifies %s", async (_, prompt, failureClass) => {
      const failed = await run({ prompt, timeoutMs: 300_000 });
      expect(failed.settlement).toMatchObject({ ok: false, failureClass });
    });

    it("is STALLED when the model goes silent past the deadline", async () => {
      const late = await run({ prompt: "[[stub: stall 120]] [[stub: say late]]", timeoutMs: 30_000 });
      expect(late.result).toMatchObject({ endedBy: "timeout", treeGone: true });
      expect(late.settlement.failureClass).toMatch(/^(?:STALLED|NETWORK)$/);
    });

    it.each([
      ["a leading dash", "--help me [[stub: say dashes are text]]", "dashes are text"],
      ["text of all scripts", "한국어 😀 é العربية [[stub: say 한😀é]]", "한😀é"],
    ])("takes a prompt with %s whole", async (_, prompt, answer) => {
      const before = server.calls.length;
      const done = await run({ prompt });
      expect(done.settlement).toMatchObject({ ok: true, resultText: answer });
      const got = server.calls.slice(before).map((call) => call.promptBytes);
      expect(Math.max(...got)).toBeGreaterThanOrEqual(Buffer.byteLength(prompt));
    });

    it("takes an answer without text for no text, or asks for one", async () => {
      const before = server.calls.length;
      const done = await run({ prompt: "[[stub: silence]]", timeoutMs: 300_000 });
      if (o.silence === "settles") expect(done.settlement.resultText ?? "").toBe("");
      else expect(server.calls.length - before).toBeGreaterThan(1);
    });

    if (!o.resumes) return;
    it("continues and forks a session in the folder it was made in", {
      timeout: 3 * REAL_TIMEOUT,
    }, async () => {
      const first = await run({ prompt: "[[stub: say one]]", keepSession: true, timeoutMs: REAL_TIMEOUT });
      const handle = first.state.sessionHandle as string;
      const again = await run({
        prompt: "[[stub: say two]]",
        cwd: first.cwd,
        resume: { handle, mode: "continue" },
        timeoutMs: REAL_TIMEOUT,
      });
      expect(again.settlement).toMatchObject({ ok: true, resultText: "two" });
      expect(again.state.sessionHandle).toBe(handle);
      const fork = await run({
        prompt: "[[stub: say three]]",
        cwd: first.cwd,
        resume: { handle, mode: "fork" },
        timeoutMs: REAL_TIMEOUT,
      });
      expect(fork.settlement).toMatchObject({ ok: true, resultText: "three" });
      expect(fork.state.sessionHandle).not.toBe(handle);
    });
  });
}
