/** The five CLIs as executables that answer like the recorded ones and write down each call. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProbeAnswer } from "../../src/runtimes/adapter.ts";
import { adapterFor } from "../../src/runtimes/registry.ts";
import { fakeCli } from "./fake-cli.ts";
import { ANSWERS } from "./probe-answers.ts";

export const CLI_NAMES = ["claude", "codex", "gemini", "opencode", "pi"] as const;

/** Puts all five below `bin`. What is no question of the probe answers with nothing. */
export function stubClis(bin: string, more: Readonly<Record<string, Record<string, string>>> = {}): void {
  for (const name of CLI_NAMES) {
    const { answers } = ANSWERS[name] as (typeof ANSWERS)[string];
    const probe = adapterFor(name, [])?.probe;
    if (probe === undefined) throw new Error(`no adapter ${name}`);
    const asked: [readonly string[] | null | undefined, ProbeAnswer | null | undefined][] = [
      [probe.version, answers.version],
      ...probe.help.map((args, at): [readonly string[], ProbeAnswer | undefined] => [args, answers.help[at]]),
      [probe.auth, answers.auth],
      [probe.models, answers.models],
      [probe.sandbox, answers.sandbox],
    ];
    const cases: Record<string, string> = {};
    asked.forEach(([args, answer], at) => {
      if (args === null || args === undefined || answer === null || answer === undefined) return;
      const [out, err] = [`${name}.${at}.out`, `${name}.${at}.err`];
      cases[args.join(" ")] = `cat "$FAKE/${out}"; cat "$FAKE/${err}" >&2; exit ${answer.exitCode ?? 1}`;
      pending.push([join(bin, out), answer.stdout], [join(bin, err), answer.stderr]);
    });
    // A shell takes the first arm that fits.
    const { "*": rest = "exit 9", ...own } = more[name] ?? {};
    fakeCli(bin, name, { ...cases, ...own, "*": rest });
    for (const [path, text] of pending.splice(0)) writeFileSync(path, text);
  }
}
const pending: [string, string][] = [];

/** Calls of one of them so far, in any order, sorted. */
export function callsOf(bin: string, name: string): string[] {
  const path = join(bin, `${name}.calls`);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n").sort() : [];
}

/** Questions of a probe, sorted, each once. */
export function questionsOf(name: string): string[] {
  const probe = adapterFor(name, [])?.probe;
  if (probe === undefined) throw new Error(`no adapter ${name}`);
  const asked = [probe.version, ...probe.help, probe.auth, probe.models, probe.sandbox];
  return asked.flatMap((args) => (args === null || args === undefined ? [] : [args.join(" ")])).sort();
}
