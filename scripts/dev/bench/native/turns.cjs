/**
 * Loaded into the coordinator of one run: the longest turn of its event loop, without what that turn spent in spawning
 * processes. A timer that is always due fires once a turn, so a gap between two firings is a turn and a wait of at most
 * `EVERY_MS`. Before the first job and after the last nobody waits for a turn: these are counted apart. Written to
 * $ORCHESTRATE_BENCH_TURNS at the end: `{workingMs, startMs, endMs, peakMb, turns: [[atMs, ms], ...]}`, those over 20 ms.
 */
const EVERY_MS = 5;
const out = process.env["ORCHESTRATE_BENCH_TURNS"];
if (process.argv.includes("__coordinate") && out !== undefined) {
  const { ChildProcess } = require("node:child_process");
  const { writeFileSync } = require("node:fs");
  let spawning = 0;
  let started = false;
  let lastSpawn = 0;
  const spawn = ChildProcess.prototype.spawn;
  ChildProcess.prototype.spawn = function timed(...args) {
    const from = performance.now();
    started = true;
    try {
      return spawn.apply(this, args);
    } finally {
      lastSpawn = performance.now();
      spawning += lastSpawn - from;
    }
  };
  const turns = [];
  let startMs = 0;
  let counted = false;
  let last = performance.now();
  const tick = setInterval(() => {
    const now = performance.now();
    const turn = now - last - spawning;
    if (!counted) startMs = Math.max(startMs, turn);
    else if (turn > 20) turns.push([last, turn]);
    counted = started;
    last = now;
    spawning = 0;
  }, EVERY_MS);
  tick.unref();
  process.on("exit", () => {
    const longest = (some) => Math.max(0, ...some.map(([, ms]) => ms));
    const workingMs = longest(turns.filter(([at]) => at <= lastSpawn));
    const endMs = longest(turns.filter(([at]) => at > lastSpawn));
    const peakMb = process.resourceUsage().maxRSS / 1024;
    writeFileSync(out, JSON.stringify({ workingMs, startMs, endMs, peakMb, turns }));
  });
}
