/** For a process that lives long and forks often: what it has in memory, and what it writes there, is the CPU of its forks. */
import { setFlagsFromString } from "node:v8";
import { nodeVersion } from "./node-version.ts";

/**
 * The heap may grow by a fifth between two full collections, where V8 by default lets it grow to several times what is
 * alive: a coordinator of 10,000 jobs is at 119 MB instead of 200 when 900 are done, for the same CPU.
 */
const SMALL_HEAP = "--heap-growing-percent=20";

/**
 * A function is optimised after ten to thirty times as much of it has run as by default. The compiler's threads write to
 * many pages, and a page written for the first time after a fork costs a fault: 320 of them a job became 200, for 10 to 17 %
 * less CPU of the whole run. Loops over output still get there, so that redaction is as fast; without any optimising it is
 * not. V8 multiplies the counts with a function's length of up to 61,440 in 31 bits, so that 34,900 is the most.
 */
const LATE_COMPILER: ReadonlyMap<number, readonly string[]> = new Map([
  [20, ["--interrupt-budget=2000000"]],
  [22, ["--invocation-count-for-maglev=12000", "--invocation-count-for-turbofan=30000"]],
  [24, ["--invocation-count-for-maglev=12000", "--invocation-count-for-turbofan=30000"]],
]);

/** Settings of V8 that each version knows; of an untried one, only what all tried ones do. */
export const forkingFlags = (major: number): readonly string[] => [
  SMALL_HEAP,
  ...(LATE_COMPILER.get(major) ?? []),
];

/** Asked once, early: code that is optimised already stays so. */
export function expectForks(): void {
  for (const flag of forkingFlags(nodeVersion()[0])) setFlagsFromString(flag);
}
