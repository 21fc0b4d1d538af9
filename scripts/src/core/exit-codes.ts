/** Exit codes of every command (contract section 15). Help pages and documents render this table. */
export const EXIT = {
  done: 0,
  settledWithFaults: 1,
  usage: 2,
  actionDue: 3,
  environment: 4,
  owned: 5,
  interrupted: 130,
  detached: 143,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANING: Readonly<Record<ExitCode, string>> = {
  0: "done; for run, resume and wait: every job accepted",
  1: "settled with failed, rejected or blocked jobs and nothing to act on; or a check command found faults",
  2: "usage error or invalid spec",
  3: "not settled: `next[]` holds an action that is due, or `wait` reached its --timeout",
  4: "environment or state fault",
  5: "another coordinator owns the run",
  130: "interrupted, resumable",
  143: "the client was ended and the run goes on, or the coordinator was, resumable",
};
