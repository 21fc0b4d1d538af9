import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILURE_RULES, type FailureClass } from "../../src/core/runtime.ts";
import { classifySignal, messageSignal, statusIn, stderrSignal } from "../../src/runtimes/classify.ts";
import { PROPERTY } from "../support/property.ts";

const ofMessage = (message: string) => classifySignal(messageSignal(message));
const ofStderr = (text: string) => {
  const signal = stderrSignal(text);
  return signal === null ? null : classifySignal(signal);
};

describe("an error message of an envelope", () => {
  it.each<[string, FailureClass]>([
    ["upstream refused: too many requests", "RATE_LIMIT"],
    ["exceeded retry limit, last status: 429 Too Many Requests", "RATE_LIMIT"],
    ["API Error: Request rejected (429) · slow down", "RATE_LIMIT"],
    ["You've hit your session limit · resets 4pm (Europe/Paris)", "QUOTA"],
    ["API Error: Request rejected (429) · You've hit your weekly limit", "QUOTA"],
    [
      '{"error":{"code":429,"message":"You exceeded your current quota, please check your plan","status":"RESOURCE_EXHAUSTED"}}',
      "QUOTA",
    ],
    [
      '[API Error: {"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]',
      "RATE_LIMIT",
    ],
    ["Your credit balance is too low to access the API", "QUOTA"],
    ["402 Payment Required", "QUOTA"],
    ["503 Service Unavailable", "NETWORK"],
    // Most specific wins: the word `auth` in the name of a gateway does not make its 503 a matter of login.
    ["auth gateway answered 503", "NETWORK"],
    ["unauthorized upstream, HTTP 503", "NETWORK"],
    ["Overloaded", "NETWORK"],
    ["stream disconnected before completion", "NETWORK"],
    ["getaddrinfo ENOTFOUND api.example.com", "NETWORK"],
    ["unexpected status 401 Unauthorized", "AUTH"],
    ["Not logged in · Please run /login", "AUTH"],
    ["Invalid API key", "AUTH"],
    ["prompt is too long: 250000 tokens > 200000 maximum", "CONTEXT_OVERFLOW"],
    ["This model's maximum context length is 128000 tokens", "CONTEXT_OVERFLOW"],
    ["The model x does not exist or you do not have access to it.", "MODEL_UNAVAILABLE"],
    ["There's an issue with the selected model (x). It may not exist.", "MODEL_UNAVAILABLE"],
    ["models/x is not found for API version v1beta", "MODEL_UNAVAILABLE"],
    ["unknown model: x", "MODEL_UNAVAILABLE"],
  ])("%s → %s", (message, expected) => {
    expect(ofMessage(message)).toBe(expected);
  });

  it.each([
    "I could not do it",
    "",
    "the answer is 429",
    "line 401 of the file has a typo",
    "something else happened",
  ])("says nothing that is known: %s", (message) => {
    expect(ofMessage(message)).toBeNull();
  });
});

describe("a stderr tail", () => {
  it.each<[string, FailureClass]>([
    ["error: unknown option '--no-such-flag'", "BAD_FLAG"],
    ["error: unexpected argument '-d' found", "BAD_FLAG"],
    ["Error: Unknown option: -dash", "BAD_FLAG"],
    ["thread 'main' panicked at src/main.rs:1:1", "RUNTIME_CRASH"],
    ["FATAL ERROR: Reached heap limit Allocation failed", "RUNTIME_CRASH"],
    ["Error: Cannot find module 'x'", "RUNTIME_CRASH"],
    ["bwrap: No permissions to create a new namespace", "SANDBOX"],
    ["\u001b[93m! \u001b[0mpermission requested: external_directory (/etc/*); auto-rejecting", "PERMISSION"],
    ["Gemini CLI is not running in a trusted directory.", "PERMISSION"],
    ["Please set an Auth method in your settings", "AUTH"],
    ["retrying\nretrying\nquota exceeded for this month", "QUOTA"],
  ])("%s → %s", (text, expected) => {
    expect(ofStderr(text)).toBe(expected);
  });

  it("is read at its end only", () => {
    expect(ofStderr(`429 Too Many Requests\n${"all is well\n".repeat(1_000)}`)).toBeNull();
  });

  it("is nothing when it is blank", () => {
    expect(stderrSignal(" \n")).toBeNull();
  });
});

describe("rules", () => {
  it("let a class be named outright by whoever is entitled to", () => {
    for (const name of Object.keys(FAILURE_RULES) as FailureClass[])
      expect(classifySignal({ status: 429, code: `class:${name}`, message: "503 unauthorized" })).toBe(name);
    expect(classifySignal({ status: null, code: "class:NONSENSE", message: null })).toBeNull();
  });

  it("of an adapter come before the shared ones of the same weight", () => {
    const own = [{ class: "UNKNOWN" as const, text: /too many requests/ }];
    expect(classifySignal({ status: null, code: null, message: "too many requests" }, own)).toBe("UNKNOWN");
  });

  it("take a status from the places where runtimes put it, the last one named", () => {
    expect(statusIn("first HTTP 500, then status code: 429")).toBe(429);
    expect(statusIn("failed with status 777")).toBeNull();
    expect(statusIn("at chunk.js:404:29")).toBeNull();
    expect(statusIn("reads 401 files")).toBeNull();
  });

  it("answer fast and never throw, whatever they are given", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          "limit ",
          "your ",
          "hit ",
          "model ",
          "context ",
          "connection ",
          "sandbox ",
          "(",
          "status 4",
          "{",
          '"code":',
          "try again in ",
          "1 ",
        ),
        fc.string({ maxLength: 20 }),
      ),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(pieces, (list) => {
        const text = list.join("");
        const started = performance.now();
        ofMessage(text);
        ofStderr(text);
        expect(performance.now() - started).toBeLessThan(1_000);
      }),
      PROPERTY,
    );
  });
});
