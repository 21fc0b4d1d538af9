/** The mock runtime is a real child process: these tests start it as the coordinator does and read its stream. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MockStep } from "../../src/mock/script.ts";
import { arbiterSteps, mock } from "../../src/runtimes/mock.ts";
import { foldLines, programSelf, settleWith } from "../support/adapter-run.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "orc mock "));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

interface Played {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

async function play(
  steps: readonly (MockStep | object)[],
  o: { attempt?: number; prompt?: string; killAfterLine?: string } = {},
): Promise<Played> {
  const script = join(cwd, "..", `${cwd.split("/").at(-1)}.json`);
  writeFileSync(script, JSON.stringify({ jobId: "job", attempt: o.attempt ?? 1, model: "mock-a", steps }));
  const [command, ...args] = programSelf as [string, ...string[]];
  const child = spawn(command, [...args, "__mock", script], { cwd, stdio: ["pipe", "pipe", "pipe"] });
  const out: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdin.on("error", () => {});
  child.stdin.end(o.prompt ?? "the brief");
  child.stdout.on("data", (chunk: Buffer) => {
    out.push(chunk);
    if (o.killAfterLine !== undefined && Buffer.concat(out).includes(o.killAfterLine)) child.kill("SIGTERM");
  });
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  return new Promise((resolve) => {
    child.on("exit", (code, signal) => {
      const finish = () => {
        rmSync(script, { force: true });
        resolve({ code, signal, stdout: Buffer.concat(out), stderr: Buffer.concat(errors).toString() });
      };
      // A left-behind child holds the pipe: do not wait for its end.
      child.stdout.once("end", finish);
      setTimeout(finish, 300).unref();
    });
  });
}

const settlement = (played: Played) =>
  settleWith(mock, foldLines(mock, played.stdout.toString("utf8")).state, {
    exitCode: played.code,
    signal: played.signal,
    stdoutBytes: played.stdout.length,
    stderrTail: played.stderr,
  });

describe("the mock runtime", () => {
  it("plays steps in order and settles with its last message", async () => {
    const played = await play([
      { say: "looking" },
      { write: { path: "src/a.txt", content: "one" } },
      { append: { path: "src/a.txt", content: " two" } },
      { link: { path: "out", target: "/nowhere" } },
      { usage: { input_tokens: 7, output_tokens: 2 } },
      { say: "done" },
    ]);
    expect(played.code).toBe(0);
    expect(readFileSync(join(cwd, "src/a.txt"), "utf8")).toBe("one two");
    expect(readlinkSync(join(cwd, "out"))).toBe("/nowhere");
    const { state, events } = foldLines(mock, played.stdout.toString());
    expect(events.map((event) => event.kind)).toEqual([
      "lifecycle",
      "progress",
      "artifact",
      "artifact",
      "tool",
      "usage",
      "progress",
      "lifecycle",
      "usage",
    ]);
    expect(state).toMatchObject({
      settled: true,
      resultText: "done",
      model: "mock-a",
      sessionHandle: "mock-job-1",
      unknownLines: 0,
      usage: { inputTokens: 7, outputTokens: 2, actualMarginalCostUsd: 0, source: "mock" },
    });
    expect(settlement(played)).toMatchObject({ ok: true, resultText: "done", suspect: false });
  });

  it("is deterministic: the same script gives the same bytes", async () => {
    const steps = [{ say: "x" }, { usage: { input_tokens: 1 } }];
    expect((await play(steps)).stdout).toEqual((await play(steps)).stdout);
  });

  it("plays a step only in its own attempt", async () => {
    const steps = [
      { attempt: 1, fail: "NETWORK" },
      { attempt: 2, say: "second time" },
    ];
    expect(settlement(await play(steps, { attempt: 1 }))).toMatchObject({
      ok: false,
      failureClass: "NETWORK",
    });
    expect(settlement(await play(steps, { attempt: 2 }))).toMatchObject({
      ok: true,
      resultText: "second time",
    });
  });

  it.each([
    ["a named failure", { fail: "AUTH" }, "AUTH"],
    [
      "an error in a success envelope",
      { "wrong-success": "upstream refused: too many requests" },
      "RATE_LIMIT",
    ],
    ["silence and exit 0", { "no-output": true }, "BAD_OUTPUT"],
    ["a line cut in the middle", { cut: true }, "BAD_OUTPUT"],
    ["a status without a settling line", { exit: 3 }, "RUNTIME_CRASH"],
    ["a crash", { signal: "SIGSEGV" }, "RUNTIME_CRASH"],
    ["a refused permission", { permission: "external_directory" }, "PERMISSION"],
    ["a path outside its folder", { write: { path: "../escape.txt", content: "x" } }, "RUNTIME_CRASH"],
  ] as const)("%s settles as its class", async (_, step, cls) => {
    expect(settlement(await play([step]))).toMatchObject({ ok: false, failureClass: cls });
    expect(readdirSync(join(cwd, "..")).includes("escape.txt")).toBe(false);
  });

  it("says when a limit opens again, and the time is read back", async () => {
    const settled = settlement(
      await play([{ fail: { class: "QUOTA", message: "spent", reset_after: "90s" } }]),
    );
    expect(settled).toMatchObject({ failureClass: "QUOTA", detail: "spent (try again in 90s)" });
    expect(settled.resetAt).toBe(1_000_000 + 90_000);
  });

  it("keeps a result that a later exit contradicts, as suspect", async () => {
    const settled = settlement(await play([{ say: "the work" }, { settle: true }, { exit: 7 }]));
    expect(settled).toMatchObject({
      ok: true,
      suspect: true,
      resultText: "the work",
      detail: "gave its result, then exited with 7",
    });
  });

  it("survives bytes that are no text and characters cut by chunk edges", async () => {
    const played = await play([{ "bad-utf8": true }, { "split-utf8": "한😀é" }]);
    const { state } = foldLines(mock, played.stdout.toString("utf8"));
    expect(state).toMatchObject({ resultText: "한😀é", unknownLines: 1 });
  });

  it("floods without a newline and still settles", async () => {
    const played = await play([{ flood: 3_000_000 }, { say: "after" }]);
    expect(played.stdout.length).toBeGreaterThan(3_000_000);
    expect(settlement(played)).toMatchObject({ ok: true, resultText: "after" });
  });

  it("ignores SIGTERM from the step that says so", async () => {
    const played = await play(
      [{ "ignore-term": true }, { say: "ready" }, { sleep: "50ms" }, { say: "still here" }],
      {
        killAfterLine: "ready",
      },
    );
    expect(settlement(played)).toMatchObject({ ok: true, resultText: "still here" });
  });

  it("ends though the child it left holds its stdout open", async () => {
    const played = await play([{ "spawn-child": "2s" }, { say: "gone" }]);
    expect(settlement(played)).toMatchObject({ ok: true, resultText: "gone" });
  });

  it("can close or read its stdin, and a prompt it never reads does not disturb it", async () => {
    const prompt = "p".repeat(300_000);
    for (const step of [{ "close-stdin": true }, { "read-stdin": true }, { say: "unread" }])
      expect(settlement(await play([step], { prompt }))).toMatchObject({ ok: true });
  });
});

describe("the mock arbiter", () => {
  const digest = "a".repeat(64);
  const prompt = `Judge this.\n\n\`bundleSha256\`: ${digest}\n\n\`\`\`json\n${JSON.stringify({
    schemaVersion: 1,
    nonce: "nonce-1",
    attempts: [
      { jobId: "a", attempt: 1, treeSha256: "b".repeat(64), text: 'a "} quote' },
      { jobId: "b", attempt: 2, treeSha256: null },
    ],
  })}\n\`\`\`\n`;

  it("passes every attempt of the bundle unless its script says otherwise", async () => {
    const settled = settlement(await play([...arbiterSteps(null)], { prompt }));
    expect(JSON.parse(settled.resultText ?? "")).toMatchObject({
      schemaVersion: 1,
      bundleSha256: digest,
      nonce: "nonce-1",
      overall: "pass",
      jobs: [
        { jobId: "a", attempt: 1, treeSha256: "b".repeat(64), verdict: "pass" },
        { jobId: "b", attempt: 2, treeSha256: null, verdict: "pass" },
      ],
    });
  });

  it("gives the scripted verdicts", async () => {
    const steps = arbiterSteps({ b: { verdict: "fail", reasons: ["no test"] } });
    const verdict = JSON.parse(settlement(await play([...steps], { prompt })).resultText ?? "");
    expect(verdict.overall).toBe("fail");
    expect(verdict.jobs[1]).toMatchObject({ verdict: "fail", reasons: ["no test"] });
  });

  it("answers prose when there is nothing to judge", async () => {
    expect(settlement(await play([...arbiterSteps(null)], { prompt: "hello" })).resultText).toBe(
      "There is no evidence bundle in this prompt.",
    );
  });
});
