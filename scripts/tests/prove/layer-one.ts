/** Evidence of an attempt that holds in every respect, to be spoilt one clause at a time. */
import type { LayerOneEvidence, OutputFact, VerificationFact } from "../../src/prove/verify.ts";

export const HASH = "a".repeat(64);
export const OTHER_HASH = "b".repeat(64);

export const NO_CHANGES: LayerOneEvidence["changes"] = {
  measured: true,
  created: [],
  modified: [],
  deleted: [],
  ignored: [],
  tracked: [],
  headMoved: null,
};

export const output = (o: Partial<OutputFact> = {}): OutputFact => ({
  path: "out.md",
  required: true,
  fromResult: false,
  declaredSha256: null,
  found: { sha256: HASH, bytes: 10 },
  fault: null,
  ...o,
});

export const verification = (o: Partial<VerificationFact> = {}): VerificationFact => ({
  index: 1,
  argv: ["node", "check.js"],
  ran: true,
  reason: null,
  exitCode: 0,
  signal: null,
  timedOut: false,
  spawnError: null,
  wallMs: 12,
  stdoutTail: "",
  stderrTail: "",
  files: [],
  outside: [],
  installed: [],
  ...o,
});

type Overrides = Partial<Omit<LayerOneEvidence, "job" | "changes">> & {
  readonly job?: Partial<LayerOneEvidence["job"]>;
  readonly changes?: Partial<LayerOneEvidence["changes"]>;
};

/** An implement job at R1 that changed one file of its own. */
export function evidence(o: Overrides = {}): LayerOneEvidence {
  const { job, changes, ...rest } = o;
  return {
    job: {
      id: "job",
      task: "implement",
      effect: "scoped-write",
      writer: true,
      riskTier: "R1",
      ownedPaths: ["src/**"],
      isolation: "none",
      dependsOn: [],
      ...job,
    },
    agent: true,
    ownWorktree: false,
    cwdPrefix: "",
    settled: true,
    settledBy: "process",
    suspect: false,
    resultText: "Done as asked, in one file.",
    resultTruncated: false,
    toolEvents: 3,
    changes: { ...NO_CHANGES, modified: ["src/a.ts"], tracked: ["src/a.ts"], ...changes },
    peers: [],
    outputs: [],
    verification: [],
    claims: [],
    fixture: {
      status: "passed",
      detail: "same decision with the instruction planted in 5 places",
      differences: [],
    },
    ...rest,
  };
}

/** A scout at R0 that changed nothing. */
export const observing = (o: Overrides = {}): LayerOneEvidence =>
  evidence({
    ...o,
    job: { task: "scout", effect: "observe", writer: false, riskTier: "R0", ownedPaths: [], ...o.job },
    changes: { modified: [], tracked: [], ...o.changes },
  });
