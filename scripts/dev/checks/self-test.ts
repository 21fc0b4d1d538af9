/** Trust in the checks: each finds what was planted for it, and none passes on nothing. */
import type { FileContent, Files } from "./check.ts";
import { PLANTED, PLANTED_COUNT, type Planted } from "./planted.ts";
import { CHECKS } from "./registry.ts";

/** What is wrong with the checks themselves; empty when they may be trusted. */
export async function selfTest(): Promise<string[]> {
  const problems: string[] = [];
  if (PLANTED.length !== PLANTED_COUNT)
    problems.push(
      `${PLANTED.length} planted faults, but ${PLANTED_COUNT} are pinned: none may get lost unnoticed`,
    );
  for (const check of CHECKS)
    if (!PLANTED.some((planted) => planted.check === check.id))
      problems.push(`${check.id}: no fault is planted for it`);
  for (const planted of PLANTED) problems.push(...(await onePlanted(planted)));
  return problems;
}

async function onePlanted(planted: Planted): Promise<string[]> {
  const check = CHECKS.find(({ id }) => id === planted.check);
  const name = `${planted.check}, ${planted.fault}`;
  if (check === undefined) return [`${name}: there is no such check`];
  const { looked, findings } = await check.run(plantedFiles(planted.files));
  if (planted.finds === null) return looked === 0 ? [] : [`${name}: should have had nothing to look at`];
  if (looked === 0) return [`${name}: looked at nothing`];
  const expected = planted.finds;
  return findings.some(({ message }) => message.includes(expected))
    ? []
    : [`${name}: not found; it says ${findings.map(({ message }) => message).join("; ") || "nothing"}`];
}

function plantedFiles(files: Readonly<Record<string, string>>): Files {
  return new Map(
    Object.entries(files).map(([path, text]): [string, FileContent] =>
      text.startsWith("→ ") ? [path, { text: "", link: text.slice(2) }] : [path, { text, link: null }],
    ),
  );
}
