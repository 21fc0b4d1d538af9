/**
 * Loaded into the coordinator of one run: the longest turn of its event loop, without what that turn spent in spawning
 * processes. A timer that is always due fires once a turn, so a gap between two firings is a turn and a wait of at most
 * `EVERY_MS`. Written to $ORCHESTRATE_BENCH_TURNS at the end: `{longestMs, turns: [[atMs, ms], ...]}`, those over 20 ms.
 */
const EVERY_MS = 5;
const out = process.env["ORCHESTRATE_BENCH_TURNS"];
if (process.argv.includes("__coordinate") && out !== undefined) {
  const { ChildProcess } = require("node:child_process");
  const { writeFileSync } = require("node:fs");
  let spawning = 0;
  const spawn = ChildProcess.prototype.spawn;
  ChildProcess.prototype.spawn = function timed(...args) {
    const from = performance.now();
    try {
      return spawn.apply(this, args);
    } finally {
      spawning += performance.now() - from;
    }
  };
  const turns = [];
  let last = performance.now();
  const tick = setInterval(() => {
    const now = performance.now();
    const turn = now - last - spawning;
    if (turn > 20) turns.push([last, turn]);
    last = now;
    spawning = 0;
  }, EVERY_MS);
  tick.unref();
  process.on("exit", () => {
    const longestMs = Math.max(0, ...turns.map(([, ms]) => ms));
    writeFileSync(out, JSON.stringify({ longestMs, turns }));
  });
}
