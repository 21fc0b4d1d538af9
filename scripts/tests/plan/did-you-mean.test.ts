import { describe, expect, it } from "vitest";
import { didYouMean } from "../../src/plan/did-you-mean.ts";

const FIELDS = ["timeout", "depends_on", "expected_output", "allowed_tools", "cwd", "id", "retry"];

describe("the word that was probably meant", () => {
  it.each([
    ["timeuot", "timeout"],
    ["dependsOn", "depends_on"],
    ["DEPENDS-ON", "depends_on"],
    ["needs", "depends_on"],
    ["tools", "allowed_tools"],
    ["expected_ouput", "expected_output"],
    ["cdw", null],
    ["ix", null],
    ["completely_different", null],
    ["x".repeat(5_000), null],
    ["constructor", null],
    ["__proto__", null],
  ])("%s: %s", (word, meant) => expect(didYouMean(word, FIELDS)).toBe(meant));

  it("is looked for among names with the same beginning when there are thousands", () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `job-${index}`);
    expect(didYouMean("job-1l", ids)).toBe("job-1");
    expect(didYouMean("other", ids)).toBeNull();
  });
});
