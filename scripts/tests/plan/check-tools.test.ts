import { describe, expect, it } from "vitest";
import { checkTools } from "../../src/plan/check-tools.ts";
import { saidBy } from "./rule-support.ts";

const tools = (list: readonly string[] | undefined, runtime?: string): string[] =>
  saidBy((say) => checkTools(list, runtime, ["allowed_tools"], say));

describe("a tool", () => {
  it("is one of the words, with an argument where it takes one", () => {
    expect(tools(undefined)).toEqual([]);
    expect(tools(["read", "search", "edit", "write", "shell", "web", "agent"])).toEqual([]);
    expect(tools(["shell(npm test)", "shell(a (b))", "mcp(github)"])).toEqual([]);
  });

  it.each(["mcp", "mcp()", "mcp(x", "shell(", "shell()", "shell(a\nb)", "shell(x) ", "mcp(x)y"])(
    "is incomplete as %j",
    (tool) => {
      expect(tools(["read", tool], "claude")).toEqual([
        `unknown-tool allowed_tools[1] the tool \`${tool.replace("\n", "\\n")}\` is incomplete | write \`shell\`, \`shell(PREFIX)\` or \`mcp(NAME)\``,
      ]);
    },
  );

  it("of a runtime needs that runtime named", () => {
    for (const tool of ["WebFetch", "_x", "mcp__github__search"]) {
      const told = `raw-tool allowed_tools[0] \`${tool}\` is a runtime's own tool name, but the job names no runtime | use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent, or set \`runtime\``;
      expect(tools([tool], "claude")).toEqual([]);
      expect(tools([tool])).toEqual([told]);
      expect(tools([tool], "<verified-cli-runtime>")).toEqual([told]);
    }
  });

  it("that nobody knows is told with the one that was meant", () => {
    const all = "use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent";
    expect(
      tools(["seach", "mcpp", "browser-use", "x_Y", "xmcp(a)", "xmcp__a", "xshell(a"], "claude"),
    ).toEqual([
      "unknown-tool allowed_tools[0] `seach` is no tool word | did you mean `search`?",
      "unknown-tool allowed_tools[1] `mcpp` is no tool word | did you mean `mcp`?",
      `unknown-tool allowed_tools[2] \`browser-use\` is no tool word | ${all}`,
      `unknown-tool allowed_tools[3] \`x_Y\` is no tool word | ${all}`,
      `unknown-tool allowed_tools[4] \`xmcp(a)\` is no tool word | ${all}`,
      `unknown-tool allowed_tools[5] \`xmcp__a\` is no tool word | ${all}`,
      `unknown-tool allowed_tools[6] \`xshell(a\` is no tool word | ${all}`,
    ]);
  });
});
