/** One child process from start to proven end: own process group, deadlines, bounded and redacted capture. */
import { type ChildProcess, spawn } from "node:child_process";
import { JOB_MARKER } from "../core/harness-markers.ts";
import { SUPERVISION } from "../core/policy.ts";
import type { Clock } from "../host/clock.ts";
import { errorCode } from "../host/files.ts";
import { identityOf, type ProcessIdentity } from "../host/identity.ts";
import { Capture, type CaptureSummary } from "./capture.ts";
import { ChildOutput } from "./child-output.ts";
import { Deadlines } from "./deadlines.ts";
import { type EndTreeResult, TreeEnding } from "./kill.ts";
import { countsUp, leftBehind, markPids, type PidMark } from "./last-pid.ts";
import type { JobTrace } from "./process-table.ts";
import { scannerFor } from "./redact.ts";

export interface SuperviseOptions {
  /** Program and arguments; never a shell. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Written, then closed; null gives /dev/null. */
  readonly stdin: string | null;
  /** Value of ORCHESTRATE_JOB in the child's environment; whatever carries it belongs to the job. */
  readonly marker: string;
  readonly timeoutMs: number;
  /** Silence on both streams that ends the job; null = never. */
  readonly stallAfterMs: number | null;
  readonly graceMs?: number;
  readonly stdoutPath: string | null;
  readonly stderrPath: string | null;
  /** Kept per stream. */
  readonly maxOutputBytes: number;
  /** Secret values known to the run. */
  readonly secretValues: readonly string[];
  /** Redacted stdout lines, without the newline. A throw is contained. */
  readonly onLine?: (line: string) => void;
  /** Called right after the start; output is held back until it resolves. A rejection ends the job. */
  readonly onStart?: (identity: ProcessIdentity) => void | Promise<void>;
  readonly onActivity?: () => void;
  readonly clock: Clock;
}

export type EndedBy = "self" | "timeout" | "stall" | "cancel" | "spawn-failed";
export type SuperviseFlag =
  | "leaky"
  | "killed-after-grace"
  | "group-survivors"
  | "truncated"
  | "capture-failed";

export interface SuperviseResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly endedBy: EndedBy;
  /** errno name when the process could not be started. */
  readonly spawnError: string | null;
  readonly wallMs: number;
  /** Proven: no process of the job is alive, in or out of its group. */
  readonly treeGone: boolean;
  readonly flags: readonly SuperviseFlag[];
  readonly stdout: CaptureSummary;
  readonly stderr: CaptureSummary;
  readonly captureError: { readonly path: string; readonly code: string } | null;
}

export interface Supervised {
  /** null when the process could not be started. */
  readonly pid: number | null;
  /** Never rejects. */
  readonly done: Promise<SuperviseResult>;
  /** "graceful": SIGTERM, grace, SIGKILL. "hard": SIGKILL now, also in mid-grace. Without effect once the child has ended by itself. */
  cancel(mode: "graceful" | "hard"): void;
}

/** Starts `argv` and sees it through. Never throws: what goes wrong is in the result. */
export function superviseProcess(options: SuperviseOptions): Supervised {
  const supervision = new Supervision(options);
  return {
    pid: supervision.pid,
    done: supervision.run(),
    cancel: (mode) => supervision.end("cancel", mode === "hard"),
  };
}

/** Leaders of the jobs that this process supervises now. */
const leaders = new Set<number>();

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A child that runs, and what belongs to it. */
interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly trace: JobTrace;
  readonly output: ChildOutput;
  readonly identity: ProcessIdentity;
}

class Supervision {
  readonly #o: SuperviseOptions;
  readonly #startedAt: number;
  readonly #mark: PidMark | null;
  readonly #stdout: Capture;
  readonly #stderr: Capture;
  readonly #deadlines: Deadlines;
  readonly #flags = new Set<SuperviseFlag>();
  #running: Running | null = null;
  #spawnError: Promise<string> | string = "UNKNOWN";
  #exit: Exit | null = null;
  #endedAt: number | null = null;
  #exited: (exit: Exit) => void = () => {};
  readonly #exitSeen: Promise<void>;
  #giveUp: () => void = () => {};
  /** Resolves at the exit, or when the tree could not be ended. */
  readonly #over: Promise<void>;
  #endedBy: EndedBy = "self";
  #ending: TreeEnding | null = null;

