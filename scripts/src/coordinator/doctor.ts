/** What on this host would hang or weaken a run, each with the one command that fixes it. */
import { accessSync, constants, existsSync, readFileSync, statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { CONFIG_DIR } from "../core/layout.ts";
import type { Inventory, RuntimeRecord } from "../core/runtime.ts";
import { quoteShell } from "../core/shell-quote.ts";
import type { Environment } from "../host/env.ts";
import { explainNoRepo, findRepo, gitVersion, MIN_GIT } from "../host/git.ts";
import type { TargetFinding } from "../run/find-targets.ts";
import { loginOf } from "../runtimes/onboarding.ts";
import { SHIPPED } from "../runtimes/registry.ts";
import type { Smoke } from "./smoke.ts";
import { targetText } from "./target-text.ts";

export interface HostFault {
  readonly subject: string;
  /** `fault` stops or hangs work; `note` only limits what is possible. */
  readonly weight: "fault" | "note";
  readonly what: string;
  /** One command, or null where none helps. */
  readonly fix: string | null;
}

export interface HostExamination {
  readonly inventory: Inventory;
  readonly env: Environment;
  readonly root: string;
  readonly harness: { readonly name: string; readonly subagents: boolean };
  readonly targets: readonly TargetFinding[];
  /** Null: nothing was asked. */
  readonly smokes: readonly Smoke[] | null;
  readonly node: readonly [number, number];
  /** A command of this tool as one line to paste. */
  readonly own: (...argv: readonly string[]) => string;
}

/** What `findFaults` looks at, so that "nothing found" says what was looked for. */
export const EXAMINED = [
  "node",
  "git",
  "folders",
  "disk",
  "login",
  "keys",
  "sandbox",
  "stdin",
  "trust",
  "runtimes",
  "harness",
] as const;

/** Heaviest first. */
export async function findFaults(o: HostExamination): Promise<HostFault[]> {
  const found = [
    ...nodeFaults(o),
    ...(await gitFaults(o.env)),
    ...folderFaults(o),
    ...diskFaults(o),
    ...runtimeFaults(o),
    ...envFileNotes(o),
    ...targetNotes(o.targets),
    ...smokeFaults(o),
    ...harnessNotes(o),
  ];
  return [...found.filter(isHard), ...found.filter((one) => !isHard(one))];
}

const isHard = (one: HostFault): boolean => one.weight === "fault";
const fault = (subject: string, what: string, fix: string | null): HostFault => ({
  subject,
  weight: "fault",
  what,
  fix,
});
const note = (subject: string, what: string, fix: string | null): HostFault => ({
  subject,
  weight: "note",
  what,
  fix,
});

/** The oldest Node that the tool is tested on. */
const MIN_NODE = [20, 19] as const;

const nodeFaults = ({ node: [major, minor], own }: HostExamination): HostFault[] =>
  major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
    ? []
    : [
        fault(
          "node",
          `Node ${major}.${minor} is older than ${MIN_NODE.join(".")}, which this tool needs.`,
          own("doctor").replace(/^node /, "npx --yes node@22 "),
        ),
      ];

async function gitFaults(env: Environment): Promise<HostFault[]> {
  const version = await gitVersion(env.cwd);
  if (version === null)
    return [fault("git", "git cannot be started: no job can have a worktree.", packageCommand("git", env))];
  const [major = 0, minor = 0] = version;
  if (major < MIN_GIT[0] || (major === MIN_GIT[0] && minor < MIN_GIT[1]))
    return [
      fault(
        "git",
        `git ${version.join(".")} is older than ${MIN_GIT.join(".")}: results of jobs cannot be merged without a checkout.`,
        packageCommand("git", env),
      ),
    ];
  const repo = await findRepo(env.cwd);
  if (repo === null) {
    const why = await explainNoRepo(env.cwd);
    return [note("git", `${why.detail}: jobs that need a worktree are blocked (no-git).`, why.fix)];
  }
  if (repo.head.commit === null)
    return [
      fault(
        "git",
        "The repository has no commit: a worktree has nothing to start from (no-base-commit).",
        "git add -A && git commit -m start",
      ),
    ];
  const notes: HostFault[] = [];
  if (repo.dirtyCount > 0)
    notes.push(
      note(
        "git",
        `${repo.dirtyCount} uncommitted path${repo.dirtyCount === 1 ? "" : "s"}: worktrees start from the last commit, without them.`,
        "git stash --include-untracked",
      ),
    );
  if (repo.shallow)
    notes.push(
      note(
        "git",
        "The clone is shallow: merging results may miss a common ancestor.",
        "git fetch --unshallow",
      ),
    );
  if (repo.submodules)
    notes.push(
      note(
        "git",
        "Submodules are not checked out in worktrees unless the spec says so: `worktree_setup: [{command: git, args: [submodule, update, --init]}]`.",
        null,
      ),
    );
  return notes;
}

const MANAGERS: readonly (readonly [file: string, command: string])[] = [
  ["/usr/bin/apt-get", "sudo apt-get install"],
  ["/usr/bin/dnf", "sudo dnf install"],
  ["/sbin/apk", "sudo apk add"],
  ["/usr/bin/pacman", "sudo pacman -S"],
  ["/opt/homebrew/bin/brew", "brew install"],
  ["/usr/local/bin/brew", "brew install"],
];

function packageCommand(name: string, env: Environment): string | null {
  if (env.platform === "win32") return `winget install ${name}`;
  const manager = MANAGERS.find(([file]) => existsSync(file));
  return manager === undefined ? null : `${manager[1]} ${name}`;
}

function folderFaults({ env, root }: HostExamination): HostFault[] {
  const shut = (path: string, why: string): HostFault[] =>
    isWritable(path)
      ? []
      : [fault("folder", `\`${path}\` is not writable: ${why}.`, `chmod u+rwx ${quoteShell(path)}`)];
  return [
    ...shut(root, "a run directory cannot be made there"),
    ...shut(env.tmp, "runtimes cannot be asked, they are probed there"),
    ...shut(existing(join(env.home, CONFIG_DIR)), "policy and confirmations cannot be kept"),
  ];
}

const existing = (path: string): string => (existsSync(path) ? path : dirname(path));

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A run keeps captures, worktrees and its state; below the first line the next write may fail. */
const DISK = { faultBelow: 100 * 1024 * 1024, noteBelow: 1024 * 1024 * 1024 } as const;

function diskFaults({ env, root }: HostExamination): HostFault[] {
  return [...new Set([root, env.tmp])].flatMap((path) => {
    const free = freeBytes(path);
    if (free === null || free >= DISK.noteBelow) return [];
    const what = `\`${path}\` has ${Math.floor(free / 1024 / 1024)} MB left: worktrees and captures need room.`;
    const fix = `du -xsh ${quoteShell(path)}/* | sort -h | tail`;
    return [free < DISK.faultBelow ? fault("disk", what, fix) : note("disk", what, fix)];
  });
}

function freeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize;
  } catch {
    return null;
  }
}

