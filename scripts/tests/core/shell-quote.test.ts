import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quoteShell } from "../../src/core/shell-quote.ts";
import { PROPERTY } from "../support/property.ts";

describe("a word that people paste", () => {
  it("is quoted where a shell needs it", () => {
    expect(quoteShell("a/b.c")).toBe("a/b.c");
    expect(quoteShell("it's")).toBe("'it'\\''s'");
    expect(quoteShell("")).toBe("''");
    expect(quoteShell("$(x)")).toBe("'$(x)'");
  });

  it("reaches the program as it was, whatever it holds", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 20, maxLength: 40 }), (drawn) => {
        // No argument of any program holds a zero byte.
        const words = drawn.map((word) => word.replaceAll("\0", ""));
        const line = `for w in ${words.map(quoteShell).join(" ")}; do printf '%s\\0' "$w"; done`;
        expect(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" })).toBe(`${words.join("\0")}\0`);
      }),
      { ...PROPERTY, numRuns: 20 },
    );
  });
});
