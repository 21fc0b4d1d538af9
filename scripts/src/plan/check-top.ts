/** Rules for the top level of a spec: bounds of durations, placeholders of the arbiter, what the intake left out. */
import { POLICY, SPEC_LIMITS } from "../core/policy.ts";
import { checkCommand } from "./check-commands.ts";
import { checkModelPlaceholder, checkRuntimePlaceholder } from "./check-placeholders.ts";
import { didYouMean } from "./did-you-mean.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { suggestion } from "./scalar-check.ts";
import { fieldLabel, quoted } from "./shown.ts";
import type { LooseSpec } from "./spec-shape.ts";

export function checkTop(spec: LooseSpec, say: Say): void {
  const { top } = spec;
  const day = SPEC_LIMITS.timeoutMaxMs;
  checkDuration(top.quota_wait, ["quota_wait"], { minMs: 0, maxMs: day }, say);
  checkDuration(top.defaults?.timeout, ["defaults", "timeout"], { minMs: 1, maxMs: day }, say);
  checkDuration(top.defaults?.retry?.backoff, ["defaults", "retry", "backoff"], BACKOFF, say);
  checkDuration(top.arbiter?.timeout, ["arbiter", "timeout"], { minMs: 1, maxMs: day }, say);
  for (const [index, command] of (top.worktree_setup ?? []).entries()) {
    const path = ["worktree_setup", index];
    checkCommand(command, path, say);
    checkDuration(command.timeout, [...path, "timeout"], { minMs: 1, maxMs: day }, say);
  }
  checkArbiter(spec, say);
  checkIntake(top, say);
  checkCalibration(top, say);
}

export const BACKOFF = { minMs: 0, maxMs: SPEC_LIMITS.retryBackoffCapMs } as const;

/** A well-formed duration outside its field's bounds is an error: nothing is clamped. */
export function checkDuration(
  text: string | undefined,
  path: Path,
  bounds: { readonly minMs: number; readonly maxMs: number },
  say: Say,
): void {
  if (text === undefined) return;
  const parsed = parseDuration(text);
  if (!parsed.ok || (parsed.value >= bounds.minMs && parsed.value <= bounds.maxMs)) return;
  const expected =
    bounds.minMs > 0
      ? `more than 0s and at most ${formatDuration(bounds.maxMs)}`
      : `at most ${formatDuration(bounds.maxMs)}`;
  say("duration-range", path, `${fieldLabel(path, "it")} must be ${expected}, but is ${quoted(text)}`);
}

function checkArbiter(spec: LooseSpec, say: Say): void {
  const { arbiter } = spec.top;
  if (arbiter === undefined) return;
  checkRuntimePlaceholder(arbiter.runtime, ["arbiter", "runtime"], say);
  for (const [index, runtime] of (arbiter.fallback_runtime ?? []).entries())
    checkRuntimePlaceholder(runtime, ["arbiter", "fallback_runtime", index], say);
  checkModelPlaceholder(arbiter.model, ["arbiter", "model"], say);
  if (arbiter.mock === undefined) return;
  const ids = new Set(spec.jobs.map((job) => job.job.id).filter((id) => id !== undefined));
  for (const id of Object.keys(arbiter.mock)) {
    if (ids.has(id)) continue;
    say(
      "unknown-job",
      ["arbiter", "mock", id],
      `\`arbiter.mock\` names ${quoted(id)}, but there is no such job`,
      {
        fix: () => suggestion(didYouMean(id, ids), "remove it"),
      },
    );
  }
}

function checkIntake(top: LooseSpec["top"], say: Say): void {
  const absent = (["outcome", "constraints", "acceptance"] as const).filter((field) => {
    const value = top[field];
    return value === undefined || value.length === 0;
  });
  if (absent.length === 0) return;
  const list = absent.map((field) => `\`${field}\``).join(", ");
  say("intake-incomplete", [], `the spec states no ${list}: the judge will know only what each job says`, {
    fix: "say what shall be true at the end, what must not happen, and what would show it",
  });
}

function checkCalibration(top: LooseSpec["top"], say: Say): void {
  const samples = top.calibration?.minimum_samples;
  const needed = POLICY.MINIMUM_SAMPLES.value;
  if (samples !== undefined && samples >= needed) return;
  // Absent is the ordinary case; only somebody who set it below the floor needs to hear that it has no effect.
  if (samples === undefined)
    say(
      "calibration-off",
      top.calibration === undefined ? [] : ["calibration"],
      "`calibration.minimum_samples` is absent: every job goes to a judge",
      {
        fix: `set it to ${needed} or more to allow acceptance without a judge where a calibration record permits it`,
      },
    );
  else
    say(
      "calibration-off",
      ["calibration", "minimum_samples"],
      `\`calibration.minimum_samples\` is ${samples}, below ${needed}: every job goes to a judge`,
      {
        fix: `set it to ${needed} or more`,
      },
    );
}
