/** What of a run was brought into the user's branches, step by step: written before each step, so that each can be undone. */
import { join } from "node:path";
import { RUN_FILES } from "../core/layout.ts";
import { readTextIfPresent, replaceFile } from "../host/files.ts";
import type { KeptIntegration } from "../prove/report-input.ts";

export type { KeptIntegration };

/** In the order in which they were made. A file that cannot be read holds nothing that can be undone. */
export function readIntegrations(runDir: string): KeptIntegration[] {
  const text = readTextIfPresent(join(runDir, RUN_FILES.integrations));
  if (text === null) return [];
  try {
    const { steps } = JSON.parse(text) as { steps?: unknown };
    return Array.isArray(steps) ? steps.filter(isStep) : [];
  } catch {
    return [];
  }
}

function isStep(value: unknown): value is KeptIntegration {
  const step = value as Partial<Record<keyof KeptIntegration, unknown>> | null;
  return (
    typeof step === "object" &&
    step !== null &&
    [step.repo, step.jobId, step.ref, step.from, step.to, step.at].every((field) => typeof field === "string")
  );
}

export function writeIntegrations(runDir: string, steps: readonly KeptIntegration[]): void {
  const file = join(runDir, RUN_FILES.integrations);
  replaceFile(file, `${JSON.stringify({ schemaVersion: 1, steps }, null, 1)}\n`);
}
