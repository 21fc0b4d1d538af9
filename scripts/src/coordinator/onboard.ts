/**
 * Setting up a missing runtime as a visible step: what would be run, what the user does, how it is undone. Installs only
 * when told to, never logs in, is given no credential, and looks again afterwards.
 */
import { BASE_ENVIRONMENT } from "../core/child-environment.ts";
import type { RuntimeRecord } from "../core/runtime.ts";
import { looksSecretName } from "../core/secret-patterns.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { exec } from "../host/exec.ts";
import { childEnvironment } from "../run/child-env.ts";
import { locate } from "../run/locate.ts";
import { redactText } from "../run/redact.ts";
import { type OnboardingSteps, onboardingOf } from "../runtimes/onboarding.ts";
import { probeHost } from "./probe-host.ts";

export type OnboardResult =
  /** It is here and usable: nothing is to be done. */
  | "present"
  /** It is here and its user has to log in. */
  | "needs-login"
  /** It could be installed by the steps. */
  | "missing"
  /** Nobody recorded a way to install it. */
  | "no-way"
  /** The installation was run and it is here now. */
  | "installed"
  /** The installation was run and it is still not found. */
  | "not-found-after"
  /** The installation failed. */
  | "install-failed";

export interface Onboarded {
  readonly result: OnboardResult;
  readonly steps: OnboardingSteps | null;
  readonly before: RuntimeRecord | null;
  readonly after: RuntimeRecord | null;
  /** Last lines of a failed installation, redacted. */
  readonly output: string | null;
}

/** An installation fetches hundreds of megabytes. */
const INSTALL_MS = 15 * 60 * 1000;
const OUTPUT_LINES = 12;

export async function onboard(o: {
  readonly runtime: string;
  readonly apply: boolean;
  readonly node: readonly [number, number];
  readonly env: Environment;
  readonly clock: Clock;
  readonly progress: (line: string) => void;
}): Promise<Onboarded> {
  const steps = onboardingOf(o.runtime, o.node);
  const before = await recordOf(o);
  const state = standing(before);
  if (state !== "missing") return { result: state, steps, before, after: null, output: null };
  if (steps === null) return { result: "no-way", steps, before, after: null, output: null };
  if (!o.apply) return { result: "missing", steps, before, after: null, output: null };
  const output = await install(steps.install, o);
  const after = await recordOf(o);
  const now = standing(after);
  if (now !== "missing")
    return {
      result: now === "needs-login" ? "needs-login" : "installed",
      steps,
      before,
      after,
      output: null,
    };
  return { result: output === null ? "not-found-after" : "install-failed", steps, before, after, output };
}

async function recordOf(o: {
  readonly runtime: string;
  readonly env: Environment;
  readonly clock: Clock;
}): Promise<RuntimeRecord | null> {
  const { inventory } = await probeHost({
    env: o.env,
    clock: o.clock,
    ids: [o.runtime],
    harness: { name: "unknown", subagents: false },
  });
  return inventory.records.find((record) => record.id === o.runtime) ?? null;
}

function standing(record: RuntimeRecord | null): "present" | "needs-login" | "missing" {
  if (record === null) return "missing";
  if (record.authenticated === false) return "needs-login";
  return record.state === "available" || record.state === "constrained" ? "present" : "missing";
}

/** Null when it went well. Runs in the temporary folder: a project's own npm settings have no say. */
async function install(
  [program, ...args]: readonly string[],
  o: { readonly env: Environment; readonly progress: (line: string) => void },
): Promise<string | null> {
  const located = await locate({ executable: program as string }, o.env);
  if (located === null) return `\`${program}\` is not on PATH`;
  o.progress([program, ...args].join(" "));
  const parent = o.env.all();
  const settings = Object.keys(parent).filter(
    (name) => (/^npm_config_/i.test(name) || name === "NODE_EXTRA_CA_CERTS") && !looksSecretName(name),
  );
  const result = await exec(located.binary, args, {
    cwd: o.env.tmp,
    env: childEnvironment({
      parent,
      allow: [...BASE_ENVIRONMENT, ...settings],
      set: { NO_COLOR: "1", CI: "1" },
      marker: "onboard",
    }).env,
    timeoutMs: INSTALL_MS,
    maxBytes: 4 * 1024 * 1024,
  });
  if (result.exitCode === 0) return null;
  const secrets = Object.entries(parent).flatMap(([name, value]) =>
    looksSecretName(name) && value.length >= 8 ? [value] : [],
  );
  const said = redactText(`${result.stdout.toString("utf8")}\n${result.stderr.toString("utf8")}`, secrets);
  const why = result.timedOut
    ? "took too long"
    : `exit ${result.exitCode ?? result.signal ?? result.spawnError}`;
  return [why, ...said.split("\n").filter((line) => line.trim() !== "")].slice(-OUTPUT_LINES).join("\n");
}
