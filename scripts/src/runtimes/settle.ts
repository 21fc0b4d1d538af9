/**
 * From the folded stream and the exit to one settlement. The order is the contract's: an error envelope beats everything,
 * the settling line beats the exit code, the exit code beats nothing at all.
 *
 * Denied tools do not fail an attempt by themselves: agents work around a refusal, and layer 1 sees whether the work is
 * there. The attempt is PERMISSION (or SANDBOX) only where the runtime itself stopped over it: a settled or ended stream
 * with a denial and no final text, or a deadline reached while a request for permission was the last word.
 */

import { withoutEscapes } from "../core/escapes.ts";
import { unreachable } from "../core/result.ts";
import type { FailureClass } from "../core/runtime.ts";
import type { ExitFacts, ObservedState, Settlement } from "./adapter.ts";
import { classifySignal, messageSignal, type SignalRule, stderrSignal } from "./classify.ts";
import { brief } from "./json.ts";
import { isWaiting } from "./observed.ts";
import { resetTimeIn } from "./reset-time.ts";

export interface SettlePolicy {
  /** The adapter's own rules, before the shared ones. */
  readonly rules?: readonly SignalRule[];
  /** Exit codes that the program documents. */
  readonly exitCodes?: Readonly<Record<number, FailureClass>>;
  /** HTTP status that an exit code stands for, where the program wraps it. */
  readonly statusOfExit?: (exitCode: number) => number | null;
  /** The exit is the settling line: plain text and JSON programs. */
  readonly settledByExit?: boolean;
}

export function settleAgent(state: ObservedState, exit: ExitFacts, policy: SettlePolicy = {}): Settlement {
  switch (exit.endedBy) {
    case "spawn-failed":
      return failed(
        state,
        exit,
        "RUNTIME_CRASH",
        `could not be started${exit.spawnError === null ? "" : ` (${exit.spawnError})`}`,
      );
    case "cancel":
      return { ...failed(state, exit, "UNKNOWN", "cancelled"), failureClass: null };
    case "timeout":
    case "stall":
      return overdue(state, exit, policy);
    case "self":
      return ended(state, exit, policy);
    default:
      return unreachable(exit.endedBy);
  }
}

function overdue(state: ObservedState, exit: ExitFacts, policy: SettlePolicy): Settlement {
  if (state.terminal !== null && !state.terminal.ok) return envelopeFailure(state, exit, policy);
  const waiting = state.denied.at(-1);
  if (waiting !== undefined && isWaiting(state))
    return failed(state, exit, boundaryClass(waiting.boundary), denialText(waiting));
  const signal = stderrSignal(exit.stderrTail);
  const said = signal === null ? null : classifySignal(signal, policy.rules);
  if (said === "PERMISSION" || said === "SANDBOX") {
    const why = lastLine(exit.stderrTail) ?? "waits for a grant that nobody gives";
    return failed(state, exit, said, why);
  }
  // Silence from the first moment points at the way to the model, not at the work.
  if (exit.endedBy === "timeout" && state.events === 0 && exit.stdoutBytes === 0)
    return failed(state, exit, "NETWORK", "reached its deadline without one event");
  return failed(
    state,
    exit,
    "STALLED",
    exit.endedBy === "stall" ? "went silent for longer than `stall_after`" : "reached its deadline",
  );
}

function ended(state: ObservedState, exit: ExitFacts, policy: SettlePolicy): Settlement {
  if (state.terminal !== null && !state.terminal.ok) return envelopeFailure(state, exit, policy);
  const clean = exit.exitCode === 0 && exit.signal === null;
  const text = state.resultText;
  if (state.settled || (policy.settledByExit === true && clean)) {
    if (clean) return settledCleanly(state, exit);
    if (text !== null && text !== "")
      return { ...success(state), suspect: true, detail: `gave its result, then ${exitText(exit)}` };
  }
  const signal = exitSignal(exit, policy);
  if (exit.signal !== null) return failed(state, exit, "RUNTIME_CRASH", exitText(exit));
  if (clean) return unsettledExit(state, exit);
  const said =
    policy.exitCodes?.[exit.exitCode as number] ??
    (signal === null ? null : classifySignal(signal, policy.rules));
  const why = lastLine(exit.stderrTail) ?? lastLine(exit.stdoutTail);
  const detail = why === null ? exitText(exit) : `${exitText(exit)}: ${why}`;
  if (said !== null) return failed(state, exit, said, detail);
  return failed(state, exit, text === null || text === "" ? "RUNTIME_CRASH" : "UNKNOWN", detail);
}

