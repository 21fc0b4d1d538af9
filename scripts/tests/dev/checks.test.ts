import { describe, expect, it } from "vitest";
import type { FileContent } from "../../dev/checks/check.ts";
import { withoutComments } from "../../dev/checks/doors.ts";
import { readMarkdown } from "../../dev/checks/markdown.ts";
import { PLANTED, PLANTED_COUNT } from "../../dev/checks/planted.ts";
import { CHECKS } from "../../dev/checks/registry.ts";
import { repositoryFiles, runChecks } from "../../dev/checks/run.ts";
import { selfTest } from "../../dev/checks/self-test.ts";
import { fillBlocks, RENDERERS } from "../../dev/render/blocks.ts";

describe("the checks", () => {
  it("find every fault that is planted for them", async () => {
    expect(await selfTest()).toEqual([]);
    expect(PLANTED).toHaveLength(PLANTED_COUNT);
  });

  it("say nothing about files that are in order", async () => {
    const files = new Map<string, FileContent>([
      [
        "scripts/src/core/a.ts",
        { text: "// process.env is read elsewhere\nexport const a = 1;\n", link: null },
      ],
    ]);
    for (const check of CHECKS.filter(({ step }) => step === "imports"))
      expect((await check.run(files)).findings, check.id).toEqual([]);
  });

  it("fail when there is nothing to look at", async () => {
    const { ok, lines } = await runChecks("imports", new Map());
    expect(ok).toBe(false);
    expect(lines).toContain("doors: looked at nothing, so it proves nothing");
  });

  it("see symlinks of the repository as links", () => {
    expect(repositoryFiles().get("skills/orchestrate")).toEqual({
      text: "",
      link: "../plugins/orchestrate/skills/orchestrate",
    });
  });
});

describe("comments", () => {
  it("are blanked without moving a line, and strings are kept", () => {
    expect(withoutComments('a; // b\n"// c"; /* d\n e */ f')).toBe('a;     \n"// c";     \n      f');
  });
});

describe("Markdown", () => {
  it("is read with anchors, links, blocks and their marks", () => {
    const document = readMarkdown(
      "---\nname: x\n---\n\n# One `two`\n\n[a](b.md#c)\n\n<!-- example: valid spec -->\n```yaml\nversion: 1\n```\n\n## One two\n",
    );
    expect([...document.anchors]).toEqual(["one-two", "one-two-1"]);
    expect(document.links).toEqual([{ target: "b.md#c", line: 7 }]);
    expect(document.blocks).toEqual([
      { language: "yaml", text: "version: 1\n", line: 10, example: "valid spec" },
    ]);
  });
});

describe("generated blocks", () => {
  it("are filled between their markers and nowhere else", () => {
    const text = "a\n<!-- generated:exit-codes -->\nold\n<!-- /generated -->\nb\n";
    const once = fillBlocks("x.md", text);
    expect(once.blocks).toBe(1);
    expect(once.text).toContain("| 5 | another coordinator owns the run |");
    expect(once.text.startsWith("a\n<!-- generated:exit-codes -->\n\n|")).toBe(true);
    expect(once.text.endsWith("|\n\n<!-- /generated -->\nb\n")).toBe(true);
    expect(fillBlocks("x.md", once.text).text).toBe(once.text);
  });

  it("can all be rendered", () => {
    for (const [id, render] of Object.entries(RENDERERS)) expect(render().length, id).toBeGreaterThan(0);
  });
});
