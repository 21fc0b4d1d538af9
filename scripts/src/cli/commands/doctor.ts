import { EXAMINED, findFaults } from "../../coordinator/doctor.ts";
import { probeHost } from "../../coordinator/probe-host.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { nodeVersion } from "../../host/node-version.ts";
import type { Handler } from "../context.ts";
import { harnessOf } from "../harness.ts";
import { ownCommand } from "../own-command.ts";
import { smokeOf } from "../smoke-flag.ts";

export const handler: Handler = async (ctx, parsed) => {
  const asked = smokeOf(ctx, parsed);
  if ("exitCode" in asked) return asked;
  const harness = harnessOf(ctx.env, parsed) ?? { name: "unknown", subagents: false };
  const { inventory, targets, smokes, diagnostics } = await probeHost({
    env: ctx.env,
    clock: ctx.clock,
    ids: [],
    harness,
    reuse: asked.smoke === undefined,
    ...(asked.smoke === undefined ? {} : { smoke: asked.smoke }),
  });
  const faults = await findFaults({
    inventory,
    env: ctx.env,
    root: workspaceRoot(ctx.env.cwd),
    harness,
    targets,
    smokes,
    node: nodeVersion(),
    own: (...argv) => ownCommand(ctx, ...argv),
  });
  const hard = faults.some((fault) => fault.weight === "fault");
  const examined = EXAMINED.filter((subject) => subject !== "trust" || smokes !== null);
  const lines = faults.map(
    (fault) =>
      `${fault.weight === "fault" ? "FAULT" : "note "} ${fault.subject}: ${fault.what}${fault.fix === null ? "" : `\n      fix: ${fault.fix}`}`,
  );
  const answered = (smokes ?? []).filter((smoke) => smoke.ok);
  return {
    exitCode: hard ? EXIT.settledWithFaults : EXIT.done,
    data: {
      faults,
      examined,
      runtimes: inventory.records.map(({ id, state, reason, version, reused }) => ({
        id,
        state,
        reason,
        version,
        reused,
      })),
      targets,
      smoke: smokes === null ? null : smokes.map(({ record, ...rest }) => rest),
    },
    text: [
      ...(lines.length === 0 ? ["Nothing found that would hang or weaken a run."] : lines),
      ...answered.map(
        (smoke) => `ok    ${smoke.runtime}: answered in ${smoke.wallMs} ms in a fresh worktree`,
      ),
      `examined: ${examined.join(", ")}${smokes === null ? "; trust and login in truth: doctor --smoke (spends one tiny inference each)" : ""}`,
    ].join("\n"),
    diagnostics,
    next: [],
  };
};
