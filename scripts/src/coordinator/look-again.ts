/**
 * A second look at the host after a failure: a runtime is asked again before it is tried again or takes over, so that a
 * binary that is gone, a login that ended or a weaker configuration is not dispatched to once more.
 */
import type { Candidate, FailureClass, Inventory, RuntimeRecord } from "../core/runtime.ts";
import { exec } from "../host/exec.ts";
import { decideAfterFailure, type FailureDecision, type FailureInput } from "../plan/failure.ts";
import { whyUnfit } from "../plan/still-fits.ts";
import { takeInventory } from "../run/inventory.ts";
import type { Session } from "./session.ts";
import { traceProbe } from "./trace-points.ts";

/** How the attempt was started, and how it would be started with a newer record. */
export interface Startup {
  /** Null: it was refused before it started. */
  readonly argv: readonly string[] | null;
  /** Null: refused again. */
  readonly again: (record: RuntimeRecord) => readonly string[] | null;
}

/** Classes after which the runtime itself is asked again before anything else. */
const SUSPECT: ReadonlySet<FailureClass> = new Set(["RUNTIME_CRASH", "MODEL_UNAVAILABLE", "BAD_FLAG"]);

/** The step after a failure, decided on what the host says now. Each runtime is asked at most once. */
export async function decideOnLiveEvidence(
  s: Session,
  input: Omit<FailureInput, "liveCandidates" | "argvChanged">,
  startup: Startup | null,
): Promise<FailureDecision> {
  const { job, attempt } = input;
  const asked = new Map<string, RuntimeRecord | null>();
  const look = async (runtime: string): Promise<void> => {
    if (!asked.has(runtime)) asked.set(runtime, await askAgain(s, runtime));
  };
  // Two members may be one runtime with two models: each is judged for itself.
  const fits = (runtime: string, member: Candidate | undefined): boolean => {
    const now = asked.get(runtime);
    if (now === undefined) return true;
    // The plan is the measure, however often a runtime was asked since.
    const planned = s.inventory.records.find((record) => record.id === runtime);
    if (now === null || planned === undefined || member === undefined) return false;
    return whyUnfit({ job, member, planned, now }) === null;
  };
  let argvChanged = false;
  if (attempt.failureClass !== null && SUSPECT.has(attempt.failureClass)) {
    await look(attempt.runtime);
    argvChanged = attempt.failureClass === "BAD_FLAG" && startsOtherwise(s, attempt.runtime, startup);
  }
  for (;;) {
    const decision = decideAfterFailure({ ...input, argvChanged, liveCandidates: fits });
    const member = job.route.chain[decision.candidateIndex];
    if (decision.action !== "promote" || member === undefined || asked.has(member.runtime)) return decision;
    await look(member.runtime);
  }
}

function startsOtherwise(s: Session, runtime: string, startup: Startup | null): boolean {
  const record = s.records.get(runtime);
  const next = record === undefined || startup === null ? null : startup.again(record);
  return next !== null && JSON.stringify(next) !== JSON.stringify(startup?.argv ?? null);
}

/** The new record, which counts for the rest of the run; null when the runtime is unknown. */
async function askAgain(s: Session, runtime: string): Promise<RuntimeRecord | null> {
  // graph.json holds entries that were validated when the run was prepared.
  const declared = s.graph.declaredRuntimes as unknown as Parameters<typeof takeInventory>[0]["declared"];
  const inventory: Inventory = await takeInventory({
    ids: [runtime],
    full: false,
    declared,
    env: s.env,
    clock: s.clock,
    exec,
    harness: s.graph.harness,
  });
  const found = inventory.records.find((record) => record.id === runtime);
  const planned = s.records.get(runtime);
  if (found === undefined) return null;
  // What the operator's files said of it when the run was planned stays as it was.
  const record: RuntimeRecord =
    planned === undefined
      ? found
      : {
          ...found,
          capability: planned.capability,
          capabilitySource: planned.capabilitySource,
          family: planned.family,
          familySource: planned.familySource,
        };
  s.renew(record);
  traceProbe(s, record);
  return record;
}
