/** Generated blocks are in step with the code, have one home each, and no renderer is left without one. */
import { fillBlocks, RENDERERS } from "../render/blocks.ts";
import { type Check, type CheckResult, type Files, type Finding, finding, matching } from "./check.ts";
import { DOCUMENTS, PAYLOAD_DIR } from "./places.ts";

const OPENING = /^<!-- generated:([^\s]+) -->$/gm;

export const blocks: Check = {
  id: "generated-blocks",
  promise: "every generated block is in step, each table has one document, and each renderer is used",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const homes = new Map<string, string>();
    for (const [path, text] of matching(files, DOCUMENTS)) {
      for (const [, id = ""] of text.matchAll(OPENING)) {
        const other = homes.get(id);
        if (other !== undefined)
          findings.push(finding(path, null, `\`${id}\` is already stated in ${other}`));
        homes.set(id, path);
      }
      try {
        if (fillBlocks(path, text).text !== text)
          findings.push(
            finding(path, null, "a generated block differs from the code: run `npm run generate`"),
          );
      } catch (fault) {
        findings.push(finding(path, null, fault instanceof Error ? fault.message : String(fault)));
      }
    }
    if (homes.size > 0)
      for (const id of Object.keys(RENDERERS))
        if (!homes.has(id) && hasHome(files, id))
          findings.push(finding("scripts/dev/render/tables.ts", null, `no document shows \`${id}\``));
    return { looked: homes.size, findings };
  },
};

/** A table of constants is due once its owner document exists; every other table at once. */
function hasHome(files: Files, id: string): boolean {
  const owner = /^constants:(.+)$/.exec(id)?.[1];
  return owner === undefined || files.has(`${PAYLOAD_DIR}references/${owner}.md`);
}
