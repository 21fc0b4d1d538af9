/** `dispatch` in the built tool: the build's entry loads this in the place of `dispatch.ts`, which is one of the parts beside it. */
import { fileURLToPath } from "node:url";
import type { ExitCode } from "../core/exit-codes.ts";
import { VERSION } from "../core/generated/version.ts";
import { codeCacheOf, openParts } from "../host/compiled-parts.ts";
import { systemEnvironment } from "../host/env.ts";
import type { dispatch as Dispatch } from "./dispatch.ts";

export function dispatch(argv: readonly string[], self: readonly string[]): Promise<ExitCode> {
  const url = new URL("./chunks/", import.meta.url).href;
  const folder = fileURLToPath(url);
  // What the tool starts for itself runs with a heap of its own, for which V8 takes no other process's code.
  const cache =
    argv[0]?.startsWith("__") === true
      ? null
      : codeCacheOf({ folder, version: VERSION, env: systemEnvironment() });
  const parts = openParts({ folder, url, cache });
  const built = parts.load("dispatch.cjs") as { readonly dispatch: typeof Dispatch };
  return built.dispatch(argv, self, parts.compiled);
}
