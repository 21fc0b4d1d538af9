/** Rules of the source text: one door for each effect, no shell, no habits that hide what a module is. */
import { type Check, type CheckResult, type Finding, finding, hits, matching } from "./check.ts";
import { importsOf } from "./imports.ts";

interface DoorRule {
  readonly name: string;
  readonly pattern: RegExp;
  /** Files that may do it. */
  readonly door: RegExp;
  readonly says: string;
}

const SOURCE = /^scripts\/src\/(?!(?:core|cli)\/generated\/).*\.ts$/;

const RULES: readonly DoorRule[] = [
  {
    name: "environment",
    pattern: /\bprocess\.env\b/g,
    door: /^scripts\/src\/host\/env\.ts$/,
    says: "only host/env reads the environment",
  },
  {
    name: "print",
    pattern: /\bconsole\.\w+|\bprocess\.std(?:out|err)\.write|\bwriteSync\((?:1|2)\b/g,
    door: /^scripts\/src\/cli\/(output|sink)\.ts$/,
    says: "only cli/output prints",
  },
  {
    name: "exit",
    pattern: /\bprocess\.(?:exit\(|exitCode\s*=|abort\()/g,
    door: /^scripts\/src\/main\.ts$/,
    says: "only main ends the process",
  },
  {
    name: "clock",
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bprocess\.hrtime\b/g,
    door: /^scripts\/src\/host\//,
    says: "only host reads the time; elsewhere a clock is handed in",
  },
  {
    name: "shell",
    pattern:
      /\bshell:\s*(?:true\b|["'`]\/)|\bimport \{[^}]*\bexec(?:Sync)?\b[^}]*\} from "node:child_process"/g,
    door: /^$/,
    says: "no shell strings: argument vectors only",
  },
  {
    name: "default-export",
    pattern: /^export default\b/gm,
    door: /^$/,
    says: "no default exports",
  },
  {
    name: "barrel",
    pattern: /^export \* from\b/gm,
    door: /^$/,
    says: "no barrels",
  },
];

export const doors: Check = {
  id: "doors",
  promise: "each effect has one door, and no source file goes round it",
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, SOURCE)) {
      looked += 1;
      const code = withoutComments(text);
      for (const rule of RULES)
        if (!rule.door.test(path))
          findings.push(...hits(path, code, rule.pattern, (hit) => `\`${hit}\`: ${rule.says}`));
      if (/\/(utils?|helpers?|misc|common)\.ts$/.test(path))
        findings.push(finding(path, null, "a file is named after its one idea, not `utils`"));
    }
    return { looked, findings };
  },
};

/** Folders that only compute: values in, values out. */
const PURE = /^scripts\/src\/(core|plan|runtimes)\/(?!generated\/).*\.ts$/;
/** Builtins without an effect. */
const HARMLESS = new Set(["node:path", "node:crypto", "node:util", "node:url", "node:buffer"]);

export const pureFolders: Check = {
  id: "pure-folders",
  promise: "core, plan and runtimes touch no disk, process, network or clock",
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, PURE)) {
      looked += 1;
      for (const { from, line } of importsOf(text))
        if (from.startsWith("node:") && !HARMLESS.has(from))
          findings.push(finding(path, line, `\`${from}\` has effects: ${folderRule(path)}`));
    }
    return { looked, findings };
  },
};

const folderRule = (path: string): string =>
  path.startsWith("scripts/src/runtimes/") ? "no adapter touches the disk" : "this folder is pure";

/** Same length and lines; comments become blanks, so that a rule may be named in one. Strings stay. */
export function withoutComments(text: string): string {
  return text.replace(
    /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
    (all, string: string | undefined) => string ?? all.replace(/[^\n]/g, " "),
  );
}
