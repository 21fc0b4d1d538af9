/**
 * Where the reference provider's key comes from. Only this one key is read from files, and its value leaves this module
 * for the classifier's environment and the redactor alone.
 */
import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { PLANE_LIMITS } from "../core/policy.ts";

export const REFERENCE_KEY = "TYPESAFE_API_KEY";

export type CredentialSource = "env" | "project-env" | "skills-env" | "skill-env" | "absent";
export type CredentialTrust = "process" | "working-tree";

export interface Credential {
  readonly source: CredentialSource;
  /** Null when there is none. */
  readonly trust: CredentialTrust | null;
  /** Later places of the read order that hold a value too. */
  readonly shadowed: readonly Exclude<CredentialSource, "absent">[];
  /** Never printed, stored or measured. */
  readonly value: string | null;
}

export const NO_CREDENTIAL: Credential = { source: "absent", trust: null, shadowed: [], value: null };

/** The places of the read order, the first non-empty of which wins. */
export interface CredentialPlaces {
  readonly env: string | undefined;
  /** `.env` files; null where there is no such place. */
  readonly project: string | null;
  readonly skills: string | null;
  readonly skill: string | null;
}

/** Paths of the three files. `script` is the running tool's main file, below the skill's `scripts/`. */
export function credentialPlaces(o: {
  readonly environment: (name: string) => string | undefined;
  readonly workspaceRoot: string;
  readonly script: string;
}): CredentialPlaces {
  const skill = skillFolder(o.script);
  return {
    env: o.environment(REFERENCE_KEY),
    project: isLinkedWorktree(o.workspaceRoot) ? null : join(o.workspaceRoot, ".env"),
    skills: skill === null ? null : join(dirname(skill), ".env"),
    skill: skill === null ? null : join(skill, ".env"),
  };
}

export function findCredential(places: CredentialPlaces): Credential {
  const found = valuesIn(places);
  const [first, ...later] = found;
  if (first === undefined) return NO_CREDENTIAL;
  return {
    source: first.source,
    trust: first.source === "env" ? "process" : "working-tree",
    shadowed: later.map((place) => place.source),
    value: first.value,
  };
}

/** What must be masked wherever it turns up: the key, and those that it shadows, whether anybody is given it or not. */
export const everyKey = (places: CredentialPlaces): string[] => valuesIn(places).map(({ value }) => value);

function valuesIn(
  places: CredentialPlaces,
): { readonly source: Exclude<CredentialSource, "absent">; readonly value: string }[] {
  return [
    { source: "env" as const, value: usable(places.env ?? "") },
    { source: "project-env" as const, value: keyIn(places.project) },
    { source: "skills-env" as const, value: keyIn(places.skills) },
    { source: "skill-env" as const, value: keyIn(places.skill) },
  ].flatMap(({ source, value }) => (value === null ? [] : [{ source, value }]));
}

/** The folder with SKILL.md that holds the script, by real paths: a linked install has its own key file. */
function skillFolder(script: string): string | null {
  try {
    const scripts = dirname(realpathSync(script));
    const skill = dirname(scripts);
    return basename(scripts) === "scripts" && statSync(join(skill, "SKILL.md")).isFile() ? skill : null;
  } catch {
    return null;
  }
}

/** A linked worktree may be a job's: what a job writes there is never read as the user's key. */
function isLinkedWorktree(root: string): boolean {
  try {
    const dotGit = join(root, ".git");
    return lstatSync(dotGit).isFile() && /[/\\]worktrees[/\\]/.test(readFileSync(dotGit, "utf8"));
  } catch {
    return false;
  }
}

function keyIn(path: string | null): string | null {
  if (path === null) return null;
  try {
    const facts = statSync(path);
    if (!facts.isFile() || facts.size > PLANE_LIMITS.envFileMaxBytes) return null;
    return keyOf(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

/** The value of the one key in a dotenv text; every other line is passed over unread. The last assignment counts. */
export function keyOf(text: string): string | null {
  let value: string | null = null;
  for (const line of text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/)) {
    const match = ASSIGNMENT.exec(line);
    if (match !== null) value = usable(unquote(match[1] as string));
  }
  return value;
}

const ASSIGNMENT = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${REFERENCE_KEY}[ \\t]*=(.*)$`);

function unquote(raw: string): string {
  const text = raw.trim();
  const quoted = /^(["'])(.*?)\1[ \t]*(?:#.*)?$/.exec(text);
  return quoted === null ? text.replace(/(?:^|[ \t]+)#.*$/, "") : (quoted[2] as string);
}

/** Null for nothing, and for what no header or variable can carry. */
function usable(raw: string): string | null {
  const value = raw.trim();
  return /^[\x21-\x7e]+$/.test(value) ? value : null;
}
