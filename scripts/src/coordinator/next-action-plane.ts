/** What the decision plane adds to `next[]`: the question for leave, and its proposals as choices beside what is due anyway. */
import type { NextAction } from "../core/diagnostic.ts";
import type { Attempt, State } from "../core/runtime.ts";
import { command, type NextInput, type Offer } from "./next-action-command.ts";

const MAX_CHOICES = 5;

/** One for each leave that nobody has confirmed or denied. It never pauses a run. */
export function egressOffers(input: NextInput): Offer[] {
  return (input.state.plane?.egress ?? [])
    .filter(({ status }) => status === "asked")
    .map(({ id, words }) => ({
      action: "confirm_egress",
      make: () => ({
        id: `confirm_egress:${id.slice(0, 12)}`,
        action: "confirm_egress",
        reason: `Ask the user, who alone may decide, and run the choice that they made; the command only shows the run. ${words}? Without it the decision plane is off and the run goes on.`,
        // Whoever runs what an action says must not give leave by it.
        ...command(input, ["status", input.runDir]),
        choices: [
          {
            label: "only after the user said yes: give leave",
            ...command(input, ["approve", input.runDir, "--egress", id]),
          },
          {
            label: "only after the user said no: deny it",
            ...command(input, ["deny", input.runDir, "--egress", id]),
          },
        ],
      }),
    }));
}

type Choices = NonNullable<NextAction["choices"]>;

/** The action with the plane's proposals for the jobs it is about; they are words for a person, and no default. */
export function withProposals(input: NextInput, action: NextAction): NextAction {
  const choices = [...(action.choices ?? []), ...proposals(input)].slice(0, MAX_CHOICES);
  return choices.length === 0 ? action : { ...action, choices };
}

function proposals(input: NextInput): Choices {
  return input.graph.jobs.flatMap(({ id }) => {
    const attempt = input.state.jobs[id]?.attemptRecords.at(-1);
    const proposal = attempt?.proposal;
    if (attempt === undefined || proposal == null || !isCurrent(attempt, proposal, input.state)) return [];
    const argv = argvOf(input, id, proposal.kind);
    return argv === null
      ? []
      : [
          {
            label: `the decision plane proposes: ${WORDS[proposal.kind]} \`${id}\``,
            ...command(input, argv),
          },
        ];
  });
}

type Proposal = NonNullable<Attempt["proposal"]>;

/** The watchdog speaks of running work, triage of work that failed and was not tried again. */
const isCurrent = (attempt: Attempt, proposal: Proposal, state: State): boolean =>
  proposal.from === "watchdog"
    ? attempt.status === "running" && state.status === "running"
    : attempt.status !== "running" && attempt.status !== "success";

const WORDS: Readonly<Record<Proposal["kind"], string>> = {
  look: "look at",
  end: "end",
  "look-again": "probe the host again for",
  retry: "run again",
  "change-input": "change the input of",
  "other-runtime": "use another runtime for",
  approve: "approve what is needed by",
  "ask-user": "ask the user about",
};

function argvOf(input: NextInput, jobId: string, kind: Proposal["kind"]): string[] | null {
  switch (kind) {
    case "look":
    case "ask-user":
      return ["logs", jobId, "--run", input.runDir];
    case "end":
      return ["cancel", input.runDir, "--job", jobId];
    case "look-again":
      return ["doctor"];
    case "retry":
      return ["resume", input.runDir, "--retry", jobId];
    // Nothing but a new spec does these.
    case "change-input":
    case "other-runtime":
    case "approve":
      return ["explain", input.runDir, jobId];
  }
}
