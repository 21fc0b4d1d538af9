/** The mock runtime itself: a real child process that plays a script, writes a JSONL stream and costs nothing. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { playFile } from "./files.ts";
import { type MockScript, type MockStep, milliseconds } from "./script.ts";
import { BAD_UTF8, emit, emitByteWise, flood, send } from "./stream.ts";
import { answerVerdict } from "./verdict.ts";

interface Player {
  readonly script: MockScript;
  model: string;
  finalText: string;
  settled: boolean;
  /** What the process ends with; null while it plays. */
  exit: number | null;
}

/** Plays the script in the file `scriptPath` (the prompt comes on stdin) and answers the exit code. */
export async function playScript(scriptPath: string): Promise<number> {
  // Every write awaits its own outcome; the streams' error events would only end us without a word.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  try {
    return await playAll(JSON.parse(readFileSync(scriptPath, "utf8")) as MockScript);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    await send(process.stderr, `mock script: ${why}\n`).catch(() => {});
    return 1;
  }
}

async function playAll(script: MockScript): Promise<number> {
  const player: Player = {
    script,
    model: script.model,
    finalText: "The mock runtime played its script.",
    settled: false,
    exit: null,
  };
  await emit({
    type: "mock.start",
    job: script.jobId,
    attempt: script.attempt,
    model: script.model,
    // Unique within a run and the same each time it is played.
    session:
      script.session?.mode === "continue" ? script.session.handle : `mock-${script.jobId}-${script.attempt}`,
    from: script.session?.handle ?? null,
  });
  for (const step of script.steps) {
    if (step.attempt === undefined || step.attempt === script.attempt) await play(player, step);
    if (player.exit !== null) return player.exit;
  }
  await settle(player);
  return 0;
}

const PLAYERS: readonly ((player: Player, step: MockStep) => Promise<boolean>)[] = [
  playTalk,
  (_, step) => playFile(step),
  playReport,
  playNoise,
  playEnd,
  playProcess,
];

async function play(player: Player, step: MockStep): Promise<void> {
  for (const attempt of PLAYERS) if (await attempt(player, step)) return;
  throw new Error(`unknown step: ${JSON.stringify(step)}`);
}

async function playTalk(player: Player, step: MockStep): Promise<boolean> {
  const text = step.say ?? step["split-utf8"];
  if (text === undefined) return false;
  player.finalText = text;
  if (step.say === undefined) await emitByteWise({ type: "mock.say", text });
  else await emit({ type: "mock.say", text });
  return true;
}

async function playReport(player: Player, step: MockStep): Promise<boolean> {
  if (step.tool !== undefined)
    await emit({
      type: "mock.tool",
      tool: step.tool.name,
      ok: step.tool.ok ?? true,
      summary: step.tool.summary ?? "",
    });
  else if (step.usage !== undefined) await emit({ type: "mock.usage", ...step.usage });
  else if (step.session !== undefined) await emit({ type: "mock.session", session: step.session });
  else if (step.model !== undefined) {
    player.model = step.model;
    await emit({ type: "mock.model", model: step.model });
  } else return false;
  return true;
}

async function playNoise(_: Player, step: MockStep): Promise<boolean> {
  if (step.stderr !== undefined) await send(process.stderr, `${step.stderr}\n`);
  else if (step.raw !== undefined) await send(process.stdout, `${step.raw}\n`);
  else if (step.flood !== undefined) await flood(step.flood);
  else if (step["bad-utf8"] === true) await send(process.stdout, BAD_UTF8);
  else return false;
  return true;
}

async function playEnd(player: Player, step: MockStep): Promise<boolean> {
  if (step.settle === true) {
    await settle(player);
    return true;
  }
  if (step.exit !== undefined) {
    if (step.exit === 0) await settle(player);
    player.exit = step.exit;
  } else if (step.fail !== undefined) await fail(player, step.fail);
  else if (step.ask !== undefined) await finish(player, step.ask);
  else if (step.verdict !== undefined) await finish(player, `Verdict: ${step.verdict}`);
  else if (step.arbiter !== undefined) await finish(player, answerVerdict(await readPrompt(), step.arbiter));
  else if (step.permission !== undefined) {
    await emit({ type: "mock.permission", boundary: step.permission, requested: step.permission });
    await finish(player, "");
  } else if (step["wrong-success"] !== undefined) {
    player.exit = 0;
    await emit({
      type: "mock.result",
      ok: true,
      is_error: true,
      model: player.model,
      message: step["wrong-success"],
    });
  } else if (step["no-output"] === true) player.exit = 0;
  else if (step.cut === true) {
    player.exit = 0;
    await send(process.stdout, '{"type":"mock.result","ok":tr');
  } else return false;
  return true;
}

async function settle(player: Player): Promise<void> {
  if (player.settled) return;
  player.settled = true;
  await emit({ type: "mock.result", ok: true, model: player.model, text: player.finalText });
}

async function finish(player: Player, text: string): Promise<void> {
  player.finalText = text;
  player.exit = 0;
  await settle(player);
}

async function fail(player: Player, step: NonNullable<MockStep["fail"]>): Promise<void> {
  const fault = typeof step === "string" ? { class: step } : step;
  const reset =
    fault.reset_after === undefined ? "" : ` (try again in ${milliseconds(fault.reset_after) / 1_000}s)`;
  player.exit = 1;
  await emit({
    type: "mock.result",
    ok: false,
    model: player.model,
    class: fault.class,
    message: `${fault.message ?? `scripted failure: ${fault.class}`}${reset}`,
  });
}

async function playProcess(_: Player, step: MockStep): Promise<boolean> {
  if (step.sleep !== undefined)
    await new Promise((done) => setTimeout(done, milliseconds(step.sleep as string)));
  else if (step.hang === true) await forever();
  else if (step["ignore-term"] === true) process.on("SIGTERM", () => {});
  else if (step["spawn-child"] !== undefined) leaveChild(milliseconds(step["spawn-child"]));
  else if (step["read-stdin"] === true) await readPrompt();
  else if (step["close-stdin"] === true) process.stdin.destroy();
  else if (step.signal !== undefined) {
    process.kill(process.pid, step.signal);
    await forever();
  } else return false;
  return true;
}

const forever = (): Promise<never> => new Promise(() => setInterval(() => {}, 60_000));

/** A helper in a group of its own that holds our stdout: what a careless agent leaves behind. */
function leaveChild(ms: number): void {
  spawn(process.execPath, ["-e", `setTimeout(() => {}, ${ms})`], {
    stdio: ["ignore", "inherit", "inherit"],
    detached: true,
  }).unref();
}

async function readPrompt(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
