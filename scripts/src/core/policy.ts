/** Every policy number of the product, once: value, unit, reason and the reference document that owns it. */

export interface PolicyConstant {
  readonly value: number | string;
  readonly unit: string;
  /** Name of the owning file in `references/`, without `.md`. */
  readonly owner: string;
  readonly reason: string;
}

export const POLICY = {
  MINIMUM_SAMPLES: {
    value: 30,
    unit: "audited attempts",
    owner: "verification",
    reason: "fewer outcomes cannot support a 0.95 agreement claim",
  },
  AGREEMENT_FLOOR: {
    value: 0.95,
    unit: "share",
    owner: "verification",
    reason: "one wrong acceptance in twenty is the most a skipped review may cost",
  },
  INITIAL_THRESHOLD: {
    value: 0.9,
    unit: "probability",
    owner: "verification",
    reason: "a signal below this says too little to skip a review",
  },
  UNITS: {
    value: "probability in [0,1]",
    unit: "text",
    owner: "verification",
    reason: "signals without a declared unit cannot be compared with a threshold",
  },
  SHADOW_SAMPLE_EVERY_N: {
    value: 10,
    unit: "attempts",
    owner: "verification",
    reason: "keeps calibration fed without calling the classifier for all work",
  },
  SHADOW_SAMPLE_MAX_PER_RUN: {
    value: 5,
    unit: "calls",
    owner: "verification",
    reason: "bounds what a run spends on observation alone",
  },
  CALIBRATION_DAYS: {
    value: 30,
    unit: "days",
    owner: "verification",
    reason: "models behind a classifier change without notice",
  },
  CACHE_TTL_DEFAULT_HOURS: {
    value: 168,
    unit: "hours",
    owner: "benchmark-evidence",
    reason: "leaderboards move about once a week",
  },
  CACHE_TTL_MAX_HOURS: {
    value: 720,
    unit: "hours",
    owner: "benchmark-evidence",
    reason: "older figures describe other models",
  },
  CACHE_PATH: {
    value: ".orchestrate/benchmarks.json",
    unit: "path",
    owner: "benchmark-evidence",
    reason: "one durable place between runs",
  },
  MIN_SOURCES_FOR_AGREEMENT: {
    value: 2,
    unit: "sources",
    owner: "benchmark-evidence",
    reason: "one page is a claim, two are evidence",
  },
  CROSS_SOURCE_TOLERANCE_PCT: {
    value: 25,
    unit: "percent",
    owner: "benchmark-evidence",
    reason: "sources measure with different harnesses",
  },
  MIN_BENCHMARK_SAMPLES: {
    value: 30,
    unit: "samples",
    owner: "benchmark-evidence",
    reason: "below this the Wilson bound is wider than any difference it ranks",
  },
  COST_MAX_USD_PER_TASK: {
    value: 100,
    unit: "USD",
    owner: "benchmark-evidence",
    reason: "a larger figure is a parsing fault",
  },
  DURATION_MAX_SECONDS: {
    value: 86_400,
    unit: "seconds",
    owner: "benchmark-evidence",
    reason: "a task of over a day is a parsing fault",
  },
  EFFORT_LEVELS_MAX_PER_CANDIDATE: {
    value: 8,
    unit: "levels",
    owner: "benchmark-evidence",
    reason: "bounds what one source can inject",
  },
  FETCH_TIMEOUT_SECONDS: {
    value: 30,
    unit: "seconds",
    owner: "benchmark-evidence",
    reason: "evidence is never worth a hang",
  },
  FETCH_MAX_BYTES: {
    value: 5_242_880,
    unit: "bytes",
    owner: "benchmark-evidence",
    reason: "bounds a hostile page",
  },
  QUALITY_CONFIDENCE_Z: {
    value: 1.96,
    unit: "z",
    owner: "benchmark-evidence",
    reason: "95 % Wilson lower bound",
  },
  MAX_PROMOTIONS_DEFAULT: {
    value: 2,
    unit: "promotions",
    owner: "fallback-policy",
    reason: "two other routes show whether the fault is ours",
  },
  MAX_PROMOTIONS_MAX: {
    value: 4,
    unit: "promotions",
    owner: "fallback-policy",
    reason: "more is retrying until something passes",
  },
  TRACE_MAX_RECORDS: {
    value: 50_000,
    unit: "records",
    owner: "trace-and-logging",
    reason: "bounds a trace that somebody must read",
  },
  TRACE_MAX_BYTES: {
    value: 67_108_864,
    unit: "bytes",
    owner: "trace-and-logging",
    reason: "bounds disk use",
  },
  TRACE_ROTATE_AT_BYTES: {
    value: 8_388_608,
    unit: "bytes",
    owner: "trace-and-logging",
    reason: "keeps one file openable",
  },
  TRACE_RETAIN_RUNS: {
    value: 1,
    unit: "runs per file",
    owner: "trace-and-logging",
    reason: "only `clean` deletes",
  },
  MAX_OUTPUT_BYTES_DEFAULT: {
    value: 1_048_576,
    unit: "bytes per stream",
    owner: "job-spec",
    reason: "enough for a report, small enough to read",
  },
  STATE_INLINE_BYTES: {
    value: 65_536,
    unit: "bytes",
    owner: "job-spec",
    reason: "up to here rewriting state.json is as cheap as a journal line",
  },
  SETTLE_BOUND: {
    value: 120_000,
    unit: "ms",
    owner: "event-protocol",
    reason: "an attempt nobody can prove gone must still close",
  },
  NATIVE_GRACE: {
    value: 600_000,
    unit: "ms",
    owner: "event-protocol",
    reason: "a harness reports between its own turns",
  },
  NATIVE_DISPATCH_BOUND: {
    value: 86_400_000,
    unit: "ms",
    owner: "event-protocol",
    reason: "an action nobody takes within a day is abandoned",
  },
  ARBITER_MAX_ATTEMPTS: {
    value: 40,
    unit: "attempts per call",
    owner: "verification",
    reason: "a reviewer of more reviews none",
  },
  ARBITER_MAX_BYTES: {
    value: 204_800,
    unit: "bytes inline per call",
    owner: "verification",
    reason: "fits every supported context window",
  },
} as const satisfies Record<string, PolicyConstant>;

