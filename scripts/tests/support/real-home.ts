/** One home in which several real CLIs are set up for the loopback model, as a user's machine would have them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../../dev/repo.ts";
import { exec } from "../../src/host/exec.ts";
import { type CliName, installCli } from "./clis.ts";
import type { ModelServer } from "./model-server.ts";
import { REAL_TIMEOUT, WIRINGS } from "./real-run.ts";

export interface RealHome {
  readonly home: string;
  /** Holds one link per CLI: who removes it makes the CLI vanish. */
  readonly bin: string;
  readonly env: Record<string, string>;
  remove(): void;
}

export async function realHome(names: readonly CliName[], server: ModelServer): Promise<RealHome> {
  mkdirSync(join(ROOT, ".lab/homes"), { recursive: true });
  const home = mkdtempSync(join(ROOT, ".lab/homes/all-"));
  const bin = join(home, "bin");
  mkdirSync(bin);
  const env: Record<string, string> = { HOME: home, PATH: `${bin}:${process.env["PATH"]}`, LANG: "C.UTF-8" };
  const warmUps: [CliName, readonly string[]][] = [];
  for (const name of names) {
    symlinkSync(join(await installCli(name), name), join(bin, name));
    const wiring = WIRINGS[name](server)(home);
    for (const [path, text] of Object.entries(wiring.files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    Object.assign(env, wiring.env);
    if (wiring.warmUp !== undefined) warmUps.push([name, wiring.warmUp]);
  }
  for (const [name, args] of warmUps)
    await exec(join(bin, name), args, { env, cwd: home, timeoutMs: REAL_TIMEOUT });
  return { home, bin, env, remove: () => rmSync(home, { recursive: true, force: true }) };
}
