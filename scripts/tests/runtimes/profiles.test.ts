/** What the answers of a probe prove, and what they do not. */
import { describe, expect, it } from "vitest";
import { customProvider } from "../../src/runtimes/codex.ts";
import { internalProfile } from "../../src/runtimes/internal.ts";
import { versionIn } from "../../src/runtimes/profile.ts";
import { answer, inputOf, recordOf } from "../support/probe-answers.ts";

const changed = (id: string, answers: object, more: object = {}) =>
  recordOf(id, { answers: { ...inputOf(id).answers, ...answers }, ...more });

describe("a version", () => {
  it.each([
    ["2.1.197 (Claude Code)\n", "", "2.1.197"],
    ["", "0.74.2\n", "0.74.2"],
    ["WARNING: 9.9.9 is odd\ncodex-cli 0.171.0\n", "", "0.171.0"],
    ["tool version 1.2.3-beta.4+5\n", "", "1.2.3-beta.4"],
    ["v2.1.7\n", "", "2.1.7"],
    ["tool/v2.1.7 linux-x64 node-v20.20.0\n", "", "2.1.7"],
    ["tool (3.4)\n", "", "3.4"],
    ["\ufeff2026.01.02-abc\r\n", "", "2026.01.02-abc"],
    ["r2d2 build7.1\n", "", null],
    ["no number here\n", "", null],
  ])("is read from %j and %j", (stdout, stderr, version) => {
    expect(versionIn(answer(stdout, { stderr }))).toBe(version);
  });
});

describe("claude's login", () => {
  it.each([
    [
      '{"loggedIn": true, "authMethod": "claude.ai", "apiProvider": "firstParty"}',
      true,
      "subscription",
      "anthropic",
    ],
    ['{"loggedIn": true, "authMethod": "api_key", "apiProvider": "firstParty"}', true, "key", "anthropic"],
    [
      '{"loggedIn": true, "authMethod": "third_party", "apiProvider": "bedrock"}',
      true,
      "subscription",
      "bedrock",
    ],
    ['{"loggedIn": false, "authMethod": "none", "apiProvider": "firstParty"}', false, "none", "anthropic"],
    ["You are logged in as a person", "unverified", "unknown", null],
    ["", "unverified", "unknown", null],
  ] as const)("from %s", (stdout, authenticated, authSource, provider) => {
    expect(changed("claude", { auth: answer(stdout) })).toMatchObject({
      authenticated,
      authSource,
      provider,
    });
  });

  it("is a key where one is in the environment, since that is what it then uses", () => {
    expect(recordOf("claude", { envNames: new Set(["ANTHROPIC_API_KEY"]) }).authSource).toBe("key");
  });

  it("rejects only what is known to be logged out", () => {
    expect(changed("claude", { auth: answer("", { timedOut: true, exitCode: null }) })).toMatchObject({
      state: "available",
    });
    expect(changed("claude", { auth: answer('{"loggedIn": false}') })).toMatchObject({
      state: "unavailable",
      reason: "not-authenticated",
    });
  });
});

describe("codex", () => {
  it.each([
    ['model_provider = "stub"\n', "stub"],
    ["model_provider='stub'", "stub"],
    ['model_provider = "openai"\n', null],
    ['openai_base_url = "http://127.0.0.1:1"\n', "custom-endpoint"],
    // Below a table it is something else.
    ['[profiles.x]\nmodel_provider = "stub"\n', null],
    ['# model_provider = "stub"\n', null],
    ["", null],
  ])("finds the provider that a configuration puts in place: %j", (config, provider) => {
    expect(customProvider(config)).toBe(provider);
  });

  it.each([
    ["Logged in using ChatGPT", 0, true, "subscription"],
    ["Logged in using an API key - ***", 0, true, "key"],
    ["Not logged in", 1, false, "none"],
    ["error: something broke", 1, "unverified", "unknown"],
  ] as const)("reads its login from %s", (stderr, exitCode, authenticated, authSource) => {
    expect(changed("codex", { auth: answer("", { stderr, exitCode }) })).toMatchObject({
      authenticated,
      authSource,
    });
  });

  it("offers the efforts that all its listed models offer", () => {
    expect(recordOf("codex")).toMatchObject({
      models: ["model-a", "model-b"],
      effortLevels: ["low", "medium", "high"],
    });
    expect(changed("codex", { models: answer("not json") })).toMatchObject({
      models: null,
      effortLevels: [],
    });
  });

  it.each([
    ["touch: cannot touch 'x': Read-only file system", 1, "os-sandbox", "available"],
    ["", 0, "none", "constrained"],
    ["bwrap: No permissions to create a new namespace", 1, "none", "constrained"],
    // It did not understand the question: the flags in its help are what is left.
    ["error: unrecognized subcommand 'sandbox'", 2, "os-sandbox", "available"],
  ] as const)("takes its sandbox for proven or not: %s", (stderr, exitCode, value, state) => {
    expect(changed("codex", { sandbox: answer("", { stderr, exitCode }) })).toMatchObject({
      state,
      isolation: { value, evidence: "verified" },
    });
  });
});