/** Limits of the spec text itself (contract section 1). */
export const SPEC_LIMITS = {
  maxJobs: 10_000,
  maxYamlBytes: 1_048_576,
  maxJsonBytes: 16_777_216,
  maxDepth: 20,
  concurrencyDefault: 2,
  concurrencyMax: 64,
  timeoutMaxMs: 86_400_000,
  verificationTimeoutMs: 600_000,
  retryMaxAttempts: 10,
  retryBackoffMs: 2_000,
  retryBackoffCapMs: 60_000,
  minOutputBytes: 1_024,
  maxOutputBytes: 268_435_456,
  broadFiles: 100,
  rollbackMinChars: 20,
} as const;

/**
 * A larger file is no work that can be hashed, committed and kept in minutes: a sparse one of terabytes takes a moment to
 * make and days to read.
 */
export const WORK_FILE_MAX_BYTES = 2 * 1024 ** 3;

/** How processes are ended and drained (contract section 7). All in milliseconds. */
export const SUPERVISION = {
  graceMs: 10_000,
  drainMs: 200,
  drainMaxMs: 2_000,
  lineMaxBytes: 65_536,
  /** A line longer than this is captured but not delivered as an event. */
  eventLineMaxBytes: 1_048_576,
  /** Grace for what a job left behind when it ended by itself. */
  leftoverGraceMs: 2_000,
  /** How long killed processes may take to go before they count as survivors. */
  killWaitMs: 5_000,
  suspendJumpMs: 5_000,
  probeTimeoutMs: 30_000,
  dependencyInlineBytes: 32_768,
  dependencyInlineTotalBytes: 131_072,
  manifestMaxFiles: 20_000,
  manifestMaxBytes: 2_147_483_648,
  resumeAttemptsMax: 3,
  userRetriesMax: 3,
} as const;

/** Waiting for a quota that a runtime says opens again (contract of retries). In milliseconds. */
export const RETRY_LIMITS = {
  /** A reset this close is always worth waiting for. */
  quotaFloorMs: 60_000,
  /** Clocks differ: start this much after the reported moment. */
  quotaMarginMs: 5_000,
} as const;

/** Bounds of one question to the decision plane. */
export const PLANE_LIMITS = {
  /** Of all shown text together. */
  inputMaxBytes: 24_576,
  outputMaxBytes: 65_536,
  timeoutMs: 20_000,
  /** A running attempt that printed nothing for this long is looked at, once. */
  watchdogSilenceMs: 120_000,
  /** Questions of one plan; a larger plan asks for its first jobs only. */
  routerMaxJobs: 20,
  relationMaxPairs: 10,
  profilerMaxRuntimes: 4,
  envFileMaxBytes: 65_536,
} as const;
