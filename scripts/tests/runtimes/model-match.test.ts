import { describe, expect, it } from "vitest";
import { isRequestedModel } from "../../src/runtimes/model-match.ts";

const same = (
  requested: string,
  observed: string,
  provider: string | null = null,
  aliases: string[] = [],
): boolean => isRequestedModel({ requested, observed, provider, aliases });

describe("the model that answered", () => {
  it.each([
    ["a-large", "a-large", null, []],
    ["a-large", "A-Large[1m]", null, []],
    ["a-large", "a-large-20260401", null, []],
    ["stub/stub-model", "stub-model", "stub", []],
    ["a-large", "models/a-large", "google", []],
    ["large", "vendor-large-4-8", null, ["large", "small"]],
  ] as const)("%s is %s", (requested, observed, provider, aliases) => {
    expect(same(requested, observed, provider, [...aliases])).toBe(true);
  });

  it.each([
    ["a-large", "a-small", null, []],
    ["a-large-1", "a-large-2", null, []],
    ["other/stub-model", "stub-model", "stub", []],
    // Not an alias of this runtime: a word in common says nothing.
    ["large", "vendor-large-4-8", null, []],
    ["large", "vendor-larger-4-8", null, ["large"]],
  ] as const)("%s is not %s", (requested, observed, provider, aliases) => {
    expect(same(requested, observed, provider, [...aliases])).toBe(false);
  });
});
