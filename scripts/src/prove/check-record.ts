/** How one check of layer 1 is recorded. */
import type { Attempt } from "../core/runtime.ts";

type Check = Attempt["checks"][number];

export const check = (id: string, ok: boolean, detail: string, code: string | null = null): Check => ({
  id,
  ok,
  detail,
  code,
  exitCode: null,
  wallMs: null,
});

export const names = (paths: readonly string[], most = 5): string =>
  paths
    .slice(0, most)
    .map((path) => `\`${path}\``)
    .join(", ") + (paths.length > most ? ` and ${paths.length - most} more` : "");
