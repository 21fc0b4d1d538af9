/** Pieces of work whose worth is known: their form, and what they are written with. */
import { createHash } from "node:crypto";

export interface CorpusCase {
  readonly id: string;
  readonly kind: string;
  readonly good: boolean;
  /** The job, without its id; paths are below `work/<id>/`. */
  readonly job: Readonly<Record<string, unknown>>;
  /** What the scripted arbiter says; it passes what it has no word on. */
  readonly verdict?: "fail" | "blocked";
  /** Files that are there before the job starts. */
  readonly files?: Readonly<Record<string, string>>;
  /** Flags and code by which it is caught, joined by `, `; of good work the flags it is accepted with. */
  readonly by: string;
}

export type Draft = Pick<CorpusCase, "job" | "verdict" | "files">;

export interface Kind {
  readonly kind: string;
  readonly by: string;
  readonly make: (o: { readonly id: string; readonly n: number; readonly text: string }) => Draft;
}

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A writer of one file in its own worktree; `steps` are what it plays. */
export function writer(id: string, steps: readonly object[], more: object = {}): Record<string, unknown> {
  return {
    task: "implement",
    effect: "high-impact-write",
    isolation: "worktree",
    prompt: `Write work/${id}/out.txt.`,
    expected_output: `work/${id}/out.txt`,
    owned_paths: [`work/${id}/**`],
    outputs: [{ path: `work/${id}/out.txt` }],
    checks: ["it is what was asked for"],
    mock: steps,
    ...more,
  };
}

export const write = (path: string, content: string): object => ({ write: { path, content } });
export const say = (text: string): object => ({ say: text });
export const check = (...args: string[]): object => ({ command: args[0], args: args.slice(1) });
export const out = (id: string): string => `work/${id}/out.txt`;
