/** Starts fixture programs as processes of their own. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { identityOf, type ProcessIdentity } from "../../src/host/identity.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));
const execArgv = ["--import", import.meta.resolve("tsx")];

/** A fixture that talks over IPC; killed at the end of the test. */
export function forkFixture(name: string, args: readonly string[]): ChildProcess {
  const child = fork(fixture(name), args, { execArgv });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

export async function nextMessage(child: ChildProcess): Promise<unknown> {
  return (await once(child, "message"))[0];
}

/** Runs a fixture to its end; throws with its stderr when it fails. */
export async function runFixture(name: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [...execArgv, fixture(name), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${errors}`);
  return out;
}

/** The identity of a process that has ended. */
export async function deadProcess(): Promise<ProcessIdentity> {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  const identity = identityOf(child.pid as number);
  child.kill("SIGKILL");
  await once(child, "exit");
  return identity;
}
