/** Which file runs when a runtime's name is called: PATH, links followed, launchers looked through. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import which from "which";
import type { Environment } from "../host/env.ts";
import type { Adapter } from "../runtimes/adapter.ts";

export interface Located {
  /** As found on PATH. */
  readonly binary: string;
  /** The file behind it: links followed, and a launcher replaced by what it starts. */
  readonly binaryReal: string;
  /** Changes when the file is replaced. */
  readonly identity: string;
  /** True when `binaryReal` is what the launcher would have started. */
  readonly native: boolean;
}

/** null when there is no such executable. */
export async function locate(
  adapter: Pick<Adapter, "executable" | "native">,
  env: Environment,
): Promise<Located | null> {
  if (adapter.executable === null) return null;
  const named = adapter.executable.includes("/") ? resolve(env.cwd, adapter.executable) : adapter.executable;
  const found = await which(named, { path: safePath(env), nothrow: true });
  if (found === null) return null;
  const real = realPath(found);
  if (real === null) return null;
  const arch = process.arch;
  const native = adapter.native?.({ binaryReal: real, platform: env.platform, arch }).find(isExecutable);
  const binaryReal = native === undefined ? real : (realPath(native) ?? real);
  const stat = statSync(binaryReal);
  return {
    binary: found,
    binaryReal,
    identity: `${binaryReal}\0${stat.size}\0${stat.mtimeMs}\0${stat.ino}`,
    native: native !== undefined,
  };
}

/** A relative entry of PATH would let the workspace choose the program. */
function safePath(env: Environment): string {
  const separator = env.platform === "win32" ? ";" : ":";
  return (env.get("PATH") ?? "")
    .split(separator)
    .filter((entry) => isAbsolute(entry))
    .join(separator);
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
