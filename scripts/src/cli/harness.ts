/** Who called: told by flags or environment, attested, never guessed. */
import type { Environment } from "../host/env.ts";
import { flagOn, flagText, type Parsed } from "./context.ts";

export interface Harness {
  readonly name: string;
  readonly subagents: boolean;
}

/** Null when nobody said anything: a resumed run then keeps what it knew. */
export function harnessOf(env: Environment, parsed: Parsed): Harness | null {
  const name = flagText(parsed, "harness") ?? env.get("ORCHESTRATE_HARNESS");
  const subagents = flagOn(parsed, "subagents") || isOn(env.get("ORCHESTRATE_SUBAGENTS"));
  if ((name === undefined || name === "") && !subagents) return null;
  return { name: name === undefined || name === "" ? "unknown" : canonical(name), subagents };
}

/** Names under which harnesses are known elsewhere. The name decides whose family in-session work is of. */
const ALIASES: Readonly<Record<string, string>> = {
  claude: "claude-code",
  "claude code": "claude-code",
  claudecode: "claude-code",
  "codex-cli": "codex",
  "gemini-cli": "gemini",
  "pi-coding-agent": "pi",
  "open-code": "opencode",
};

const canonical = (name: string): string => {
  const plain = name.trim().toLowerCase();
  return Object.hasOwn(ALIASES, plain) ? (ALIASES[plain] as string) : plain;
};

const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== "" && value !== "0" && value !== "false";
