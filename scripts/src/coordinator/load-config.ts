/** The operator's files: `.orchestrate/policy.yaml` and `runtimes.yaml` of the project and of the user's home. */
import { join } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { CONFIG_DIR } from "../core/layout.ts";
import { readTextIfPresent, sha256 } from "../host/files.ts";
import type { PolicyLayer } from "../plan/capability.ts";
import { parsePolicy, parseRuntimesConfig } from "../plan/config-files.ts";
import type { DeclaredSource } from "../plan/plan-input.ts";

export interface Config {
  readonly policy: readonly PolicyLayer[];
  readonly declared: readonly DeclaredSource[];
  /** Ids of `approvals` of the home policy that have not run out. */
  readonly approvals: ReadonlySet<string>;
  readonly files: readonly ConfigFile[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface ConfigFile {
  readonly path: string;
  readonly source: "project" | "home";
  readonly kind: "policy" | "runtimes";
  readonly sha256: string;
  readonly confirmed: boolean;
}

const CONFIRMED_FILE = "confirmed.json";

/** Project files first: what they raise counts only when the user confirmed exactly this content (kept in the home). */
export function loadConfig(o: {
  readonly root: string;
  readonly home: string;
  readonly now: number;
}): Config {
  const confirmed = readConfirmed(o.home);
  const places = [
    ...(o.root === o.home ? [] : [{ dir: join(o.root, CONFIG_DIR), source: "project" as const }]),
    { dir: join(o.home, CONFIG_DIR), source: "home" as const },
  ];
  const policy: PolicyLayer[] = [];
  const declared: DeclaredSource[] = [];
  const approvals = new Set<string>();
  const files: ConfigFile[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const { dir, source } of places) {
    const policyPath = join(dir, "policy.yaml");
    const policyText = readTextIfPresent(policyPath);
    if (policyText !== null) {
      const digest = sha256(policyText);
      const isConfirmed = source === "home" || confirmed.has(digest);
      const parsed = parsePolicy(policyText, policyPath);
      diagnostics.push(...parsed.diagnostics);
      files.push({ path: policyPath, source, kind: "policy", sha256: digest, confirmed: isConfirmed });
      if (parsed.policy !== null) {
        policy.push({
          source,
          file: policyPath,
          confirmed: isConfirmed,
          entries: parsed.policy.candidates ?? [],
        });
        if (source === "home")
          for (const approval of parsed.policy.approvals ?? [])
            if (Date.parse(approval.until) >= o.now) approvals.add(approval.id);
      }
    }
    const runtimesPath = join(dir, "runtimes.yaml");
    const runtimesText = readTextIfPresent(runtimesPath);
    if (runtimesText !== null) {
      const digest = sha256(runtimesText);
      const isConfirmed = source === "home" || confirmed.has(digest);
      const parsed = parseRuntimesConfig(runtimesText, runtimesPath);
      diagnostics.push(...parsed.diagnostics);
      files.push({ path: runtimesPath, source, kind: "runtimes", sha256: digest, confirmed: isConfirmed });
      for (const entry of parsed.runtimes)
        if (!declared.some((known) => known.entry.id === entry.id))
          declared.push({ entry, source, confirmed: isConfirmed, path: runtimesPath, sha256: digest });
    }
  }
  return { policy, declared, approvals, files, diagnostics };
}

/** Digests of project files that the user confirmed with `approve --policy`. */
function readConfirmed(home: string): Set<string> {
  const text = readTextIfPresent(join(home, CONFIG_DIR, CONFIRMED_FILE));
  if (text === null) return new Set();
  try {
    const value = JSON.parse(text) as { schemaVersion?: unknown; digests?: unknown };
    return value.schemaVersion === 1 && Array.isArray(value.digests)
      ? new Set(value.digests.filter((d) => typeof d === "string"))
      : new Set();
  } catch {
    return new Set();
  }
}
