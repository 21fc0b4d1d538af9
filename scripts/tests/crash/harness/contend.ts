/** Several coordinators started at once on one run folder. */
import { hostname } from "node:os";
import { EXIT } from "../../../src/core/exit-codes.ts";
import { type Life, violations } from "./invariants.ts";
import type { Lane } from "./lane.ts";
import { historyOf } from "./point.ts";
import { WAITING } from "./scenes.ts";
import { until } from "./until.ts";

/**
 * The lane's job `first` has to wait until the lane is opened: that happens when all coordinators but one are gone, so
 * none can come too late to meet the owner. Answers what is wrong, in words.
 */
export async function contend(
  lane: Lane,
  count: number,
  resume: (i: number) => boolean = () => false,
): Promise<string[]> {
  lane.reset();
  const coordinators = Array.from({ length: count }, (_, i) => lane.coordinate({ resume: resume(i) }));
  let gone = 0;
  const lives = coordinators.map(async (coordinator) => {
    const exit = await coordinator.ended;
    gone += 1;
    return { pid: coordinator.pid, exit };
  });
  await until("all but one coordinator are gone", () => gone >= count - 1);
  await lane.said("S", "first");
  lane.open();
  const ends = await Promise.all(lives);
  const winner = ends.find(({ exit }) => exit.code === 0);
  const problems = ends
    .filter((end) => end !== winner)
    .flatMap(({ exit }) =>
      exit.code === EXIT.owned && exit.stderr.includes(`process ${winner?.pid} on \`${hostname()}\``)
        ? []
        : [`a loser ended with ${exit.code}, saying: ${exit.stderr.trim()}`],
    );
  if (winner === undefined) return ["nobody won", ...problems];
  const read = lane.read();
  const life: Life = { ...winner, state: read.ok ? read.value.state : read.error.message };
  return [...problems, ...violations(historyOf({ lane, finished: WAITING }, [life]))];
}
