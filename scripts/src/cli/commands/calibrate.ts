import { type Measured, measureRuns, runFolders } from "../../coordinator/calibrate.ts";
import { calibrationPath, writeCalibration } from "../../coordinator/calibration-file.ts";
import { findRunDir } from "../../coordinator/run-dir.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { failure, flagOn, flagText, type Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) => {
  const root = workspaceRoot(ctx.env.cwd);
  const folders: string[] = [];
  for (const which of parsed.args) {
    const found = findRunDir({ which, root, cwd: ctx.env.cwd });
    if (!found.ok) return failure(EXIT.usage, [{ severity: "error", ...found.error }]);
    folders.push(found.value.path);
  }
  const measurement = measureRuns({
    folders: folders.length === 0 ? runFolders(root) : folders,
    now: ctx.clock.now(),
    classifier: flagText(parsed, "classifier") ?? null,
  });
  const { measured, runs, skipped } = measurement;
  const write = measured.length > 0 && !flagOn(parsed, "dry-run");
  if (write) writeCalibration({ home: ctx.env.home, root, records: measured.map(({ record }) => record) });
  return {
    exitCode: EXIT.done,
    data: { runs, skipped, measured, written: write ? calibrationPath(root) : null },
    text: [
      `${runs} ${runs === 1 ? "run" : "runs"} read.`,
      ...(measured.length === 0
        ? ["No classifier gave signals about an attempt in them; nothing to measure."]
        : measured.map(lineOf)),
      ...(write ? [`Written: ${calibrationPath(root)}`] : []),
    ].join("\n"),
    diagnostics: skipped.map(({ path, reason }) => ({
      severity: "info" as const,
      code: "run-left-out",
      message: `\`${path}\` is left out: ${reason}`,
    })),
    next: [],
  };
};

function lineOf({ record, audited, state }: Measured): string {
  const { classifier, sampleCount, agreement, expiresAt } = record;
  const verdict =
    state.status === "valid" ? `valid until ${expiresAt}` : `not valid: ${state.clause ?? state.status}`;
  return `${classifier.id} ${classifier.version}: ${sampleCount} of ${audited} audited attempts cleared, agreement ${agreement.toFixed(3)}; ${verdict}`;
}
