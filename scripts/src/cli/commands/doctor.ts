import { findFaults } from "../../coordinator/doctor.ts";
import { probeHost } from "../../coordinator/probe-host.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { runnable } from "../../core/tool-word.ts";
import type { Handler } from "../context.ts";
import { harnessOf } from "../harness.ts";
import { scriptOf } from "../own-command.ts";

export const handler: Handler = async (ctx, parsed) => {
  const harness = harnessOf(ctx.env, parsed) ?? { name: "unknown", subagents: false };
  const { inventory, diagnostics } = await probeHost({ env: ctx.env, clock: ctx.clock, ids: [], harness });
  const found = await findFaults({ inventory, env: ctx.env, harness });
  const faults = found.map((fault) => ({
    ...fault,
    fix: fault.fix === null ? null : runnable(fault.fix, scriptOf(ctx)),
  }));
  const hard = faults.filter((fault) => fault.weight === "fault");
  return {
    exitCode: hard.length === 0 ? EXIT.done : EXIT.settledWithFaults,
    data: {
      faults,
      runtimes: inventory.records.map(({ id, state, reason, version }) => ({ id, state, reason, version })),
    },
    text:
      faults.length === 0
        ? "Nothing found that would hang or weaken a run."
        : faults
            .map(
              (fault) =>
                `${fault.weight === "fault" ? "FAULT" : "note "} ${fault.subject}: ${fault.what}${fault.fix === null ? "" : `\n      fix: ${fault.fix}`}`,
            )
            .join("\n"),
    diagnostics,
    next: [],
  };
};
