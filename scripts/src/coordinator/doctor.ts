/** What on this host would hang or weaken a run, each with the one command that fixes it. */

import { accessSync, constants } from "node:fs";
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { TOOL } from "../core/tool-word.ts";
import type { Environment } from "../host/env.ts";
import { findRepo, gitVersion, MIN_GIT } from "../host/git.ts";

export interface HostFault {
  readonly subject: string;
  /** `fault` stops or hangs work; `note` only limits what is possible. */
  readonly weight: "fault" | "note";
  readonly what: string;
  readonly fix: string | null;
}

export async function findFaults(o: {
  readonly inventory: Inventory;
  readonly env: Environment;
  readonly harness: { readonly name: string; readonly subagents: boolean };
}): Promise<HostFault[]> {
  return [
    ...(await gitFaults(o.env)),
    ...writableFaults(o.env),
    ...runtimeFaults(o.inventory),
    ...harnessNotes(o.harness),
  ];
}

async function gitFaults(env: Environment): Promise<HostFault[]> {
  const version = await gitVersion(env.cwd);
  if (version === null)
    return [
      {
        subject: "git",
        weight: "fault",
        what: "git cannot be started: no job can have a worktree.",
        fix: "install git 2.38 or newer",
      },
    ];
  const [major = 0, minor = 0] = version;
  if (major < MIN_GIT[0] || (major === MIN_GIT[0] && minor < MIN_GIT[1]))
    return [
      {
        subject: "git",
        weight: "fault",
        what: `git ${version.join(".")} is older than ${MIN_GIT.join(".")}: results of jobs cannot be merged without a checkout.`,
        fix: "install a newer git",
      },
    ];
  const repo = await findRepo(env.cwd);
  if (repo === null)
    return [
      {
        subject: "git",
        weight: "note",
        what: `\`${env.cwd}\` is not inside a git repository: jobs that need a worktree are blocked (no-git).`,
        fix: "git init && git add -A && git commit -m start",
      },
    ];
  if (repo.head.commit === null)
    return [
      {
        subject: "git",
        weight: "fault",
        what: "The repository has no commit: a worktree has nothing to start from (no-base-commit).",
        fix: "git add -A && git commit -m start",
      },
    ];
  const notes: HostFault[] = [];
  if (repo.dirtyCount > 0)
    notes.push({
      subject: "git",
      weight: "note",
      what: `${repo.dirtyCount} uncommitted paths: worktrees start from the last commit, without them.`,
      fix: "git stash, or commit them",
    });
  if (repo.shallow)
    notes.push({
      subject: "git",
      weight: "note",
      what: "The clone is shallow: merging results may miss a common ancestor.",
      fix: "git fetch --unshallow",
    });
  if (repo.submodules)
    notes.push({
      subject: "git",
      weight: "note",
      what: "Submodules are not checked out in worktrees.",
      fix: "worktree_setup: [{command: git, args: [submodule, update, --init]}]",
    });
  return notes;
}

function writableFaults(env: Environment): HostFault[] {
  try {
    accessSync(env.cwd, constants.W_OK);
    return [];
  } catch {
    return [
      {
        subject: "folder",
        weight: "fault",
        what: `\`${env.cwd}\` is not writable: a run directory cannot be made.`,
        fix: "run from a writable folder, or use --run-dir",
      },
    ];
  }
}

function runtimeFaults(inventory: Inventory): HostFault[] {
  const agents = inventory.records.filter(
    (record) => record.kind === "cli" && record.role === "agent" && record.id !== "mock",
  );
  const found = agents.filter((record) => record.binary !== null);
  const faults = found.flatMap(recordFaults);
  if (found.length === 0)
    faults.push({
      subject: "runtimes",
      weight: "note",
      what: "No coding-agent CLI was found on PATH: only `mock`, declared programs and the harness's own subagents can work.",
      fix: "install one of the supported CLIs",
    });
  return faults;
}

function recordFaults(record: RuntimeRecord): HostFault[] {
  const faults: HostFault[] = [];
  if (record.authenticated === false)
    faults.push({
      subject: record.id,
      weight: "fault",
      what: "not logged in: every job on it would end as AUTH.",
      fix: LOGIN[record.id] ?? `log in with \`${record.id}\` once, on a terminal`,
    });
  if (record.state === "unavailable" && record.authenticated !== false)
    faults.push({
      subject: record.id,
      weight: "fault",
      what: `unusable here: ${record.reason ?? "its probe failed"}.`,
      fix: `${TOOL} probe ${record.id}`,
    });
  if (record.gateway)
    faults.push({
      subject: record.id,
      weight: "note",
      what: "its base URL is overridden, so what answers may not be the vendor: it counts as C2 with an unknown family.",
      fix: "state capability and family in ~/.orchestrate/policy.yaml",
    });
  return faults;
}

/** Interactive, on the user's own terminal: we never log in for anybody. */
const LOGIN: Readonly<Record<string, string>> = {
  claude: "claude /login",
  codex: "codex login",
  gemini: "gemini",
  opencode: "opencode auth login",
  pi: "pi /login",
};

const harnessNotes = (harness: { name: string; subagents: boolean }): HostFault[] =>
  harness.subagents
    ? []
    : [
        {
          subject: "harness",
          weight: "note",
          what: "no harness said that it dispatches subagents: `internal` jobs are blocked (no-harness).",
          fix: "--harness NAME --subagents",
        },
      ];
