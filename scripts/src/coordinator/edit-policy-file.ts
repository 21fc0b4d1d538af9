/** `policy set`: a change of the policy file of the home or of the project, written only when the result is valid. */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { CONFIG_DIR } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Environment } from "../host/env.ts";
import { ensureDir, errorCode, readTextIfPresent, replaceFile } from "../host/files.ts";
import { editPolicy, type PolicyChange, type PolicyEdit } from "../plan/edit-policy.ts";
import { readConfig } from "./read-config.ts";
import { workspaceRoot } from "./workspace-root.ts";

/** Readable by others, as the files beside it in a project are; a policy holds no secret. */
const POLICY_MODE = 0o644;

export interface EditedFile extends PolicyEdit {
  readonly path: string;
  readonly written: boolean;
}

export function editPolicyFile(o: {
  readonly change: PolicyChange;
  readonly where: "home" | "project";
  readonly dryRun: boolean;
  readonly env: Environment;
}): Result<EditedFile, { readonly invalid: boolean; readonly diagnostics: readonly Diagnostic[] }> {
  const top = o.where === "home" ? o.env.home : workspaceRoot(o.env.cwd);
  const path = join(top, CONFIG_DIR, "policy.yaml");
  const read = readConfig(path);
  if (!read.ok) return err({ invalid: true, diagnostics: [read.error] });
  const before = read.value;
  const edit = editPolicy(before, o.change, path);
  if (!edit.ok) return err({ invalid: true, diagnostics: edit.error });
  const same = before === null ? edit.value.after === null : edit.value.text === before;
  if (o.dryRun || same) return ok({ ...edit.value, path, written: false });
  const fault = write(path, before, edit.value.text);
  return fault === null
    ? ok({ ...edit.value, path, written: true })
    : err({ invalid: false, diagnostics: [fault] });
}

/** Whole or not at all, and only over what was read. A link (from a folder of settings) stays one. */
function write(path: string, before: string | null, text: string): Diagnostic | null {
  try {
    ensureDir(dirname(path));
    const target = existsSync(path) ? realpathSync(path) : path;
    if (readTextIfPresent(target) !== before)
      return {
        severity: "error",
        code: "policy-changed",
        file: path,
        message: `\`${path}\` was changed by somebody else in the meantime: nothing was written.`,
        fix: "run the command again",
      };
    replaceFile(target, text, POLICY_MODE);
    return null;
  } catch (error) {
    return {
      severity: "error",
      code: "policy-unwritable",
      file: path,
      message: `\`${path}\` cannot be written: ${errorCode(error) ?? String(error)}.`,
      fix: `make \`${dirname(path)}\` writable`,
    };
  }
}
