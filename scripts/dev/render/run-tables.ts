/** Tables of a run: statuses and their transitions, failure classes, events, actions, runtimes. */
import type { NextAction } from "../../src/core/diagnostic.ts";
import type { OrchestrateEvent } from "../../src/core/generated/event.ts";
import { FAILURE_RULES, type FailureRule, REOPENABLE_BLOCKS } from "../../src/core/runtime.ts";
import { PROBE_TARGETS } from "../../src/runtimes/probe-targets.ts";
import { SHIPPED } from "../../src/runtimes/registry.ts";
import { ATTEMPT_EDGES, type Edge, RUN_EDGES } from "../../src/state/machine.ts";
import { repoFiles } from "../repo.ts";
import { code, codes, table } from "./markdown.ts";

export const RUN_TABLES: Readonly<Record<string, () => string>> = {
  "attempt-transitions": () => transitions(ATTEMPT_EDGES),
  "run-transitions": () => transitions(RUN_EDGES),
  "attempt-diagram": () => diagram(ATTEMPT_EDGES, "queued"),
  "run-diagram": () => diagram(RUN_EDGES, "preparing"),
  "failure-classes": failureClasses,
  "reopenable-blocks": () =>
    table(
      ["blocked because", "action that lifts it"],
      Object.entries(REOPENABLE_BLOCKS).map(([block, action]) => [code(block), code(action)]),
    ),
  "event-kinds": () =>
    table(
      ["kind", "tells"],
      Object.entries(EVENT_KINDS).map(([kind, tells]) => [code(kind), tells]),
    ),
  "next-actions": () =>
    table(
      ["action", "what to do"],
      Object.entries(NEXT_ACTIONS).map(([action, what]) => [code(action), what]),
    ),
  "runtime-matrix": runtimeMatrix,
  "runtime-targets": runtimeTargets,
  ...runtimeStates(),
};

const transitions = (edges: readonly Edge<string>[]): string =>
  table(
    ["from", "to", "when"],
    edges.map(({ from, to, why }) => [code(from), code(to), why]),
  );

function diagram(edges: readonly Edge<string>[], start: string): string {
  const lines = edges.filter(({ from, to }) => from !== to).map(({ from, to }) => `  ${from} --> ${to}`);
  return ["```mermaid", "stateDiagram-v2", `  [*] --> ${start}`, ...lines, "```"].join("\n");
}

function failureClasses(): string {
  const yes = (value: boolean): string => (value ? "yes" : "no");
  return table(
    ["class", "group", "retry", "promote", "attempt reads", "job ends as"],
    Object.entries(FAILURE_RULES as Readonly<Record<string, FailureRule>>).map(([name, rule]) => [
      code(name),
      rule.group,
      yes(rule.retry),
      yes(rule.promote),
      rule.attemptEndsAs,
      rule.endsAs,
    ]),
  );
}

const EVENT_KINDS: Readonly<Record<OrchestrateEvent["kind"], string>> = {
  lifecycle: "a change of status or phase, with what shows it",
  tool: "a tool call of the agent and whether it worked",
  error: "a fault that the runtime reported, with its class",
  artifact: "a file that the attempt left, with digest and size",
  usage: "tokens and cost as the runtime reported them; unknown stays null",
  permission: "a boundary that was asked about, and whether it was granted",
  progress: "what the agent claims to have done, with what it rests on",
  unknown: "a line that nobody understood; counted, never guessed",
};

const NEXT_ACTIONS: Readonly<Record<NextAction["action"], string>> = {
  dispatch_native: "start a subagent with the prompt in `promptFile`, then report `native start`",
  record_native: "hand in the subagent's answer: `native finish` or `native fail`",
  cancel_native: "stop the subagent, then report `native cancelled`",
  request_approval: "show words and scope to the user; run the choice, `approve` or `deny`, that they made",
  confirm_egress: "ask the user whether content may go to the provider; the run goes on without it",
  onboard_runtime: "show the user what is missing and the command that sets it up",
  fetch_benchmark: "fetch a page of measured results; the run goes on without it",
  arbitrate_native: "give the evidence bundle to a fresh, read-only subagent; hand in its `verdict`",
  resolve_conflict: "let the user merge the named commits, then `resume` from that commit",
  wait: "nothing to do but to wait: call `wait`",
  resume: "something outside has to change first; then `resume`",
  read_report: "the run is settled: read the report",
};

function runtimeMatrix(): string {
  const rows = SHIPPED.map((adapter) => [
    `${code(adapter.id)}`,
    adapter.kind === "internal" ? "in-session" : adapter.agent ? "agent CLI" : "program",
    adapter.executable === null ? "part of the tool or the harness" : code(adapter.executable),
    adapter.vendor ?? "any",
    adapter.output,
    adapter.resume,
    adapter.fork,
    adapter.effortLevels.length === 0 ? "none" : codes(adapter.effortLevels),
    adapter.executable === null ? "built in" : String(streamsOf(adapter.id)),
  ]);
  return table(
    ["runtime", "kind", "program", "vendor", "output", "resume", "fork", "effort levels", "recorded streams"],
    rows,
  );
}

/** A target graduates when runs of it are recorded: the state is counted, never claimed. */
function runtimeTargets(): string {
  const rows = PROBE_TARGETS.map((target) => [
    code(target.id),
    code(target.executable),
    target.programs.map((program) => program.name).join(", "),
    String(streamsOf(target.id)),
    stateOf(target.id),
  ]);
  return table(["target", "program", "told apart by their help", "recorded streams", "state"], rows);
}

/** `runtime-state:ID` for the head of each note. */
function runtimeStates(): Record<string, () => string> {
  const ids = [
    ...SHIPPED.flatMap((adapter) => (adapter.executable === null ? [] : [adapter.id])),
    ...PROBE_TARGETS.map((target) => target.id),
  ];
  return Object.fromEntries(
    ids.map((id) => [
      `runtime-state:${id}`,
      () =>
        stateOf(id) === "stub"
          ? "> **Stub**: a probe target, see [the index](README.md)."
          : `Recorded: ${streamsOf(id)} streams of real runs, replayed by the tests.`,
    ]),
  );
}

const RECORDED = repoFiles().filter((path) => path.startsWith("scripts/tests/fixtures/streams/"));
const streamsOf = (id: string): number =>
  RECORDED.filter((path) => path.startsWith(`scripts/tests/fixtures/streams/${id}-`)).length;
const stateOf = (id: string): "recorded" | "stub" => (streamsOf(id) > 0 ? "recorded" : "stub");