function settledCleanly(state: ObservedState, exit: ExitFacts): Settlement {
  const denied = state.denied.at(-1);
  if (denied !== undefined && (state.resultText ?? "").trim() === "")
    return failed(state, exit, boundaryClass(denied.boundary), denialText(denied));
  return success(state);
}

function unsettledExit(state: ObservedState, exit: ExitFacts): Settlement {
  const denied = state.denied.at(-1);
  if (denied !== undefined && isWaiting(state))
    return failed(state, exit, boundaryClass(denied.boundary), denialText(denied));
  return failed(
    state,
    exit,
    "BAD_OUTPUT",
    exit.stdoutBytes === 0
      ? "exited with 0 and printed nothing"
      : "exited with 0 but never said that it was done",
  );
}

function envelopeFailure(state: ObservedState, exit: ExitFacts, policy: SettlePolicy): Settlement {
  const terminal = state.terminal as NonNullable<ObservedState["terminal"]>;
  const wrapped =
    exit.exitCode === null || policy.statusOfExit === undefined ? null : policy.statusOfExit(exit.exitCode);
  const signal = messageSignal(terminal.message ?? "", {
    status: terminal.status ?? wrapped,
    code: terminal.code,
  });
  const fromTail = stderrSignal(exit.stderrTail);
  const said =
    classifySignal(signal, policy.rules) ??
    (fromTail === null ? null : classifySignal(fromTail, policy.rules)) ??
    "UNKNOWN";
  return failed(state, exit, said, terminal.message ?? "reported an error without a message");
}

function exitSignal(exit: ExitFacts, policy: SettlePolicy): ReturnType<typeof stderrSignal> {
  const said = stderrSignal(exit.stderrTail);
  const status = exit.exitCode === null ? null : (policy.statusOfExit?.(exit.exitCode) ?? null);
  if (status === null) return said;
  return { status, code: null, message: said?.message ?? null };
}

/** What a refusal at this boundary ends an attempt as, where it is the reason of its end. */
export const boundaryClass = (boundary: string): FailureClass =>
  boundary.startsWith("sandbox") ? "SANDBOX" : "PERMISSION";
const denialText = (denial: { boundary: string; requested: string }): string =>
  `stopped at the boundary \`${denial.boundary}\`: ${denial.requested}`;

function success(state: ObservedState): Settlement {
  return {
    ok: true,
    failureClass: null,
    detail: null,
    resultText: state.resultText,
    suspect: false,
    resetAt: null,
  };
}

function failed(state: ObservedState, exit: ExitFacts, cls: FailureClass, detail: string): Settlement {
  const limited = cls === "RATE_LIMIT" || cls === "QUOTA";
  return {
    ok: false,
    failureClass: cls,
    detail: brief(withoutEscapes(detail), 400),
    resultText: state.resultText,
    suspect: false,
    resetAt: limited ? resetTimeIn(`${state.terminal?.message ?? ""}\n${exit.stderrTail}`, exit.now) : null,
  };
}

export function exitText(exit: Pick<ExitFacts, "exitCode" | "signal">): string {
  if (exit.signal !== null) return `ended by signal ${exit.signal}`;
  return exit.exitCode === null ? "ended without an exit status" : `exited with ${exit.exitCode}`;
}

/** The last line with text in a tail: where a program says why it gave up. */
export function lastLine(tail: string): string | null {
  const lines = withoutEscapes(tail).split(/\r?\n/);
  for (let i = lines.length - 1; i >= 0; i -= 1) {
    const line = (lines[i] as string).trim();
    if (line !== "" && !/^[{}\])(,;\s]+$/.test(line)) return brief(line, 300);
  }
  return null;
}
