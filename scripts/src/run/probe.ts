/** Asks one located runtime: version, help, auth, models and sandbox at the same time, bounded, in an empty private folder. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { withoutEscapes } from "../core/escapes.ts";
import { SUPERVISION } from "../core/policy.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import type { ExecResult, exec as execCommand } from "../host/exec.ts";
import { readTextIfPresent, sha256 } from "../host/files.ts";
import type { Adapter, ProbeAnswer, Profile } from "../runtimes/adapter.ts";
import { childEnvironment } from "./child-env.ts";
import type { Located } from "./locate.ts";

export interface ProbeHost {
  readonly env: Environment;
  readonly clock: Clock;
  readonly exec: typeof execCommand;
}

/** Help texts are read up to here; the longest seen is under 40 KB, a model catalogue under 1 MB. */
const PROBE_MAX_BYTES = 4 * 1024 * 1024;
const PROBE_MARKER = "probe";

export async function probe(adapter: Adapter, located: Located, host: ProbeHost): Promise<Profile> {
  const folder = mkdtempSync(join(host.env.tmp, "orchestrate-probe-"));
  try {
    const home = stateHome(adapter, host.env);
    const patience: Patience = { lost: false };
    const askerAt = (place: string | null): Ask =>
      asker(adapter, located, host, { folder, home: place, patience });
    const ask = askerAt(home.own ? null : folder);
    const look = looker({ apart: askerAt(folder), atHome: askerAt(null) });
    const { version, help, auth, models, sandbox } = adapter.probe;
    const [versionAnswer, authAnswer, modelsAnswer, sandboxAnswer, ...helpAnswers] = await Promise.all([
      look(version),
      askOrNull(ask, auth),
      askOrNull(ask, models),
      askOrNull(ask, sandbox ?? null),
      ...help.map(look),
    ]);
    const profile = adapter.profile({
      binary: located.binary,
      binaryReal: located.binaryReal,
      answers: {
        version: versionAnswer as ProbeAnswer,
        help: helpAnswers as ProbeAnswer[],
        auth: authAnswer ?? null,
        models: modelsAnswer ?? null,
        sandbox: sandboxAnswer ?? null,
      },
      settings: home.own ? settingsOf(adapter, home.folder) : {},
      envNames: passedNames(adapter, host.env),
      hostOS: host.env.platform,
    });
    return {
      ...profile,
      evidence: [
        ...foundAt(located),
        ...originOf(adapter, located, host.env),
        ...withDigest(profile, helpAnswers as ProbeAnswer[]),
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Commands that run at the same time, over all runtimes: more than the machine has processors only makes each late. */
const slots = { free: Math.max(2, availableParallelism()), waiting: [] as (() => void)[] };

async function inSlot<T>(work: () => Promise<T>): Promise<T> {
  if (slots.free > 0) slots.free -= 1;
  else await new Promise<void>((go) => slots.waiting.push(go));
  try {
    return await work();
  } finally {
    const next = slots.waiting.shift();
    if (next === undefined) slots.free += 1;
    else next();
  }
}

type Ask = (args: readonly string[], timeoutMs: number) => Promise<ProbeAnswer>;

/**
 * Version and help need nothing of the user's, and many CLIs write into their state folder at every start: they are asked
 * with an empty private home. A launcher that finds its program by the home is asked again with the real one.
 */
const looker =
  (o: { readonly apart: Ask; readonly atHome: Ask }) =>
  async (args: readonly string[]): Promise<ProbeAnswer> => {
    const answer = await o.apart(args, SUPERVISION.probeTimeoutMs);
    const silent = answer.exitCode !== 0 && !answer.timedOut;
    return silent ? o.atHome(args, SUPERVISION.probeTimeoutMs) : answer;
  };

/** Lists and checks start more of a program than its version does; without their answer it is still usable. */
const askOrNull = async (ask: Ask, args: readonly string[] | null): Promise<ProbeAnswer | null> =>
  args === null ? null : ask(args, 2 * SUPERVISION.probeTimeoutMs);

function asker(
  adapter: Adapter,
  located: Located,
  host: ProbeHost,
  o: { readonly folder: string; readonly home: string | null; readonly patience: Patience },
): Ask {
  const { env } = childEnvironment({
    parent: host.env.all(),
    allow: [...(adapter.envPass ?? []), ...adapter.providerEnv, ...adapter.gatewayEnv],
    set: {
      NO_COLOR: "1",
      TERM: "dumb",
      TMPDIR: o.folder,
      ...adapter.probe.env,
      ...(o.home === null ? {} : { HOME: o.home }),
    },
    marker: PROBE_MARKER,
  });
  if (o.home !== null) {
    const state = adapter.probe.footprint?.env;
    for (const name of Object.keys(env)) if (/^XDG_\w+_HOME$/.test(name) || name === state) delete env[name];
  }
  const limits = { cwd: o.folder, env, maxBytes: PROBE_MAX_BYTES, leaveNothing: true };
  const file = located.native ? located.binaryReal : located.binary;
  return (args, timeoutMs) =>
    args.length === 0
      ? Promise.resolve({ exitCode: 0, stdout: "", stderr: "", timedOut: false })
      : inSlot(async () => {
          if (o.patience.lost) return UNASKED;
          const answer = answerOf(await host.exec(file, args, { ...limits, timeoutMs }));
          o.patience.lost ||= answer.timedOut;
          return answer;
        });
}

/** What hung at one question is not asked the next: it would hold up everybody else again. */
interface Patience {
  lost: boolean;
}

const UNASKED: ProbeAnswer = { exitCode: null, stdout: "", stderr: "", timedOut: true };

/** Not every CLI leaves its colours out when it is told to. */
const readable = (bytes: Buffer): string => withoutEscapes(bytes.toString("utf8"));

const answerOf = (result: ExecResult): ProbeAnswer => ({
  exitCode: result.exitCode,
  stdout: readable(result.stdout),
  stderr: readable(result.stderr),
  timedOut: result.timedOut,
});

/** The folder that holds the runtime's own state, and whether it was ever set up here. */
function stateHome(adapter: Adapter, env: Environment): { own: boolean; folder: string } {
  const { footprint } = adapter.probe;
  if (footprint === undefined) return { own: true, folder: env.home };
  const named = env.get(footprint.env);
  if (named !== undefined && named !== "")
    return { own: true, folder: footprint.envIsHome === true ? join(named, footprint.folder) : named };
  return {
    own: footprint.marks.some((path) => existsSync(join(env.home, path))),
    folder: join(env.home, footprint.folder),
  };
}

function settingsOf(adapter: Adapter, folder: string): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const name of adapter.probe.settings ?? []) {
    const text = readTextIfPresent(join(folder, name));
    if (text !== null) texts[name] = text;
  }
  return texts;
}

function passedNames(adapter: Adapter, env: Environment): ReadonlySet<string> {
  const names = [...(adapter.envPass ?? []), ...adapter.providerEnv, ...adapter.gatewayEnv];
  return new Set(names.filter((name) => (env.get(name) ?? "") !== ""));
}

const foundAt = (located: Located): Profile["evidence"] => [
  {
    source: "PATH",
    finding:
      located.binary === located.binaryReal
        ? located.binary
        : `${located.binary} -> ${located.binaryReal}${located.native ? " (started without its launcher)" : ""}`,
    sha256: null,
  },
];

/**
 * What the answers were given by: the file, and the names of its own variables that were set. An earlier record counts
 * only while both are the same.
 */
export function originOf(adapter: Adapter, located: Located, env: Environment): Profile["evidence"] {
  const names = [...passedNames(adapter, env)].sort();
  return [
    {
      source: "executable",
      finding: "size, time and number of the file",
      sha256: sha256(located.identity),
    },
    {
      source: "environment",
      finding: names.length === 0 ? "none of its variables is set" : `set: ${names.join(", ")}`,
      sha256: null,
    },
  ];
}

/** Help findings carry the digest of the help they were read from. */
function withDigest(profile: Profile, help: readonly ProbeAnswer[]): Profile["evidence"] {
  if (help.length === 0) return profile.evidence;
  const digest = sha256(help.map((answer) => `${answer.stdout}\0${answer.stderr}`).join("\0"));
  return profile.evidence.map((entry) =>
    entry.source.startsWith("--help") ? { ...entry, sha256: digest } : entry,
  );
}
