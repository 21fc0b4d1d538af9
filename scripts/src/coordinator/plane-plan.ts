/** The plane's part in planning: floors that it may raise, hints for the inventory, and how jobs relate. Each answer is a value; the planner stays deterministic. */
import type { DecisionRecord } from "../core/generated/decision.ts";
import { PLANE_LIMITS } from "../core/policy.ts";
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { looksSecretName } from "../core/secret-patterns.ts";
import type { PlanGraph } from "../plan/build-plan.ts";
import { scoresOf } from "../plane/answer.ts";
import type { StatePiece } from "../plane/envelope.ts";
import { pairsToAsk, type RelationProposal, relationProposal } from "../plane/relation.ts";
import { type FloorTargets, routerCouldRaise, routerTargets } from "../plane/router.ts";
import type { PlaneTask } from "../plane/tasks.ts";
import { redactText } from "../run/redact.ts";
import { type Asked, askPlane, type Question } from "./plane-ask.ts";
import { type PlaneInput, type PlaneSetup, planeStanding } from "./plane-setup.ts";

/** A decision made before there is a run: it gets the run's id when there is one. */
export type PlanDecision = Omit<DecisionRecord, "runId" | "spanId" | "riskTier">;

export interface PlanPlane {
  /** Job id → floors that the router proposes. */
  readonly targets: ReadonlyMap<string, FloorTargets>;
  readonly inventory: Inventory;
  readonly relations: readonly RelationProposal[];
  readonly decisions: readonly PlanDecision[];
}

/** Asks what could change the plan of `graph`, within fixed numbers of questions; stops at the first that is not answered. */
export async function planPlane(o: {
  readonly input: PlaneInput;
  readonly graph: PlanGraph;
  readonly inventory: Inventory;
  readonly dryRun: boolean;
}): Promise<PlanPlane> {
  const { setup } = planeStanding(o.input, { records: o.inventory.records, malformed: false });
  const nothing = {
    targets: new Map<string, FloorTargets>(),
    inventory: o.inventory,
    relations: [],
    decisions: [],
  };
  if (setup === null) return nothing;
  const asker = createAsker(o.input, setup, o.dryRun);
  const targets = await askRouter(asker, o.graph);
  // Hints and relations belong to a run's record; a dry run has none.
  const inventory = o.dryRun ? o.inventory : await askProfiler(asker, o.inventory);
  const relations = o.dryRun ? [] : await askRelations(asker, o.graph);
  return { targets, inventory, relations, decisions: asker.decisions };
}

interface Asker {
  readonly decisions: PlanDecision[];
  /** Null once a question was not answered: nothing is tried twice, and nobody waits for the next timeout. */
  ask<T extends PlaneTask>(question: Question<T>): Promise<Asked<T> | null>;
  note<T extends PlaneTask>(
    asked: Asked<T>,
    o: { applied: boolean; outcomeRef: string | null; lowConfidence: boolean },
  ): void;
}

function createAsker(input: PlaneInput, setup: PlaneSetup, dryRun: boolean): Asker {
  const secrets = Object.entries(input.env.all())
    .filter(([name, value]) => looksSecretName(name) && value.length >= 8)
    .map(([, value]) => value);
  const key = setup.credential.value;
  const values = key === null ? secrets : [...secrets, key];
  const decisions: PlanDecision[] = [];
  let count = 0;
  let stopped = false;
  return {
    decisions,
    async ask(question) {
      if (stopped) return null;
      count += 1;
      const asked = await askPlane(
        {
          setup,
          env: input.env,
          root: input.root,
          marker: `plan#plane#${count}`,
          redact: (text) => redactText(text, values),
          dryRun,
        },
        question,
      );
      if (asked.answers !== null) return asked;
      stopped = true;
      decisions.push({ ...asked.decision, applied: false, outcomeRef: null });
      return null;
    },
    note(asked, { applied, outcomeRef, lowConfidence }) {
      const reason = lowConfidence ? "low_confidence" : asked.decision.reason;
      decisions.push({ ...asked.decision, reason, applied, outcomeRef });
    },
  };
}

/** Questions that run at the same time. */
const AT_ONCE = 4;

