/** For a client that starts a coordinator and leaves: until it owns the run, everybody else takes the run for interrupted. */
import type { Clock } from "../host/clock.ts";
import { followRun } from "../state/follow.ts";
import { isCoordinated } from "./view.ts";

const LOOK_MS = 50;
/** On a machine that is that slow, leaving early is the smaller evil. */
const PATIENCE_MS = 30_000;

/** `gone`: the coordinator has ended already, whatever became of the run, and no other owns it. */
export async function untilCoordinated(o: {
  readonly runDir: string;
  readonly coordinator: { readonly exited: Promise<unknown> };
  readonly clock: Clock;
}): Promise<"owned" | "gone"> {
  let gone = false;
  const exited = o.coordinator.exited.then(() => {
    gone = true;
  });
  const follower = followRun(o.runDir);
  const deadline = o.clock.mono() + PATIENCE_MS;
  try {
    while (!gone && o.clock.mono() < deadline && !isCoordinated(o.runDir))
      await Promise.race([follower.changed(LOOK_MS), exited]);
    return gone && !isCoordinated(o.runDir) ? "gone" : "owned";
  } finally {
    follower.close();
  }
}