  constructor(options: SuperviseOptions) {
    this.#o = options;
    const scanner = scannerFor(options.secretValues);
    const shared = { maxBytes: options.maxOutputBytes, scanner };
    const { onLine } = options;
    this.#stdout = new Capture({
      ...shared,
      path: options.stdoutPath,
      ...(onLine === undefined ? {} : { onLine: (line: string) => contained(() => onLine(line)) }),
    });
    this.#stderr = new Capture({ ...shared, path: options.stderrPath });
    this.#deadlines = new Deadlines({
      clock: options.clock,
      timeoutMs: options.timeoutMs,
      stallAfterMs: options.stallAfterMs,
      onDue: (which) => this.end(which, false),
    });
    this.#startedAt = options.clock.mono();
    this.#mark = markPids(this.#startedAt);
    this.#exitSeen = new Promise((resolve) => {
      this.#exited = (exit) => {
        this.#exit = exit;
        resolve();
      };
    });
    this.#over = new Promise((resolve) => {
      this.#giveUp = resolve;
      void this.#exitSeen.then(resolve);
    });
    this.#start();
  }

  get pid(): number | null {
    return this.#running?.pid ?? null;
  }

  /** Ends the tree. The first reason stays; a later hard one cuts the grace short. */
  end(reason: "timeout" | "stall" | "cancel", hard: boolean): void {
    if (this.#running === null) return;
    if (this.#ending !== null) {
      if (hard) this.#ending.harden();
      return;
    }
    if (this.#exit !== null) return;
    this.#endedBy = reason;
    this.#deadlines.stop();
    this.#ending = new TreeEnding({
      trace: this.#running.trace,
      graceMs: hard ? 0 : (this.#o.graceMs ?? SUPERVISION.graceMs),
      clock: this.#o.clock,
    });
    void this.#ending.done.then((ended) => {
      if (!ended.gone) this.#giveUp();
    });
  }

  async run(): Promise<SuperviseResult> {
    if (this.#running === null) {
      this.#endedBy = "spawn-failed";
      return this.#result({ spawnError: await this.#spawnError, treeGone: true });
    }
    await this.#announce(this.#running);
    const ended = await this.#untilOver();
    const closed = await this.#running.output.drained();
    const treeGone = await this.#clear(this.#running, { ended, closed });
    this.#running.output.destroy();
    return this.#result({ spawnError: null, treeGone });
  }

  #start(): void {
    const [program = "", ...args] = this.#o.argv;
    let child: ChildProcess;
    try {
      child = spawn(program, args, {
        cwd: this.#o.cwd,
        env: { ...this.#o.env, [JOB_MARKER]: this.#o.marker },
        stdio: [this.#o.stdin === null ? "ignore" : "pipe", "pipe", "pipe"],
        // A session of its own: neither our group's signals nor the client's terminal reach it.
        detached: true,
        windowsHide: true,
      });
    } catch (error) {
      // Some faults are thrown, not reported: an argument list too long, a NUL in an argument.
      this.#spawnError = errorCode(error) ?? "UNKNOWN";
      return;
    }
    const { pid, stdout, stderr } = child;
    if (pid === undefined || stdout === null || stderr === null) {
      this.#spawnError = new Promise((resolve) => {
        child.on("error", (error) => resolve(errorCode(error) ?? "UNKNOWN"));
      });
      return;
    }
    child.on("error", () => {});
    child.on("exit", (code, signal) => this.#onExit(child, pid, { code, signal }));
    leaders.add(pid);
    const identity = identityOf(pid);
    this.#running = {
      child,
      pid,
      identity,
      trace: {
        marker: this.#o.marker,
        pid,
        startTime: identity.startTime,
        groupIsOurs: true,
        known: new Map(),
      },
      output: new ChildOutput({
        streams: [
          { stream: stdout, sink: (chunk) => this.#stdout.push(chunk) },
          { stream: stderr, sink: (chunk) => this.#stderr.push(chunk) },
        ],
        onActivity: () => this.#onActivity(),
      }),
    };
    this.#deadlines.start();
    // A child that closes its stdin or ends before it has read all is its own affair (EPIPE, ECONNRESET).
    child.stdin?.on("error", () => {});
    child.stdin?.end(this.#o.stdin ?? "");
  }

  #onExit(child: ChildProcess, pid: number, exit: Exit): void {
    leaders.delete(pid);
    this.#endedAt = this.#o.clock.mono();
    this.#deadlines.stop();
    child.stdin?.destroy();
    this.#exited(exit);
  }

  #onActivity(): void {
    this.#deadlines.activity();
    const { onActivity } = this.#o;
    if (onActivity !== undefined) contained(onActivity);
  }

  /** Tells who was started; nothing of its output is looked at before that is done with. */
  async #announce(running: Running): Promise<void> {
    const { onStart } = this.#o;
    try {
      const told = onStart?.(running.identity);
      if (told instanceof Promise) {
        running.output.hold();
        await told;
      }
    } catch {
      this.end("cancel", true);
    }
    running.output.release();
  }

  /** Waits for the exit, and for the end of the tree when we are ending it; null when it ended by itself. */
  async #untilOver(): Promise<EndTreeResult | null> {
    await this.#over;
    if (this.#ending === null) return null;
    const ended = await this.#ending.done;
    if (ended.gone) await this.#exitSeen;
    return ended;
  }

  /** Ends whatever the job left behind; answers whether nothing of it is alive. */
  async #clear(running: Running, seen: { ended: EndTreeResult | null; closed: boolean }): Promise<boolean> {
    const { ended, closed } = seen;
    if (ended?.killedAfterGrace === true) this.#flags.add("killed-after-grace");
    if (ended?.gone === false) return false;
    if (closed && (ended !== null || this.#nothingLeft(running))) return true;
    const grace = Math.min(this.#o.graceMs ?? SUPERVISION.graceMs, SUPERVISION.leftoverGraceMs);
    const sweep = new TreeEnding({ trace: running.trace, graceMs: grace, clock: this.#o.clock });
    this.#ending = sweep;
    const { gone } = await sweep.done;
    const closedNow = closed || (await running.output.drained());
    if (!closedNow || sweep.met.any) this.#flags.add("leaky");
    if (sweep.met.inGroup) this.#flags.add("group-survivors");
    // A pipe that stays open although nobody is left is held by somebody whom we cannot see.
    return gone && closedNow;
  }

  #nothingLeft(running: Running): boolean {
    if (this.#mark === null || !countsUp(this.#mark, running.pid)) return false;
    return (
      leftBehind({
        mark: this.#mark,
        now: this.#o.clock.mono(),
        pid: running.pid,
        marker: this.#o.marker,
        others: leaders,
      }) === "none"
    );
  }

  #result(end: { spawnError: string | null; treeGone: boolean }): SuperviseResult {
    const stdout = this.#stdout.finish();
    const stderr = this.#stderr.finish();
    const captureError = this.#stdout.fault ?? this.#stderr.fault;
    if (stdout.truncated || stderr.truncated) this.#flags.add("truncated");
    if (captureError !== null) this.#flags.add("capture-failed");
    return {
      exitCode: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      endedBy: this.#endedBy,
      spawnError: end.spawnError,
      wallMs: (this.#endedAt ?? this.#o.clock.mono()) - this.#startedAt,
      treeGone: end.treeGone,
      flags: [...this.#flags],
      stdout,
      stderr,
      captureError,
    };
  }
}

/** A fault of a listener must not end the supervision of a job. */
function contained(act: () => void): void {
  try {
    act();
  } catch {}
}
