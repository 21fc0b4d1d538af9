/** What the mock runtime plays. The steps are those of the job spec; one more, `arbiter`, is written by the coordinator alone. */
import type { MockVerdict, MockStep as SpecStep } from "../core/generated/jobs.ts";

export type { MockVerdict };

export type MockStep = SpecStep & {
  /** Answer the evidence bundle in the prompt: verdict by job id, `*` for the rest, pass where nothing is said. */
  readonly arbiter?: Readonly<Record<string, MockVerdict>>;
};

export interface MockScript {
  readonly jobId: string;
  readonly attempt: number;
  readonly model: string;
  readonly steps: readonly MockStep[];
  /** The session that it goes on with. */
  readonly session: { readonly handle: string; readonly mode: "continue" | "fork" } | null;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `90s`, `1m30s`, `250ms` in milliseconds; the spec was validated, so anything else is a bug and throws. */
export function milliseconds(duration: string): number {
  let total = 0;
  for (const part of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(part[1]) * (UNITS[part[2] as string] as number);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(duration)) throw new Error(`not a duration: \`${duration}\``);
  return total;
}