describe("gemini's login", () => {
  const withSettings = (settings: string, names: string[]) =>
    recordOf("gemini", { settings: { "settings.json": settings }, envNames: new Set(names) });

  it.each([
    ['{"security":{"auth":{"selectedType":"gemini-api-key"}}}', ["GEMINI_API_KEY"], true, "key"],
    ['{"security":{"auth":{"selectedType":"gemini-api-key"}}}', [], "unverified", "key"],
    ['{"security":{"auth":{"selectedType":"oauth-personal"}}}', [], "unverified", "subscription"],
    ["{}", ["GEMINI_API_KEY"], "unverified", "key"],
    ["{}", ["GOOGLE_GENAI_USE_VERTEXAI"], "unverified", "unknown"],
    ["{}", [], false, "none"],
    ["not json", [], false, "none"],
  ] as const)("from %s and %j", (settings, names, authenticated, authSource) => {
    expect(withSettings(settings, [...names])).toMatchObject({ authenticated, authSource });
  });
});

describe("opencode", () => {
  it("has no proven bounds where the user's own configuration grants more", () => {
    const own = {
      permission: { edit: "deny", bash: { "*": "deny", "npm *": "allow", "orchestrate-probe *": "allow" } },
    };
    const record = changed("opencode", { sandbox: answer(JSON.stringify(own)) });
    expect(record.toolGating).toEqual({ value: "unverified", evidence: "unverified" });
    expect(record.approval).toEqual({ value: "unverified", evidence: "unverified" });
    expect(changed("opencode", { sandbox: null }).toolGating.value).toBe("unverified");
  });

  it("is constrained without a model, and never counts as logged out", () => {
    expect(changed("opencode", { models: answer("\n") })).toMatchObject({
      state: "constrained",
      reason: "no-models",
    });
    expect(changed("opencode", { auth: answer("└  0 credentials") })).toMatchObject({
      state: "available",
      authenticated: "unverified",
    });
  });
});

describe("pi", () => {
  it("is logged in where a model shows", () => {
    expect(recordOf("pi")).toMatchObject({ authenticated: true, models: ["stub/stub-model"] });
    expect(
      changed("pi", { models: answer("", { stderr: "No models available. Use /login\n" }) }),
    ).toMatchObject({
      state: "unavailable",
      reason: "not-authenticated",
    });
    expect(changed("pi", { models: answer("another layout\n") })).toMatchObject({
      state: "available",
      authenticated: "unverified",
      models: null,
    });
  });
});

describe("internal", () => {
  it("never claims more than the harness attests", () => {
    const profile = internalProfile({ name: "Claude-Code", subagents: true });
    const levels = [
      profile.toolGating,
      profile.writeBoundary,
      profile.isolation,
      profile.bypassAbsent,
      profile.timeout,
      profile.capture,
    ];
    expect([...new Set(levels.map((control) => control.evidence))]).toEqual(["attested"]);
    expect(profile).toMatchObject({ state: "available", family: "anthropic", vendorBound: true });
    expect(internalProfile({ name: "unknown", subagents: false })).toMatchObject({
      state: "unavailable",
      reason: "no-harness",
      family: null,
    });
  });
});
