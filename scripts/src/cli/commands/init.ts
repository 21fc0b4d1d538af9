import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import type { Diagnostic } from "../../core/diagnostic.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { errorCode, replaceFile } from "../../host/files.ts";
import { failure, flagOn, flagText, type Handler } from "../context.ts";
import { TEMPLATES } from "../templates.ts";

/** For a file that a person edits and commits, unlike those of a run directory. */
const ORDINARY_FILE = 0o644;

export const handler: Handler = async (ctx, parsed) => {
  const template = flagText(parsed, "template") ?? "research";
  const out = flagText(parsed, "out") ?? "jobs.yaml";
  const spec = TEMPLATES[template] ?? "";
  if (out === "-")
    return { exitCode: EXIT.done, data: { template, spec }, text: spec, diagnostics: [], next: [] };
  const path = resolve(ctx.env.cwd, out);
  const fault = flagOn(parsed, "force") ? null : occupied(path, out);
  if (fault !== null) return failure(EXIT.usage, [fault]);
  try {
    replaceFile(path, spec, ORDINARY_FILE);
  } catch (error) {
    return failure(EXIT.environment, [cannotWrite(out, error)]);
  }
  return {
    exitCode: EXIT.done,
    data: { template, path },
    text: `wrote ${out} (${template}): edit the prompts, then \`validate ${out}\` and \`plan ${out}\``,
    diagnostics: [],
    next: [],
  };
};

function occupied(path: string, shown: string): Diagnostic | null {
  try {
    lstatSync(path);
  } catch {
    return null;
  }
  return {
    severity: "error",
    code: "file-exists",
    message: `\`${shown}\` exists and was left as it is`,
    fix: "`--out FILE` for another name, or `--force` to replace it",
  };
}

const cannotWrite = (shown: string, error: unknown): Diagnostic => ({
  severity: "error",
  code: "cannot-write",
  message: `cannot write \`${shown}\`: ${errorCode(error) ?? String(error)}`,
});
