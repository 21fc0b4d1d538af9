/** What each flag of an attempt means, in one sentence for a reviewer. */
import type { Attempt } from "../core/runtime.ts";

export const FLAG_WORDS: Readonly<Record<Attempt["flags"][number], string>> = {
  leaky: "a process that it started was still alive after it ended, and was ended",
  suspect: "the runtime gave a result and then exited with a failure",
  "killed-after-grace": "it did not end when asked to, and was killed",
  "model-mismatch": "another model answered than the one that was asked for",
  "trailing-question": "its final text ends with a question to nobody",
  "check-edited": "it changed a file that one of its own checks runs",
  "no-start": "the harness reported its end without having reported its start",
  "zero-work": "it used no tool, changed nothing and left a few words at most",
  truncated: "part of its output was cut off at the limit",
  "capture-failed": "part of its output could not be written",
  "group-survivors": "processes of it outlived the attempt's end",
  "stale-base": "the work it stands on changed after it started",
  "review-finding": "this review found fault with the work that it is about",
};
