/** The real CLIs, installed from npm on first use. A suite that cannot start its CLI fails; it never skips. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

interface Cli {
  readonly package: string;
  readonly version: string;
  readonly bin: string;
}

/** Versions that run on the oldest Node we support. */
export const CLIS = {
  claude: { package: "@anthropic-ai/claude-code", version: "2.1.197", bin: "claude" },
  codex: { package: "@openai/codex", version: "0.171.0", bin: "codex" },
  gemini: { package: "@google/gemini-cli", version: "0.61.0", bin: "gemini" },
  opencode: { package: "opencode-ai", version: "1.18.33", bin: "opencode" },
  pi: { package: "@earendil-works/pi-coding-agent", version: "0.74.2", bin: "pi" },
} as const satisfies Readonly<Record<string, Cli>>;
const FURTHER: Cli = { package: "@qwen-code/qwen-code", version: "0.15.10", bin: "qwen" };
export type CliName = keyof typeof CLIS;

const LAB = fileURLToPath(new URL("../../../.lab/clis/", import.meta.url));

/** The folder that holds the executable. Two installs at the same time do no harm: the first one to finish stays. */
export const installCli = (name: CliName): Promise<string> => install(name, CLIS[name]);

/** A CLI that no adapter knows: only a declaration can use it. */
export const installFurther = (): Promise<string> => install("qwen", FURTHER);

async function install(name: string, cli: Cli): Promise<string> {
  const home = join(LAB, `${name}-${cli.version}`);
  const bin = join(home, "node_modules", ".bin");
  if (existsSync(join(bin, cli.bin))) return bin;
  const building = `${home}.${process.pid}`;
  rmSync(building, { recursive: true, force: true });
  mkdirSync(building, { recursive: true });
  writeFileSync(join(building, "package.json"), JSON.stringify({ private: true }));
  const args = ["install", "--no-audit", "--no-fund", "--no-save", `${cli.package}@${cli.version}`];
  await promisify(execFile)("npm", args, {
    cwd: building,
    timeout: 600_000,
    maxBuffer: 16 * 1024 * 1024,
    // Install scripts start the CLIs, which would settle down in the home of whoever runs the tests.
    env: {
      ...process.env,
      HOME: building,
      npm_config_userconfig: join(homedir(), ".npmrc"),
      npm_config_cache: join(homedir(), ".npm"),
    },
  });
  if (!existsSync(join(building, "node_modules", ".bin", cli.bin)))
    throw new Error(`${cli.package}@${cli.version} installed no \`${cli.bin}\``);
  try {
    renameSync(building, home);
  } catch {
    rmSync(building, { recursive: true, force: true });
  }
  return bin;
}
