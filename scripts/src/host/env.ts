/** The only door to the process environment. */
import { homedir, hostname, platform, tmpdir } from "node:os";

export interface Environment {
  readonly cwd: string;
  readonly home: string;
  readonly tmp: string;
  readonly platform: NodeJS.Platform;
  readonly hostname: string;
  readonly stdoutIsTty: boolean;
  readonly stderrIsTty: boolean;
  get(name: string): string | undefined;
  /** All variables; only the child-environment builder and the redactor may use it. */
  all(): Readonly<Record<string, string>>;
}

export function systemEnvironment(): Environment {
  // We change nothing in it, and each look at `process.env` asks the system for every variable: 1 ms, for every job.
  let variables: Readonly<Record<string, string>> | undefined;
  return {
    cwd: process.cwd(),
    home: homedir(),
    tmp: tmpdir(),
    platform: platform(),
    hostname: hostname(),
    // Asked late: the first look at a stream loads it.
    get stdoutIsTty() {
      return process.stdout.isTTY === true;
    },
    get stderrIsTty() {
      return process.stderr.isTTY === true;
    },
    get: (name) => process.env[name],
    all: () => {
      variables ??= currentVariables();
      return variables;
    },
  };
}

function currentVariables(): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) values[name] = value;
  return values;
}
