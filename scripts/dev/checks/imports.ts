/** Who may import whom in scripts/src (docs/architecture.md has the same table for people). */
import { posix } from "node:path";
import {
  type Check,
  type CheckResult,
  type Files,
  type Finding,
  finding,
  lineAt,
  matching,
} from "./check.ts";

/** Folder (or `main.ts`) → folders it may import besides itself. Each right is used by somebody, or the check fails. */
export const IMPORT_TABLE: Readonly<Record<string, readonly string[]>> = {
  core: [],
  host: ["core"],
  plan: ["core"],
  runtimes: ["core"],
  state: ["core", "host"],
  evidence: ["core", "host"],
  plane: ["core", "host"],
  run: ["core", "host", "runtimes"],
  prove: ["core", "host"],
  mock: ["core"],
  coordinator: ["core", "host", "plan", "runtimes", "state", "evidence", "plane", "run", "prove"],
  cli: ["core", "host", "plan", "plane", "state", "prove", "coordinator", "mock"],
  "main.ts": ["cli"],
};

const SOURCE = /^scripts\/src\/.*\.(ts|js)$/;
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)["']([^"']+)["']/g;

/** Every import of a source file with its line; type-only imports count like any other. */
export function importsOf(text: string): { readonly from: string; readonly line: number }[] {
  return [...text.matchAll(IMPORT)].map((match) => ({
    from: match[1] ?? "",
    line: lineAt(text, match.index),
  }));
}

export const importTable: Check = {
  id: "import-table",
  promise: "every import in scripts/src is in the table, and every row of the table is used",
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const used = new Set<string>();
    const folders = new Set<string>();
    let looked = 0;
    for (const [path, text] of matching(files, SOURCE)) {
      const folder = folderOf(path);
      folders.add(folder);
      if (IMPORT_TABLE[folder] === undefined)
        findings.push(finding(path, null, `\`${folder}\` is no folder of the import table`));
      for (const { from, line } of importsOf(text)) {
        looked += 1;
        if (!from.startsWith(".")) continue;
        const problem = importProblem(files, { path, folder, from, used });
        if (problem !== null) findings.push(finding(path, line, problem));
      }
    }
    for (const [folder, allowed] of Object.entries(IMPORT_TABLE))
      for (const target of folders.has(folder) ? allowed : [])
        if (!used.has(`${folder}→${target}`))
          findings.push(
            finding(
              "scripts/dev/checks/imports.ts",
              null,
              `no file of \`${folder}\` imports \`${target}\`: drop it from the row`,
            ),
          );
    return { looked, findings };
  },
};

interface OneImport {
  readonly path: string;
  readonly folder: string;
  readonly from: string;
  readonly used: Set<string>;
}

function importProblem(files: Files, { path, folder, from, used }: OneImport): string | null {
  const target = posix.join(posix.dirname(path), from);
  // The schemas are data of the product; everything else outside is not shipped.
  if (/^schemas\/[a-z-]+\.schema\.json$/.test(target)) return null;
  if (!target.startsWith("scripts/src/")) return `\`${from}\` leaves scripts/src`;
  if (!files.has(target)) return `\`${from}\` is no file`;
  const to = folderOf(target);
  if (to === folder) return null;
  used.add(`${folder}→${to}`);
  return IMPORT_TABLE[folder]?.includes(to) === true ? null : `\`${folder}\` may not import \`${to}\``;
}

/** `scripts/src/plan/tier.ts` → `plan`; `scripts/src/main.ts` → `main.ts`. */
const folderOf = (path: string): string => path.split("/")[2] ?? "";
