import { probeHost } from "../../coordinator/probe-host.ts";
import { targetText } from "../../coordinator/target-text.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { RuntimeRecord } from "../../core/runtime.ts";
import type { Handler } from "../context.ts";
import { harnessOf } from "../harness.ts";
import { smokeOf } from "../smoke-flag.ts";

export const handler: Handler = async (ctx, parsed) => {
  const asked = smokeOf(ctx, parsed);
  if ("exitCode" in asked) return asked;
  const { inventory, targets, smokes, diagnostics } = await probeHost({
    env: ctx.env,
    clock: ctx.clock,
    ids: parsed.args,
    harness: harnessOf(ctx.env, parsed) ?? { name: "unknown", subagents: false },
    ...(asked.smoke === undefined ? {} : { smoke: asked.smoke }),
  });
  const shown =
    parsed.args.length === 0
      ? inventory.records
      : inventory.records.filter((record) => parsed.args.includes(record.id));
  return {
    exitCode: EXIT.done,
    data: {
      probedAt: inventory.probedAt,
      hostOS: inventory.hostOS,
      records: shown,
      targets,
      smoke: smokes === null ? null : smokes.map(({ record, ...rest }) => rest),
    },
    text: [
      ...shown.map((record) => describe(record, parsed.args.length > 0)),
      ...targets.map(targetText),
    ].join("\n"),
    diagnostics,
    next: [],
  };
};

function describe(record: RuntimeRecord, full: boolean): string {
  const head = `${record.id}: ${record.state}${record.reason === null ? "" : ` (${record.reason})`}${record.version === null ? "" : `, ${record.version}`}${record.binary === null ? "" : `, ${record.binary}`}; ${record.capability} by ${record.capabilitySource}, family ${record.family ?? "unknown"}, auth ${String(record.authenticated)} (${record.authSource})`;
  if (!full) return head;
  const controls = (
    ["approval", "toolGating", "writeBoundary", "isolation", "timeout", "capture"] as const
  ).map((name) => `  ${name}: ${record[name].value} (${record[name].evidence})`);
  return [
    head,
    ...controls,
    `  bypassAbsent: ${record.bypassAbsent.value} (${record.bypassAbsent.evidence})`,
    ...record.evidence.map((e) => `  ${e.source}: ${e.finding}`),
    ...record.notes.map((note) => `  note: ${note}`),
  ].join("\n");
}