function runtimeFaults(o: HostExamination): HostFault[] {
  const agents = o.inventory.records.filter(
    (record) => record.kind === "cli" && record.role === "agent" && record.id !== "mock",
  );
  const found = agents.filter((record) => record.binary !== null);
  const faults = found.flatMap((record) => recordFaults(record, o));
  if (found.length === 0)
    faults.push(
      note(
        "runtimes",
        "No coding-agent CLI was found on PATH: only `mock`, declared programs and the harness's own subagents can work.",
        o.own("onboard", "claude"),
      ),
    );
  return faults;
}

function recordFaults(record: RuntimeRecord, o: HostExamination): HostFault[] {
  const { id } = record;
  const found: HostFault[] = [];
  // What the question of `--smoke` showed is said once, by `smokeFaults`.
  const told = o.smokes?.some((smoke) => !smoke.ok && smoke.runtime === id) === true;
  if (record.authenticated === false && !told)
    found.push(
      fault(id, `not logged in: every job on it would end as AUTH.${thenInside(record)}`, logIn(record)),
    );
  else if (record.state === "unavailable" && !told) found.push(unusable(record, o));
  if (record.reason === "sandbox-missing")
    found.push(
      fault(
        id,
        "its own sandbox does not work here: every command of a job would be refused, and it cannot carry R2 or R3.",
        sandboxCommand(o.env) ?? o.own("probe", id),
      ),
    );
  if (record.authSource === "key") {
    const names = keysOf(id).filter((name) => (o.env.get(name) ?? "") !== "");
    if (names.length > 0)
      found.push(
        note(
          id,
          `${names.map((name) => `\`${name}\``).join(", ")} is set: it is billed by that key, even where a subscription is logged in.`,
          `unset ${names.join(" ")}`,
        ),
      );
  }
  if (record.gateway)
    found.push(
      note(
        id,
        "its base URL is overridden, so what answers may not be the vendor: it counts as C2 with an unknown family.",
        o.own("policy", "set", id, "--capability", "C3", "--family", "NAME"),
      ),
    );
  return found;
}

function unusable(record: RuntimeRecord, o: HostExamination): HostFault {
  const { id, reason } = record;
  if (reason === "probe-timeout")
    return fault(
      id,
      "does not answer `--version` or `--help` with its input closed: a job on it would hang.",
      `${quoteShell(record.binary ?? id)} --version </dev/null`,
    );
  if (reason?.startsWith("flag-missing") === true) {
    const missing = reason.slice("flag-missing: ".length);
    return SHIPPED.some((adapter) => adapter.id === id)
      ? fault(
          id,
          `its live help does not list what a job needs (${missing}): another release or another program of that name.`,
          o.own("onboard", id),
        )
      : fault(
          id,
          `its live help does not list what its entry in \`runtimes.yaml\` names (${missing}): correct the entry, then look again.`,
          o.own("probe", id),
        );
  }
  return fault(id, `unusable here: ${reason ?? "its probe failed"}.`, o.own("probe", id));
}

