/** One child process from start to proven end: own process group, deadlines, bounded and redacted capture. */
import type { Clock } from "../host/clock.ts";
import type { ProcessIdentity } from "../host/identity.ts";
import type { CaptureSummary } from "./capture.ts";

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
  cancel(mode: "graceful" | "hard"): void;
}

export function superviseProcess(_options: SuperviseOptions): Supervised {
  throw new Error("not built yet");
}
