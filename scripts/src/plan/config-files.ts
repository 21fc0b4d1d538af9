/** Reads `.orchestrate/policy.yaml` and `.orchestrate/runtimes.yaml` through the same door as a spec. */
import policySchema from "../../../schemas/policy.schema.json" with { type: "json" };
import runtimesSchema from "../../../schemas/runtimes-config.schema.json" with { type: "json" };
import type { Diagnostic } from "../core/diagnostic.ts";
import type { PolicyFile } from "../core/generated/policy.ts";
import type { DeclaredRuntime, RuntimesConfig } from "../core/generated/runtimes-config.ts";
import { checkCommand, checkVariables } from "./check-commands.ts";
import { checkSecrets } from "./check-secrets.ts";
import type { Path } from "./fault.ts";
import { type ReadDocument, readDocument } from "./read-yaml.ts";
import { type Say, sayIn } from "./rule.ts";
import { type Check, compileSchema } from "./schema-check.ts";
import { oneOf, quoted } from "./shown.ts";

const WORDS = { formats: {}, rules: {} };
let policyCheck: Check | undefined;
let runtimesCheck: Check | undefined;

/** `policy` is null when anything in the file is wrong: half a policy could grant what the other half withholds. */
export function parsePolicy(
  text: string | Uint8Array,
  fileName: string,
): { readonly policy: PolicyFile | null; readonly diagnostics: Diagnostic[] } {
  policyCheck ??= compileSchema(policySchema, WORDS);
  const document = readDocument(text, { fileName, format: "auto" });
  const valid = isSound(document, policyCheck, "the policy");
  const policy = document.value as PolicyFile;
  if (valid) checkPolicy(policy, sayIn(document));
  const usable = valid && !document.report.hasErrors();
  return { policy: usable ? policy : null, diagnostics: document.report.list() };
}

/** `runtimes` is empty when anything in the file is wrong. */
export function parseRuntimesConfig(
  text: string | Uint8Array,
  fileName: string,
): { readonly runtimes: readonly DeclaredRuntime[]; readonly diagnostics: Diagnostic[] } {
  runtimesCheck ??= compileSchema(runtimesSchema, WORDS);
  const document = readDocument(text, { fileName, format: "auto" });
  const valid = isSound(document, runtimesCheck, "the runtimes file");
  const config = document.value as RuntimesConfig;
  if (valid) checkRuntimes(config.runtimes, sayIn(document));
  const usable = valid && !document.report.hasErrors();
  return { runtimes: usable ? config.runtimes : [], diagnostics: document.report.list() };
}

function isSound(document: ReadDocument, check: Check, whole: string): boolean {
  if (document.value === null) return false;
  checkSecrets(document.value, sayIn(document));
  return check(document.value, { document, whole, onBad: () => {} });
}

function checkPolicy(policy: PolicyFile, say: Say): void {
  checkUnique(policy.approvals ?? [], "approvals", "duplicate-approval", "an approval", say);
  checkUnique(
    policy.benchmark_sources ?? [],
    "benchmark_sources",
    "duplicate-source",
    "a benchmark source",
    say,
  );
}

function checkUnique(
  list: readonly { readonly id: string }[],
  field: string,
  code: "duplicate-approval" | "duplicate-source" | "duplicate-runtime",
  what: string,
  say: Say,
): void {
  const first = new Map<string, number>();
  for (const [index, { id }] of list.entries()) {
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    else
      say(code, [field, index, "id"], `there is already ${what} with the id ${quoted(id)}`, {
        fix: "choose another id",
        related: [{ path: [field, earlier, "id"], message: "the first one is here" }],
      });
  }
}

/** Ids that are part of the tool. */
const BUILT_IN: ReadonlySet<string> = new Set([
  "internal",
  "mock",
  "claude",
  "codex",
  "gemini",
  "opencode",
  "pi",
]);
const HOLES = ["prompt_file", "prompt", "model", "effort", "cwd", "session", "tools"] as const;

function checkRuntimes(runtimes: readonly DeclaredRuntime[], say: Say): void {
  checkUnique(runtimes, "runtimes", "duplicate-runtime", "a runtime", say);
  for (const [index, runtime] of runtimes.entries()) {
    const path: Path = ["runtimes", index];
    if (BUILT_IN.has(runtime.id))
      say("reserved-runtime", [...path, "id"], `${quoted(runtime.id)} is a built-in runtime`, {
        fix: "choose another id",
      });
    const { flags } = runtime;
    const args = [...(runtime.argv ?? []), ...(flags?.read_only ?? []), ...(flags?.workspace_write ?? [])];
    checkCommand({ command: runtime.command, args }, path, say, runtime.bypass_flags);
    checkHoles(runtime, path, say);
    checkFailures(runtime, path, say);
    checkVariables(runtime.env_allow ?? [], [...path, "env_allow"], say);
    checkVariables(runtime.provider_env ?? [], [...path, "provider_env"], say);
    checkProgram(runtime, path, say);
  }
}

function checkHoles(runtime: DeclaredRuntime, path: Path, say: Say): void {
  for (const [index, argument] of (runtime.argv ?? []).entries())
    for (const [, hole] of argument.matchAll(/\{([a-z_]{1,40})\}/g))
      if (!HOLES.some((known) => known === hole))
        say(
          "bad-argv-hole",
          [...path, "argv", index],
          `nothing fills ${quoted(`{${hole}}`)}: the holes are ${oneOf(HOLES.map((known) => `{${known}}`))}`,
          {
            fix: "use one of them",
          },
        );
}

/** Nothing would be compared, and the rule would call every end a failure. */
function checkFailures(runtime: DeclaredRuntime, path: Path, say: Say): void {
  for (const [index, { match }] of (runtime.failures ?? []).entries())
    if (match.equals !== undefined && match.path === undefined)
      say(
        "incomplete-pair",
        [...path, "failures", index, "match", "equals"],
        "`equals` compares what is at a `path`, and there is none",
        { fix: "add `path`, or use `contains`, `exit_code` or `stderr_contains`" },
      );
}

/** What only something with a model inside can have. */
const AGENT_FIELDS = ["models", "effort_levels", "tools", "family", "provider"] as const;

function checkProgram(runtime: DeclaredRuntime, path: Path, say: Say): void {
  const name = `the runtime \`${runtime.id}\``;
  if (runtime.role === "classifier" && runtime.agent !== false)
    say(
      "classifier-agent",
      [...path, "role"],
      `${name} is a classifier, which has no tools and so is no agent`,
      { fix: "add `agent: false`" },
    );
  if (runtime.agent !== false) return;
  if (runtime.capability === "C3")
    say(
      "program-judgment",
      [...path, "capability"],
      `${name} is a program (\`agent: false\`), which never judges`,
      { fix: "write C1 or C2, or remove `capability`" },
    );
  if (runtime.role === "classifier") return;
  for (const field of AGENT_FIELDS)
    if (runtime[field] !== undefined)
      say(
        "program-with-model",
        [...path, field],
        `${name} is a program (\`agent: false\`) and has no \`${field}\``,
        {
          fix: `remove \`${field}\`, or \`agent: false\``,
        },
      );
}
