import { editPolicyFile } from "../../coordinator/edit-policy-file.ts";
import { knownRuntimes } from "../../coordinator/known-runtimes.ts";
import { loadConfig } from "../../coordinator/load-config.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import type { Diagnostic } from "../../core/diagnostic.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { TOOL } from "../../core/tool-word.ts";
import { SHOWN_DIGEST } from "../../plan/capability.ts";
import { didYouMean } from "../../plan/did-you-mean.ts";
import {
  POLICY_FIELDS,
  type PolicyChange,
  type PolicyField,
  type PolicyStatement,
} from "../../plan/edit-policy.ts";
import {
  type CommandResult,
  failure,
  flagList,
  flagOn,
  flagText,
  type Handler,
  type Parsed,
} from "../context.ts";
import { refusedInsideJob } from "../own-word.ts";

export const handler: Handler = async (ctx, parsed) => {
  const refused = refusedInsideJob(ctx, { command: "policy set", runDir: null });
  if (refused !== null) return refused;
  const config = loadConfig({ root: workspaceRoot(ctx.env.cwd), home: ctx.env.home, now: ctx.clock.now() });
  const change = changeOf(parsed, knownRuntimes(config.declared));
  if ("exitCode" in change) return change;
  const where = flagOn(parsed, "project") ? "project" : "home";
  const dryRun = flagOn(parsed, "dry-run");
  const edited = editPolicyFile({ change, where, dryRun, env: ctx.env });
  if (!edited.ok)
    return failure(edited.error.invalid ? EXIT.usage : EXIT.environment, edited.error.diagnostics);
  const { path, before, after, written } = edited.value;
  const now = loadConfig({ root: workspaceRoot(ctx.env.cwd), home: ctx.env.home, now: ctx.clock.now() });
  const digest = now.claimable.find((one) => one.words === JSON.stringify(after) && !one.confirmed)?.digest;
  const show = (entry: object | null): string => (entry === null ? "nothing" : JSON.stringify(entry));
  const state = written ? "written" : dryRun ? "not written (--dry-run)" : "nothing to change";
  const diagnostics: Diagnostic[] =
    written && digest !== undefined
      ? [
          {
            severity: "info",
            code: "policy-unconfirmed",
            file: path,
            message:
              "A project file may lower a capability; what this entry raises counts only once the user confirmed it.",
            fix: `${TOOL} approve --policy ${digest.slice(0, SHOWN_DIGEST)}`,
          },
        ]
      : [];
  return {
    exitCode: EXIT.done,
    data: { path, where, written, before, after, digest: digest ?? null },
    text: `${path}: ${state}\n  before: ${show(before)}\n  after:  ${show(after)}`,
    diagnostics,
    next: [],
  };
};

const usage = (code: string, message: string, fix?: string): CommandResult =>
  failure(EXIT.usage, [{ severity: "error", code, message, ...(fix === undefined ? {} : { fix }) }]);

function changeOf(parsed: Parsed, known: readonly string[]): PolicyChange | CommandResult {
  const runtime = parsed.args[0] as string;
  if (!known.includes(runtime)) {
    const meant = didYouMean(runtime, known);
    return usage(
      "unknown-runtime",
      `No runtime has the id \`${runtime}\`${meant === null ? "" : `; did you mean \`${meant}\`?`}`,
      `declare it in \`.orchestrate/runtimes.yaml\` first, or name one of: ${known.join(", ")}`,
    );
  }
  const provider = flagText(parsed, "provider");
  const model = flagText(parsed, "model");
  const effort = flagText(parsed, "effort") as PolicyChange["selector"]["effort"];
  const selector: PolicyChange["selector"] = {
    runtime,
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(effort === undefined ? {} : { effort }),
  };
  const set = statementOf(parsed);
  const unset = flagList(parsed, "unset").map((name) => name.replaceAll("-", "_"));
  const bad = unset.find((name) => !POLICY_FIELDS.some((field) => field === name));
  if (bad !== undefined)
    return usage(
      "unknown-policy-field",
      `--unset takes ${POLICY_FIELDS.map((field) => `\`${field.replaceAll("_", "-")}\``).join(", ")}, not \`${bad}\`.`,
    );
  const both = unset.find((name) => name in set);
  if (both !== undefined) return usage("set-and-unset", `\`${both}\` is set and unset at once.`);
  const says = Object.keys(set).length + unset.length > 0;
  if (flagOn(parsed, "remove"))
    return says
      ? usage("set-and-remove", "--remove takes the whole entry away: nothing can be set in it.")
      : { kind: "remove", selector };
  if (!says)
    return usage(
      "nothing-to-set",
      "Nothing is said of it: give --capability, --family, --cost-dimension, --unset or --remove.",
    );
  return { kind: "set", selector, set, unset: unset as PolicyField[] };
}

function statementOf(parsed: Parsed): PolicyStatement {
  const capability = flagText(parsed, "capability");
  const family = flagText(parsed, "family");
  const cost = flagText(parsed, "cost-dimension");
  return {
    ...(capability === undefined ? {} : { capability }),
    ...(family === undefined ? {} : { family }),
    ...(cost === undefined ? {} : { cost_dimension: cost }),
  } as PolicyStatement;
}
