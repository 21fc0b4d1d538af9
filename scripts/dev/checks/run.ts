/** Runs the checks over the repository. */
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { isLink, ROOT, readRepoFile, repoFiles } from "../repo.ts";
import { type Check, type FileContent, type Files, showFinding } from "./check.ts";
import { CHECKS } from "./registry.ts";

/** Everything tracked, and what is new and not ignored. */
export function repositoryFiles(): Files {
  return new Map(
    repoFiles().map((path): [string, FileContent] =>
      isLink(path)
        ? [path, { text: "", link: readlinkSync(join(ROOT, path)) }]
        : [path, { text: readRepoFile(path), link: null }],
    ),
  );
}

export interface StepResult {
  readonly ok: boolean;
  readonly summary: string;
  readonly lines: readonly string[];
}

/** All checks of one step over `files`. */
export async function runChecks(step: Check["step"], files: Files): Promise<StepResult> {
  const lines: string[] = [];
  let looked = 0;
  const checks = CHECKS.filter((check) => check.step === step);
  for (const check of checks) {
    const result = await check.run(files);
    looked += result.looked;
    if (result.looked === 0) lines.push(`${check.id}: looked at nothing, so it proves nothing`);
    lines.push(...result.findings.map((found) => showFinding(check.id, found)));
  }
  return {
    ok: lines.length === 0,
    summary: `${checks.length} checks over ${looked} items`,
    lines,
  };
}
