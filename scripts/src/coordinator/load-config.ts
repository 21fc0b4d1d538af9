/** The operator's files: `.orchestrate/policy.yaml` and `runtimes.yaml` of the project and of the user's home. */

import { realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import canonicalize from "canonicalize";
import type { Diagnostic } from "../core/diagnostic.ts";
import type { PolicyFile } from "../core/generated/policy.ts";
import type { DeclaredRuntime } from "../core/generated/runtimes-config.ts";
import { CONFIG_DIR } from "../core/layout.ts";
import { looksSecretName } from "../core/secret-patterns.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { TOOL } from "../core/tool-word.ts";
import { sha256 } from "../host/files.ts";
import { type PolicyLayer, SHOWN_DIGEST } from "../plan/capability.ts";
import { parsePolicy, parseRuntimesConfig } from "../plan/config-files.ts";
import { type ConfirmedKind, parseConfirmed } from "../plan/confirmations.ts";
import type { DeclaredSource } from "../plan/plan-input.ts";
import { readConfig } from "./read-config.ts";

export interface Config {
  readonly policy: readonly PolicyLayer[];
  readonly declared: readonly DeclaredSource[];
  /** Ids of `approvals` of the home policy that have not run out. */
  readonly approvals: ReadonlySet<string>;
  readonly files: readonly ConfigFile[];
  /** Entries of project files, each with what the user confirms it by. */
  readonly claimable: readonly Claimable[];
  /** Leave that a policy gives to send content to a provider, and whether it counts. */
  readonly egress: readonly EgressGrant[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface ConfigFile {
  readonly path: string;
  readonly source: "project" | "home";
  readonly kind: ConfirmedKind;
  readonly sha256: string;
  /** The user's own, or every entry of it was confirmed. */
  readonly confirmed: boolean;
}

export interface Claimable {
  readonly kind: ConfirmedKind;
  readonly digest: string;
  readonly fileSha256: string;
  readonly path: string;
  readonly words: string;
  readonly confirmed: boolean;
}

type PolicyEntry = NonNullable<PolicyFile["candidates"]>[number];

export interface EgressGrant {
  readonly runtime: string;
  readonly grant: NonNullable<PolicyEntry["egress"]>[number];
  readonly file: string;
  readonly counts: boolean;
}

const CONFIRMED_FILE = "confirmed.json";
export const confirmedPath = (home: string): string => join(home, CONFIG_DIR, CONFIRMED_FILE);

interface Reading {
  readonly policy: PolicyLayer[];
  readonly declared: DeclaredSource[];
  readonly approvals: Set<string>;
  readonly files: ConfigFile[];
  readonly claimable: Claimable[];
  readonly egress: EgressGrant[];
  readonly diagnostics: Diagnostic[];
}

interface Place {
  readonly dir: string;
  readonly source: "project" | "home";
  /** Turns an entry of a file here into what the user confirms it by. */
  readonly digestOf: (kind: ConfirmedKind, entry: unknown) => string;
  readonly isConfirmed: (digest: string) => boolean;
}

/**
 * Project files first. They are not the user: what they raise counts only when the user confirmed exactly that entry in
 * exactly that project (kept in the home), and a runtime of the home keeps its name.
 */
export function loadConfig(o: {
  readonly root: string;
  readonly home: string;
  readonly now: number;
}): Config {
  const into: Reading = {
    policy: [],
    declared: [],
    approvals: new Set(),
    files: [],
    claimable: [],
    egress: [],
    diagnostics: [],
  };
  const confirmed = readConfirmed(o.home, into.diagnostics);
  const project = realPathOf(o.root);
  const places: Place[] = [
    ...(project === realPathOf(o.home)
      ? []
      : [
          {
            dir: join(o.root, CONFIG_DIR),
            source: "project" as const,
            digestOf: (kind: ConfirmedKind, entry: unknown) =>
              sha256(canonicalize({ kind, project, entry }) ?? ""),
            isConfirmed: (digest: string) => confirmed.has(digest),
          },
        ]),
    { dir: join(o.home, CONFIG_DIR), source: "home", digestOf: () => "", isConfirmed: () => true },
  ];
  for (const place of places) {
    readPolicy(place, o.now, into);
    readRuntimes(place, into);
  }
  return into;
}

function readPolicy(place: Place, now: number, into: Reading): void {
  const path = join(place.dir, "policy.yaml");
  const text = textOf(path, into.diagnostics);
  if (text === null) return;
  const parsed = parsePolicy(text, path);
  into.diagnostics.push(...parsed.diagnostics);
  const entries = parsed.policy?.candidates ?? [];
  const { source } = place;
  const confirmations = entries.map((entry) => confirmationOf(place, "policy", entry));
  const confirmed = source === "home" || (entries.length > 0 && confirmations.every((one) => one.confirmed));
  const fileSha256 = sha256(text);
  into.files.push({ path, source, kind: "policy", sha256: fileSha256, confirmed });
  if (parsed.policy === null) return;
  into.policy.push({
    source,
    file: path,
    confirmed,
    entries,
    ...(source === "home" ? {} : { confirmations }),
  });
  entries.forEach((entry, at) => {
    const one = confirmations[at] as (typeof confirmations)[number];
    if (source === "project")
      into.claimable.push({ kind: "policy", fileSha256, path, words: JSON.stringify(entry), ...one });
    for (const grant of entry.egress ?? [])
      into.egress.push({ runtime: entry.runtime, grant, file: path, counts: one.confirmed });
  });
  if (source === "home")
    for (const approval of parsed.policy.approvals ?? [])
      if (lastMoment(approval.until) >= now) into.approvals.add(approval.id);
}

function textOf(
  path: string,
  diagnostics: Diagnostic[],
  severity: Diagnostic["severity"] = "error",
): string | null {
  const text = readConfig(path);
  if (text.ok) return text.value;
  diagnostics.push({ ...text.error, severity });
  return null;
}

/** A day counts to its end. */
const lastMoment = (until: string): number =>
  Date.parse(until) + (until.includes("T") ? 0 : 24 * 60 * 60 * 1000 - 1);

function readRuntimes(place: Place, into: Reading): void {
  const path = join(place.dir, "runtimes.yaml");
  const text = textOf(path, into.diagnostics);
  if (text === null) return;
  const parsed = parseRuntimesConfig(text, path);
  into.diagnostics.push(...parsed.diagnostics);
  const { source } = place;
  const confirmations = parsed.runtimes.map((entry) => confirmationOf(place, "runtimes", entry));
  const confirmed =
    source === "home" || (confirmations.length > 0 && confirmations.every((one) => one.confirmed));
  const fileSha256 = sha256(text);
  into.files.push({ path, source, kind: "runtimes", sha256: fileSha256, confirmed });
  parsed.runtimes.forEach((entry, at) => {
    const one = confirmations[at] as (typeof confirmations)[number];
    const whole = placed(entry, dirname(place.dir));
    const found: DeclaredSource = {
      entry: one.confirmed
        ? whole
        : withoutCredentials(whole, { path, digest: one.digest }, into.diagnostics),
      source,
      confirmed: one.confirmed,
      path,
      sha256: fileSha256,
      ...(source === "home" ? {} : { digest: one.digest }),
    };
    if (source === "project")
      into.claimable.push({ kind: "runtimes", fileSha256, path, words: JSON.stringify(entry), ...one });
    addRuntime(found, into);
  });
}

/**
 * A bare name is looked up on PATH. A relative path is one below the folder that holds `.orchestrate`, wherever the tool is
 * started: the working folder of whoever starts it may never choose the program.
 */
const placed = (entry: DeclaredRuntime, folder: string): DeclaredRuntime =>
  entry.command.includes("/") ? { ...entry, command: resolve(folder, entry.command) } : entry;

const confirmationOf = (
  place: Place,
  kind: ConfirmedKind,
  entry: unknown,
): { digest: string; confirmed: boolean } => {
  const digest = place.digestOf(kind, entry);
  return { digest, confirmed: place.isConfirmed(digest) };
};

/**
 * A project's entry that nobody confirmed is given no credential by its own word: a variable that looks like one would
 * reach a program of the project's choice.
 */
function withoutCredentials(
  entry: DeclaredSource["entry"],
  from: { readonly path: string; readonly digest: string },
  diagnostics: Diagnostic[],
): DeclaredSource["entry"] {
  const secret = [...(entry.env_allow ?? []), ...(entry.provider_env ?? [])].filter(looksSecretName);
  if (secret.length === 0) return entry;
  diagnostics.push({
    severity: "warning",
    code: "credential-unconfirmed",
    file: from.path,
    message: `\`${from.path}\` wants to pass ${[...new Set(secret)].map((name) => `\`${name}\``).join(", ")} to \`${entry.id}\`: it is not passed until the user confirmed the entry.`,
    fix: `${TOOL} approve --policy ${from.digest.slice(0, SHOWN_DIGEST)}`,
  });
  const harmless = (names: readonly string[]): string[] => names.filter((name) => !looksSecretName(name));
  return {
    ...entry,
    ...(entry.env_allow === undefined ? {} : { env_allow: harmless(entry.env_allow) }),
    ...(entry.provider_env === undefined ? {} : { provider_env: harmless(entry.provider_env) }),
  };
}

/** The user's own runtime keeps its name: what policy says of it was not said of a project's program. */
function addRuntime(found: DeclaredSource, into: Reading): void {
  const at = into.declared.findIndex((known) => known.entry.id === found.entry.id);
  const known = into.declared[at];
  if (known === undefined) into.declared.push(found);
  else if (!known.confirmed) {
    into.declared[at] = found;
    into.diagnostics.push({
      severity: "warning",
      code: "runtime-shadowed",
      file: known.path,
      message: `\`${known.path}\` declares \`${found.entry.id}\`, which \`${found.path}\` declares, too: the one of the home counts.`,
      fix: `give it another id, or confirm it: ${TOOL} approve --policy ${(known.digest ?? known.sha256).slice(0, SHOWN_DIGEST)}`,
    });
  }
}

/** Digests that the user confirmed with `approve --policy`; an unreadable list confirms nothing and is said. */
function readConfirmed(home: string, diagnostics: Diagnostic[]): Set<string> {
  const path = confirmedPath(home);
  const text = textOf(path, diagnostics, "warning");
  if (text === null) return new Set();
  const parsed = parseConfirmed(text);
  if (parsed.ok) return new Set(parsed.value.entries.map((entry) => entry.digest));
  diagnostics.push({
    severity: "warning",
    code: "confirmations-unreadable",
    file: path,
    message: `\`${path}\` ${parsed.error}: no entry of a project counts as confirmed.`,
    fix: `mv ${quoteShell(path)} ${quoteShell(path)}.old`,
  });
  return new Set();
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
