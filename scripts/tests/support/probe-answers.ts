/** Probe answers of the shipped CLIs, as recorded from the versions that the real suites install. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RuntimeRecord } from "../../src/core/runtime.ts";
import type { Adapter, ProbeAnswer, ProbeInput } from "../../src/runtimes/adapter.ts";
import { adapterFor } from "../../src/runtimes/registry.ts";

const help = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/help/${name}.txt`, import.meta.url)), "utf8");

export const answer = (stdout: string, more: Partial<ProbeAnswer> = {}): ProbeAnswer => ({
  exitCode: 0,
  stdout,
  stderr: "",
  timedOut: false,
  ...more,
});

const CODEX_MODELS = JSON.stringify({
  models: [
    {
      slug: "model-a",
      visibility: "list",
      supported_reasoning_levels: ["low", "medium", "high", "xhigh", "ultra"].map((effort) => ({ effort })),
    },
    {
      slug: "model-b",
      visibility: "list",
      supported_reasoning_levels: ["low", "medium", "high", "max"].map((effort) => ({ effort })),
    },
    { slug: "hidden", visibility: "hide", supported_reasoning_levels: [] },
  ],
});

/** By CLI: an installed, logged-in program on a host without a gateway. */
export const ANSWERS: Readonly<Record<string, Omit<ProbeInput, "binary" | "binaryReal" | "hostOS">>> = {
  claude: {
    answers: {
      version: answer("2.1.197 (Claude Code)\n"),
      help: [answer(help("claude-2.1.197"))],
      auth: answer(
        '{\n  "loggedIn": true,\n  "authMethod": "claude.ai",\n  "apiProvider": "firstParty"\n}\n',
      ),
      models: null,
    },
    envNames: new Set(),
  },
  codex: {
    answers: {
      version: answer("codex-cli 0.171.0\n", { stderr: "WARNING: proceeding, even though 1.2.3 is there\n" }),
      help: [answer(help("codex-0.171.0-exec")), answer(help("codex-0.171.0-exec-resume"))],
      auth: answer("", { stderr: "Logged in using ChatGPT\n" }),
      models: answer(CODEX_MODELS),
      sandbox: answer("", {
        exitCode: 1,
        stderr: "touch: cannot touch 'orchestrate-probe': Read-only file system\n",
      }),
    },
    envNames: new Set(),
  },
  gemini: {
    answers: { version: answer("0.61.0\n"), help: [answer(help("gemini-0.61.0"))], auth: null, models: null },
    settings: { "settings.json": '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' },
    envNames: new Set(["GEMINI_API_KEY"]),
  },
  opencode: {
    answers: {
      version: answer("1.18.33\n"),
      help: [answer("", { stderr: help("opencode-1.18.33-run") })],
      auth: answer("\u001b[90m│\u001b[39m\n└  1 credentials\n"),
      models: answer("stub/stub-model\nstub/stub-small\n"),
      sandbox: answer(
        JSON.stringify({
          permission: { edit: "deny", bash: { "*": "deny", "orchestrate-probe *": "allow" } },
        }),
      ),
    },
    envNames: new Set(),
  },
  pi: {
    answers: {
      version: answer("", { stderr: "0.74.2\n" }),
      help: [answer(help("pi-0.74.2"))],
      auth: null,
      models: answer(
        "provider  model       context  max-out  thinking  images\nstub      stub-model  200K     8.2K     no        no\n",
      ),
    },
    envNames: new Set(),
  },
};

export const inputOf = (id: string, change: Partial<ProbeInput> = {}): ProbeInput => ({
  binary: `/usr/bin/${id}`,
  binaryReal: `/usr/bin/${id}`,
  hostOS: "linux",
  ...(ANSWERS[id] as Omit<ProbeInput, "binary" | "binaryReal" | "hostOS">),
  ...change,
});

/** A record as the inventory would make it from these answers. */
export function recordOf(id: string, change: Partial<ProbeInput> = {}): RuntimeRecord {
  const adapter = adapterFor(id, []) as Adapter;
  return {
    ...adapter.profile(inputOf(id, change)),
    id,
    role: adapter.role,
    kind: adapter.kind,
    binary: `/usr/bin/${id}`,
    binaryReal: `/usr/bin/${id}`,
    hostOS: "linux",
    probedAt: "2026-11-29T12:00:00.000Z",
    reused: false,
    capability: adapter.capability,
    capabilitySource: "adapter-default",
    familySource: "adapter-default",
    classifier_hint: null,
  };
}
