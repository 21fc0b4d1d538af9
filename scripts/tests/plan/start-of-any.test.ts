import fc from "fast-check";
import { expect, it } from "vitest";
import { SECRET_PATTERNS } from "../../src/core/secret-patterns.ts";
import { startOfAny } from "../../src/plan/start-of-any.ts";
import { PROPERTY } from "../support/property.ts";

/** Each place where the expression matches. */
function placesOf(words: readonly string[], text: string): number[] {
  const expression = new RegExp(startOfAny(words), "y");
  return [...text].flatMap((_, at) => {
    expression.lastIndex = at;
    return expression.test(text) ? [at] : [];
  });
}

const byLooking = (words: readonly string[], text: string): number[] =>
  [...text].flatMap((_, at) => (words.some((word) => text.startsWith(word, at)) ? [at] : []));

it("matches where one of the words begins and nowhere else", () => {
  const letters = fc.constantFrom("a", "b", "B", "1", "_", " ", "-", ".", "\\", "(", "|", "$", "\n");
  const word = fc.string({ unit: letters, minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 6 }),
      fc.array(fc.oneof(word, letters), { maxLength: 8 }),
      (words, pieces) => {
        const text = pieces.join("");
        expect(placesOf(words, text)).toEqual(byLooking(words, text));
      },
    ),
    PROPERTY,
  );
});

it("finds each beginning of a secret, and none in ordinary text", () => {
  const anchors = SECRET_PATTERNS.flatMap((entry) => entry.anchors);
  for (const anchor of anchors)
    expect([anchor, placesOf(anchors, `, ${anchor}`)]).toEqual([anchor, byLooking(anchors, `, ${anchor}`)]);
  expect(placesOf(anchors, "PASS 12 tests in 30 ms, undefined is not a function\n")).toEqual([]);
});

it("is one plain word for one word, and told once for what is given twice", () => {
  expect(startOfAny(["key"])).toBe("key");
  expect(startOfAny(["key", "key", "keys"])).toBe("key");
  expect(startOfAny(["ab", "ac", "b."])).toBe("(?:a(?:b|c)|b\\.)");
});