async function askRouter(asker: Asker, graph: PlanGraph): Promise<Map<string, FloorTargets>> {
  const targets = new Map<string, FloorTargets>();
  const jobs = graph.jobs.filter(routerCouldRaise).slice(0, PLANE_LIMITS.routerMaxJobs);
  for (let at = 0; at < jobs.length; at += AT_ONCE) {
    const batch = jobs.slice(at, at + AT_ONCE);
    const answered = await Promise.all(batch.map((job) => asker.ask(routerQuestion(job))));
    for (const [index, asked] of answered.entries()) {
      if (asked?.answers == null) continue;
      const job = batch[index] as PlanGraph["jobs"][number];
      const target = routerTargets(asked.answers);
      const raises = isAbove(target.capability, job.capabilityFloor) || isAbove(target.risk, job.riskTier);
      targets.set(job.id, target);
      asker.note(asked, {
        applied: raises,
        outcomeRef: raises ? `jobs/${job.id}/floors` : null,
        lowConfidence: target.capability === null && target.risk === null,
      });
    }
  }
  return targets;
}

function routerQuestion(job: PlanGraph["jobs"][number]): Question<"router"> {
  const facts = {
    task: job.task,
    effect: job.effect,
    importance: job.importance,
    writer: job.writer,
    capabilityFloor: job.capabilityFloor,
    riskTier: job.riskTier,
    tierDerivation: job.tierDerivation,
  };
  return {
    task: "router",
    jobId: job.id,
    attempt: null,
    pieces: [
      { label: "facts", provenance: "coordinator", contentClass: "prompt", text: JSON.stringify(facts) },
      ...intentOf(job),
    ],
  };
}

/** Tiers of one axis sort by their names. */
const isAbove = (target: string | null, derived: string): boolean => target !== null && target > derived;

const intentOf = (job: {
  prompt: string | null;
  skill: string | null;
  expectedOutput: string;
}): StatePiece[] =>
  [
    { label: "intent", text: job.prompt ?? job.skill ?? "" },
    { label: "expected_output", text: job.expectedOutput },
  ]
    .filter(({ text }) => text !== "")
    .map(({ label, text }) => ({ label, provenance: "spec", contentClass: "prompt", text }));

async function askProfiler(asker: Asker, inventory: Inventory): Promise<Inventory> {
  const hints = new Map<string, Record<string, number>>();
  const open = inventory.records.filter(isUnproven).slice(0, PLANE_LIMITS.profilerMaxRuntimes);
  for (const record of open) {
    const facts = {
      id: record.id,
      state: record.state,
      version: record.version,
      flags: record.flags,
      evidence: record.evidence,
      notes: record.notes,
    };
    const asked = await asker.ask({
      task: "profiler",
      jobId: null,
      attempt: null,
      pieces: [
        // What a runtime printed about itself is its own word.
        { label: "profile", provenance: "job", contentClass: "trace", text: JSON.stringify(facts) },
      ],
    });
    if (asked?.answers == null) break;
    hints.set(record.id, scoresOf(asked.answers));
    asker.note(asked, {
      applied: true,
      outcomeRef: `runtimes/${record.id}/classifier_hint`,
      lowConfidence: false,
    });
  }
  return {
    ...inventory,
    records: inventory.records.map((record) => ({
      ...record,
      classifier_hint: hints.get(record.id) ?? record.classifier_hint,
    })),
  };
}

/** A live agent with something that no probe could prove. */
function isUnproven(record: RuntimeRecord): boolean {
  if (record.role !== "agent" || record.kind !== "cli" || record.id === "mock") return false;
  if (record.state !== "available" && record.state !== "constrained") return false;
  const concerns = [record.approval, record.toolGating, record.writeBoundary, record.isolation];
  return concerns.some((concern) => concern.evidence === "unverified") || record.resume === "unverified";
}

async function askRelations(asker: Asker, graph: PlanGraph): Promise<RelationProposal[]> {
  const proposals: RelationProposal[] = [];
  const byId = new Map(graph.jobs.map((job) => [job.id, job]));
  for (const pair of pairsToAsk(graph.jobs, PLANE_LIMITS.relationMaxPairs).pairs) {
    const pieces = pair.flatMap((id, at): StatePiece[] => {
      const job = byId.get(id);
      return job === undefined
        ? []
        : intentOf(job).map((one) => ({ ...one, label: `${at === 0 ? "first" : "second"}.${one.label}` }));
    });
    const asked = await asker.ask({ task: "graph_relation", jobId: pair[0], attempt: null, pieces });
    if (asked?.answers == null) break;
    const proposal = relationProposal(pair, asked.answers);
    if (proposal !== null) proposals.push(proposal);
    asker.note(asked, {
      applied: false,
      outcomeRef: `pair:${pair.join("+")}`,
      lowConfidence: proposal === null,
    });
  }
  return proposals;
}
