/** Job specs to start from, for `init`. Each validates as it is; the prompts are meant to be replaced. */

/** Where an editor finds the schema of a job spec; an identifier for us, never fetched by this tool. */
const EDITOR_SCHEMA =
  "https://raw.githubusercontent.com/bestagentkits/orchestrate/main/schemas/jobs.schema.json";

const HEAD = `# yaml-language-server: $schema=${EDITOR_SCHEMA}
`;

const RESEARCH = `# Research: questions that do not depend on each other run in parallel, one job compares the answers.
version: 1
name: research
outcome: A comparison that says which option to take and why.
constraints:
  - Nothing is changed; only sources that anybody can open count.
acceptance:
  - Every claim names its source.
concurrency: 3
defaults:
  timeout: 10m
jobs:
  - id: option-a
    task: scout # reads and reports, writes nothing
    prompt: |
      Describe the first option: how it works, what it costs, where it fails.
    expected_output: One page of Markdown with sources.

  - id: option-b
    task: scout
    prompt: |
      Describe the second option: how it works, what it costs, where it fails.
    expected_output: One page of Markdown with sources.

  - id: compare
    task: architecture # judgment: needs a runtime of capability C3
    depends_on: [option-a, option-b] # their results are part of this job's brief
    prompt: |
      Compare the options by effort, risk and running cost. Recommend one.
    expected_output: A table, a recommendation, and what remains uncertain.
`;

const REFACTOR = `# Refactor: one job changes the code inside paths that it owns, a command checks it, another job reviews it.
version: 1
name: refactor
outcome: The module has the new structure and behaves as before.
constraints:
  - Public names stay as they are.
acceptance:
  - The tests pass without a change to them.
defaults:
  timeout: 20m
jobs:
  - id: refactor
    task: implement
    isolation: worktree # works on a branch of its own; nothing is merged without you
    owned_paths: ["src/**"] # a change outside fails the job
    prompt: |
      Say what to restructure, and what must not change.
    expected_output: The refactored files and a short summary of the steps.
    verification: # run by the coordinator itself, without a shell
      - command: npm
        args: [test]

  - id: review
    task: review # a second opinion; it accepts nothing by itself
    depends_on: [refactor]
    prompt: |
      Review the change for altered behaviour, lost error handling and dead code.
    expected_output: Findings with file and line, or the statement that there are none.
`;

const REVIEW_PANEL = `# Review panel: several views on the same code, each from a fresh session, then one summary.
version: 1
name: review-panel
outcome: A ranked list of what to fix before the release.
constraints:
  - Nothing is changed; a finding names the lines it is about.
acceptance:
  - Every finding can be shown in the code.
concurrency: 3
defaults:
  timeout: 15m
jobs:
  - id: correctness
    task: review
    prompt: |
      Look for wrong results, unhandled errors and races. Say how to reproduce each.
    expected_output: Findings with file, line, severity and evidence.

  - id: security
    task: security
    prompt: |
      Look for injection, missing authorization, leaked secrets and unsafe defaults.
    expected_output: Findings with file, line, severity and evidence.

  - id: tests
    task: audit
    prompt: |
      Which behaviour is not tested, and which tests could not fail?
    expected_output: Findings with file, line, severity and evidence.

  - id: summary
    task: architecture
    depends_on: [correctness, security, tests]
    prompt: |
      Merge the findings, drop duplicates, name contradictions, rank what remains.
    expected_output: One ranked list; each entry names the finding it comes from.
`;

const MIGRATE = `# Migration: the same change in several places at once, each in its own worktree, then one check of the whole.
version: 1
name: migrate
outcome: Every caller uses the new interface.
constraints:
  - Behaviour stays as it is.
acceptance:
  - No use of the old interface is left.
concurrency: 2
defaults:
  timeout: 20m
jobs:
  - id: server
    task: mechanical
    owned_paths: ["server/**"] # jobs that run in parallel must own different paths
    prompt: |
      Replace every use of the old interface in server/ by the new one.
    expected_output: The changed files and a list of the places.
    verification:
      - command: npm
        args: [test]

  - id: client
    task: mechanical
    owned_paths: ["client/**"]
    prompt: |
      Replace every use of the old interface in client/ by the new one.
    expected_output: The changed files and a list of the places.
    verification:
      - command: npm
        args: [test]

  - id: check
    task: review
    depends_on: [server, client]
    prompt: |
      Look for uses that were missed and for places where the meaning changed.
    expected_output: Findings with file and line, or the statement that there are none.
`;

/** Name → commented job spec. The names are the values of `init --template`. */
export const TEMPLATES: Readonly<Record<string, string>> = {
  research: HEAD + RESEARCH,
  refactor: HEAD + REFACTOR,
  "review-panel": HEAD + REVIEW_PANEL,
  migrate: HEAD + MIGRATE,
};
