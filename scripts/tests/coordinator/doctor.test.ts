/** What doctor makes of what was found: each finding once, each with one line that can be pasted as it stands. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { findFaults, type HostExamination, type HostFault } from "../../src/coordinator/doctor.ts";
import type { Smoke } from "../../src/coordinator/smoke.ts";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import { recordOf } from "../support/probe-answers.ts";
import { testEnvironment } from "../support/test-environment.ts";
import { temporaryFolder } from "../support/throwaway-repo.ts";

let root: string;
beforeEach(() => {
  root = join(temporaryFolder(), "it's a place");
  mkdirSync(root);
});

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;
const BINARY = "/opt/my tools/agent";

async function faults(o: {
  readonly records?: readonly RuntimeRecord[];
  readonly smokes?: readonly Smoke[];
  readonly over?: Partial<HostExamination>;
}): Promise<HostFault[]> {
  const env = testEnvironment({ home: root, cwd: root, tmp: root, variables: {} });
  return findFaults({
    inventory: {
      schemaVersion: 1,
      probedAt: "2026-11-29T12:00:00.000Z",
      hostOS: "linux",
      records: [...(o.records ?? [])],
    },
    env,
    root,
    harness: { name: "x", subagents: true },
    targets: [],
    smokes: o.smokes ?? null,
    node: [22, 0],
    own: (...argv) => ["node", "'/the tool.mjs'", ...argv].join(" "),
    ...o.over,
  });
}

const declared = (over: Partial<RuntimeRecord>): RuntimeRecord => ({
  ...recordOf("pi"),
  id: "mine",
  binary: BINARY,
  ...over,
});
const shipped = (id: string, over: Partial<RuntimeRecord>): RuntimeRecord => ({
  ...recordOf(id),
  binary: BINARY,
  ...over,
});
const smoke = (record: RuntimeRecord, failureClass: Smoke["failureClass"]): Smoke => ({
  runtime: record.id,
  ok: false,
  failureClass,
  detail: "said so",
  model: null,
  wallMs: 5,
  record: { ...record, state: "unavailable", reason: "smoke-failed", authenticated: true },
});

const NOT_LOGGED_IN = "not logged in: every job on it would end as AUTH.";

describe("a runtime that was found", () => {
  it.each<[string, () => RuntimeRecord, string, string]>([
    [
      "hangs with its input closed",
      () => shipped("claude", { state: "unavailable", reason: "probe-timeout", authenticated: "unverified" }),
      "does not answer `--version` or `--help` with its input closed: a job on it would hang.",
      `'${BINARY}' --version </dev/null`,
    ],
    [
      "is not logged in",
      () => shipped("codex", { state: "unavailable", reason: "not-authenticated", authenticated: false }),
      NOT_LOGGED_IN,
      "codex login",
    ],
    [
      "is not logged in, which it does inside",
      () => shipped("pi", { state: "unavailable", reason: "not-authenticated", authenticated: false }),
      `${NOT_LOGGED_IN} Type \`/login\` in it.`,
      "pi",
    ],
    [
      "is declared and not logged in",
      () => declared({ state: "unavailable", reason: "not-authenticated", authenticated: false }),
      NOT_LOGGED_IN,
      `'${BINARY}'`,
    ],
    [
      "lacks a flag",
      () => shipped("claude", { state: "unavailable", reason: "flag-missing: --tools", authenticated: true }),
      "its live help does not list what a job needs (--tools): another release or another program of that name.",
      "node '/the tool.mjs' onboard claude",
    ],
    [
      "is declared and lacks a flag",
      () => declared({ state: "unavailable", reason: "flag-missing: --tools", authenticated: true }),
      "its live help does not list what its entry in `runtimes.yaml` names (--tools): correct the entry, then look again.",
      "node '/the tool.mjs' probe mine",
    ],
    [
      "fails at its version",
      () => shipped("claude", { state: "unavailable", reason: "version-failed", authenticated: true }),
      "unusable here: version-failed.",
      "node '/the tool.mjs' probe claude",
    ],
  ])("and %s is one fault with one command", async (_, record, what, fix) => {
    const found = record();
    const hard = (await faults({ records: [found] })).filter((one) => one.weight === "fault");
    expect(hard).toEqual([{ subject: found.id, weight: "fault", what, fix }]);
  });

  it.each<[Smoke["failureClass"], string, () => string]>([
    [
      "TRUST",
      "unusable: trust. In a worktree it never saw it asks whether to trust the folder, and nobody answers (said so). Answer it once, on a terminal.",
      () => `cd ${quoted(root)} && '${BINARY}'`,
    ],
    ["AUTH", "its login was refused (said so).", () => `'${BINARY}'`],
    [
      "NETWORK",
      "one tiny question ended as NETWORK (said so).",
      () => "node '/the tool.mjs' probe mine --smoke",
    ],
  ])("and asked one question ends as %s, told once", async (failureClass, what, fix) => {
    const record = declared({});
    const found = await faults({ records: [record], smokes: [smoke(record, failureClass)] });
    expect(found.filter((one) => one.weight === "fault")).toEqual([
      { subject: "mine", weight: "fault", what, fix: fix() },
    ]);
  });
});

describe("a host", () => {
  it("with an old Node is told how to run the tool with another", async () => {
    const [first] = await faults({ over: { node: [18, 20] } });
    expect(first).toEqual({
      subject: "node",
      weight: "fault",
      what: "Node 18.20 is older than 20.19, which this tool needs.",
      fix: "npx --yes node@22 '/the tool.mjs' doctor",
    });
  });

  it("with a folder that cannot be written is told the path as a shell takes it", async () => {
    const gone = join(root, "not there");
    const found = (await faults({ over: { root: gone } })).filter((one) => one.subject === "folder");
    expect(found.map((one) => [one.what, one.fix])).toEqual([
      [`\`${gone}\` is not writable: a run directory cannot be made there.`, `chmod u+rwx ${quoted(gone)}`],
    ]);
  });

  it("with a key in the project's own file has it moved away by the printed line", async () => {
    writeFileSync(join(root, ".env"), "OPENAI_API_KEY=x\n");
    const found = (await faults({})).find((one) => one.subject === ".env");
    execFileSync("/bin/sh", ["-c", found?.fix as string]);
    expect([existsSync(join(root, ".env")), existsSync(join(root, ".env.off"))]).toEqual([false, true]);
    expect((await faults({})).filter((one) => one.subject === ".env")).toEqual([]);
  });
});
