/** The neutral tool vocabulary of a job, read once for all adapters. */

export type ToolWord =
  | { readonly kind: "read" | "search" | "edit" | "write" | "web" | "agent" }
  | { readonly kind: "shell"; readonly prefix: string | null }
  | { readonly kind: "mcp"; readonly name: string }
  | { readonly kind: "raw"; readonly name: string };

export interface ToolGrant {
  readonly read: boolean;
  readonly search: boolean;
  readonly edit: boolean;
  readonly write: boolean;
  readonly web: boolean;
  readonly agent: boolean;
  /** "all", or the command prefixes that may run; empty = no shell. */
  readonly shell: "all" | readonly string[];
  /** Prefixes taken away again. */
  readonly shellDenied: readonly string[];
  readonly mcp: readonly string[];
  readonly raw: readonly string[];
  readonly rawDenied: readonly string[];
}

export function parseToolWord(word: string): ToolWord {
  switch (word) {
    case "read":
    case "search":
    case "edit":
    case "write":
    case "web":
    case "agent":
      return { kind: word };
    case "shell":
      return { kind: "shell", prefix: null };
  }
  const call = /^(shell|mcp)\(([\s\S]+)\)$/.exec(word);
  if (call?.[1] === "shell") return { kind: "shell", prefix: (call[2] as string).trim() };
  if (call?.[1] === "mcp") return { kind: "mcp", name: (call[2] as string).trim() };
  return { kind: "raw", name: word };
}

/** What is left after `disallowed` took its part away. A bare word there removes the whole tool. */
export function grantOf(tools: {
  readonly allowed: readonly string[];
  readonly disallowed: readonly string[];
}): ToolGrant {
  const allowed = tools.allowed.map(parseToolWord);
  const disallowed = tools.disallowed.map(parseToolWord);
  const has = (kind: ToolWord["kind"]): boolean =>
    allowed.some((word) => word.kind === kind) && !disallowed.some((word) => word.kind === kind);
  const noShell = disallowed.some((word) => word.kind === "shell" && word.prefix === null);
  const shellWords = noShell ? [] : allowed.filter((word) => word.kind === "shell");
  const shellDenied = disallowed.flatMap((word) =>
    word.kind === "shell" && word.prefix !== null ? [word.prefix] : [],
  );
  const names = (list: readonly ToolWord[], kind: "mcp" | "raw"): string[] =>
    list.flatMap((word) => (word.kind === kind ? [word.name] : []));
  const minus = (list: string[], gone: string[]): string[] => list.filter((name) => !gone.includes(name));
  return {
    read: has("read"),
    search: has("search"),
    edit: has("edit"),
    write: has("write"),
    web: has("web"),
    agent: has("agent"),
    shell: shellWords.some((word) => word.prefix === null)
      ? "all"
      : shellWords.flatMap((word) => (word.prefix === null ? [] : [word.prefix])),
    shellDenied,
    mcp: minus(names(allowed, "mcp"), names(disallowed, "mcp")),
    raw: minus(names(allowed, "raw"), names(disallowed, "raw")),
    rawDenied: names(disallowed, "raw"),
  };
}

export const hasShell = (grant: ToolGrant): boolean => grant.shell === "all" || grant.shell.length > 0;
/** True when nothing granted can change a file. */
export const readsOnly = (grant: ToolGrant): boolean =>
  !grant.edit && !grant.write && !hasShell(grant) && grant.raw.length === 0 && grant.mcp.length === 0;
