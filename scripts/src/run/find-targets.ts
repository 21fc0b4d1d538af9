/** Looks for the runtimes that have a note and no adapter: whether their name is on PATH, and which program answers to it. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { withoutEscapes } from "../core/escapes.ts";
import { SUPERVISION } from "../core/policy.ts";
import type { Environment } from "../host/env.ts";
import type { exec as execCommand } from "../host/exec.ts";
import { PROBE_TARGETS, type ProbeTarget, recognize } from "../runtimes/probe-targets.ts";
import { versionIn } from "../runtimes/profile.ts";
import { childEnvironment } from "./child-env.ts";
import { locate } from "./locate.ts";

export interface TargetFinding {
  readonly id: string;
  /** Nobody recorded a run of it: it is in no inventory and nothing dispatches to it. */
  readonly state: "stub";
  /** Null: the name is not on PATH. */
  readonly binary: string | null;
  readonly version: string | null;
  /** The program whose help this is; null when it is none that is known, or did not answer. */
  readonly program: string | null;
  /** Programs that bear the name. */
  readonly known: readonly string[];
}

const MAX_BYTES = 1024 * 1024;

/**
 * Targets among `ids`, or all that are on PATH. Asks version and help only, without credentials and with an empty private
 * home, so that nothing of the user's is read or written.
 */
export async function findTargets(o: {
  readonly ids: readonly string[] | null;
  readonly env: Environment;
  readonly exec: typeof execCommand;
}): Promise<TargetFinding[]> {
  const wanted = PROBE_TARGETS.filter((target) => o.ids === null || o.ids.includes(target.id));
  const found = await Promise.all(wanted.map((target) => look(target, o)));
  return found.filter((finding) => o.ids !== null || finding.binary !== null);
}

async function look(
  target: ProbeTarget,
  o: { readonly env: Environment; readonly exec: typeof execCommand },
): Promise<TargetFinding> {
  const known = target.programs.map((program) => program.name);
  const located = await locate({ executable: target.executable }, o.env);
  if (located === null)
    return { id: target.id, state: "stub", binary: null, version: null, program: null, known };
  const folder = mkdtempSync(join(o.env.tmp, "orchestrate-probe-"));
  try {
    const { env } = childEnvironment({
      parent: o.env.all(),
      allow: [],
      set: { HOME: folder, TMPDIR: folder, NO_COLOR: "1", TERM: "dumb" },
      marker: "probe",
    });
    for (const name of Object.keys(env)) if (/^XDG_\w+_HOME$/.test(name)) delete env[name];
    const ask = async (args: readonly string[]) => {
      const limits = { cwd: folder, env, maxBytes: MAX_BYTES, timeoutMs: SUPERVISION.probeTimeoutMs };
      const answer = await o.exec(located.binary, args, limits);
      return {
        exitCode: answer.exitCode,
        stdout: withoutEscapes(answer.stdout.toString("utf8")),
        stderr: withoutEscapes(answer.stderr.toString("utf8")),
        timedOut: answer.timedOut,
      };
    };
    const [version, help] = await Promise.all([ask(target.probe.version), ask(target.probe.help)]);
    return {
      id: target.id,
      state: "stub",
      binary: located.binary,
      version: versionIn(version),
      program: recognize(target, `${help.stdout}\n${help.stderr}`),
      known,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
