import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { describe, expect, it } from "vitest";
import {
  markdownCode,
  markdownFence,
  markdownLine,
  markdownText,
  plainText,
} from "../../src/prove/report-text.ts";
import { cpuMs } from "./sample-run.ts";

const markdown = new MarkdownIt({ html: true, linkify: true });

describe("plain text", () => {
  it("loses terminal escapes whole, and controls, and joins lines", () => {
    expect(plainText("\u001b[1;31mred\u001b[0m and\n\tback")).toBe("red and back");
    expect(plainText("\u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe("link");
    expect(plainText("\u009b2Jx\u0090q\u009cy")).toBe("xy");
    expect(plainText("a\u0000b\u202ec\u200bd\ufeffe")).toBe("abcde");
  });

  it("keeps scripts, emoji and what stands for undecodable bytes", () => {
    expect(plainText("naïve 日本語 👍 \ufffd")).toBe("naïve 日本語 👍 \ufffd");
  });

  it("is cut at its bound, between characters, in time that does not follow the input", () => {
    expect(plainText("x".repeat(400), 10)).toBe(`${"x".repeat(10)}…`);
    expect(plainText(`${"x".repeat(9)}👍👍`, 10)).toBe(`${"x".repeat(9)}…`);
    expect(cpuMs(() => plainText("\u001b]".repeat(5_000_000)))).toBeLessThan(1_000);
  });
});

describe("text in Markdown", () => {
  it("reads back as itself, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (raw) => {
        const text = plainText(raw, 1_000);
        fc.pre(text !== "");
        const [, inline] = markdown.parse(`x ${markdownText(text)}`, {});
        expect(
          inline?.children
            ?.map((child) =>
              child.type === "text_special" || child.type === "text" ? child.content : child.type,
            )
            .join(""),
        ).toBe(`x ${text}`);
        const [, start] = markdown.parse(markdownLine(markdownText(text)), {});
        expect(start?.children?.map((child) => child.content).join("")).toBe(text);
      }),
      { seed: 20_260_301, numRuns: 2_000 },
    );
  });

  it("is code only where a code span can hold it", () => {
    expect(markdownCode("src/a_b.ts")).toBe("`src/a_b.ts`");
    expect(markdownCode("a`b")).toBe("a\\`b");
    expect(markdownCode("a|b")).toBe("a\\|b");
    expect(markdownCode("")).toBe("");
  });

  it("cannot end the fence that it stands in", () => {
    const [token, ...rest] = markdown.parse(markdownFence(["```", "````\n# x", "ok"], "sh"), {});
    expect(rest).toEqual([]);
    expect(token?.content).toBe("```\n```` # x\nok\n");
  });
});
