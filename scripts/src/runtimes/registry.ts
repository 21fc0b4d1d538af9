/** Every runtime that ships, in one line each; what is declared in a `runtimes.yaml` comes after. */
import type { Adapter } from "./adapter.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { type DeclaredRuntime, declaredAdapter } from "./declared.ts";
import { gemini } from "./gemini.ts";
import { internal } from "./internal.ts";
import { mock } from "./mock.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";

export const SHIPPED: readonly Adapter[] = [claude, codex, gemini, opencode, pi, internal, mock];

/**
 * Names that come and go in a working folder while a runtime works there. A checkout can be shared by several of them, so
 * measuring knows them all; only an empty file of such a name is passed over.
 */
export const TRANSIENT_PATHS: readonly string[] = [
  ...new Set(SHIPPED.flatMap((adapter) => adapter.transientPaths ?? [])),
];

/** The adapter for a runtime id, or null when nobody knows that id. A declared entry never replaces a shipped runtime. */
export function adapterFor(id: string, declared: readonly DeclaredRuntime[]): Adapter | null {
  const shipped = SHIPPED.find((adapter) => adapter.id === id);
  if (shipped !== undefined) return shipped;
  const entry = declared.find((runtime) => runtime.id === id);
  return entry === undefined ? null : declaredAdapter(entry);
}