/** Where nobody recorded the login, the program itself is where its user looks for it. */
const logIn = ({ id, binary }: RuntimeRecord): string => loginOf(id)?.login ?? quoteShell(binary ?? id);
const thenInside = ({ id }: RuntimeRecord): string => {
  const inside = loginOf(id)?.inside ?? null;
  return inside === null ? "" : ` Type \`${inside}\` in it.`;
};

const keysOf = (id: string): readonly string[] =>
  SHIPPED.find((adapter) => adapter.id === id)?.providerEnv ?? [];

/** What keeps an unprivileged sandbox from working, in the order in which kernels have it. */
const SANDBOX_SWITCHES: readonly (readonly [file: string, bad: string, command: string])[] = [
  ["/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
  [
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "1",
    "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  ],
];

function sandboxCommand(env: Environment): string | null {
  if (env.platform !== "linux") return null;
  const off = SANDBOX_SWITCHES.find(([file, bad]) => readOrNull(file)?.trim() === bad);
  return off === undefined ? packageCommand("bubblewrap", env) : off[2];
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Some CLIs read a `.env` in the folder they work in: a key in it would bill jobs that use the checkout itself. */
function envFileNotes({ root }: HostExamination): HostFault[] {
  const text = readOrNull(join(root, ".env"));
  if (text === null) return [];
  const known = new Set(SHIPPED.flatMap((adapter) => adapter.providerEnv));
  const names = [...text.matchAll(/^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*\S/gm)]
    .map((match) => match[1] as string)
    .filter((name) => known.has(name));
  if (names.length === 0) return [];
  return [
    note(
      ".env",
      `\`${join(root, ".env")}\` holds ${[...new Set(names)].map((name) => `\`${name}\``).join(", ")}: a CLI that reads it bills jobs in this checkout by that key (jobs in a worktree do not see it).`,
      `mv ${quoteShell(join(root, ".env"))} ${quoteShell(join(root, ".env.off"))}`,
    ),
  ];
}

const targetNotes = (targets: readonly TargetFinding[]): HostFault[] =>
  targets.map((one) => note(one.id, targetText(one).slice(one.id.length + 2), null));

function smokeFaults({ smokes, own, root }: HostExamination): HostFault[] {
  return (smokes ?? [])
    .filter((smoke) => !smoke.ok)
    .map((smoke) => {
      const { runtime, failureClass, detail, record } = smoke;
      const said = detail === null ? "" : ` (${detail})`;
      if (failureClass === "TRUST")
        return fault(
          runtime,
          `unusable: trust. In a worktree it never saw it asks whether to trust the folder, and nobody answers${said}. Answer it once, on a terminal.`,
          `cd ${quoteShell(root)} && ${quoteShell(record.binary ?? runtime)}`,
        );
      if (failureClass === "AUTH")
        return fault(runtime, `its login was refused${said}.${thenInside(record)}`, logIn(record));
      return fault(
        runtime,
        `one tiny question ended as ${failureClass ?? "UNKNOWN"}${said}.`,
        own("probe", runtime, "--smoke"),
      );
    });
}

const harnessNotes = ({ harness, own }: HostExamination): HostFault[] =>
  harness.subagents
    ? []
    : [
        note(
          "harness",
          "no harness said that it dispatches subagents: `internal` jobs are blocked (no-harness).",
          own("run", "SPEC", "--harness", "NAME", "--subagents"),
        ),
      ];
