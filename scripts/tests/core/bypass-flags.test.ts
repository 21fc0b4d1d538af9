import { describe, expect, it } from "vitest";
import { bypassFlag } from "../../src/core/bypass-flags.ts";

describe("a flag that switches permission checks off", () => {
  it.each<[string, readonly string[], string]>([
    ["claude", ["claude", "-p", "--dangerously-skip-permissions"], "--dangerously-skip-permissions"],
    [
      "a flag that only allows it",
      ["claude", "--allow-dangerously-skip-permissions"],
      "--allow-dangerously-skip-permissions",
    ],
    [
      "codex",
      ["codex", "exec", "--dangerously-bypass-approvals-and-sandbox"],
      "--dangerously-bypass-approvals-and-sandbox",
    ],
    ["a sandbox by value", ["codex", "--sandbox", "danger-full-access"], "--sandbox danger-full-access"],
    ["a sandbox by equals sign", ["codex", "--sandbox=danger-full-access"], "--sandbox danger-full-access"],
    [
      "a permission mode",
      ["claude", "--permission-mode", "bypassPermissions"],
      "--permission-mode bypassPermissions",
    ],
    [
      "a configuration in an argument",
      ["claude", "--settings", '{"defaultMode":"bypassPermissions"}'],
      "bypassPermissions",
    ],
    ["a sandbox of another program", ["x", "sandbox_mode=danger-full-access"], "danger-full-access"],
    ["an approval mode of another program", ["x", "approval_mode: yolo"], "approval_mode: yolo"],
    ["any program's yolo", ["my-agent", "--yolo"], "--yolo"],
    ["yolo with a value", ["my-agent", "--yolo=true"], "--yolo"],
    ["an approval mode", ["gemini", "--approval-mode", "yolo"], "--approval-mode yolo"],
    ["gemini's short form", ["gemini", "-y"], "-y"],
    ["gemini through npx", ["npx", "gemini", "-y"], "-y"],
    ["copilot", ["copilot", "--allow-all-tools"], "--allow-all-tools"],
    ["amazon", ["q", "chat", "--trust-all-tools"], "--trust-all-tools"],
    ["aider", ["aider", "--yes-always"], "--yes-always"],
    ["droid", ["droid", "--skip-permissions-unsafe"], "--skip-permissions-unsafe"],
    ["a path to the program", ["/usr/local/bin/cursor-agent", "-f"], "-f"],
    [
      "the text of a shell",
      ["sh", "-c", "claude -p x --dangerously-skip-permissions"],
      "--dangerously-skip-permissions",
    ],
    ["quotes in the text of a shell", ["bash", "-c", "gemini '--yolo'"], "--yolo"],
    ["upper case", ["x", "--DANGEROUSLY-ALLOW-ALL"], "--DANGEROUSLY-ALLOW-ALL"],
    ["a setting with underscores", ["x", "-c", "dangerously_skip_checks=true"], "dangerously_skip_checks"],
  ])("%s", (_name, argv, flag) => expect(bypassFlag(argv)).toBe(flag));

  it("is also what a runtime declares as one", () => {
    expect(bypassFlag(["my-agent", "run", "--fast"], ["--fast"])).toBe("--fast");
    expect(bypassFlag(["my-agent", "run", "--fast=1"], ["--fast"])).toBe("--fast");
    expect(bypassFlag(["my-agent", "unsafe"], ["unsafe"])).toBe("unsafe");
  });

  it.each<[string, readonly string[]]>([
    ["nothing", []],
    ["an ordinary check", ["npm", "test", "--", "--coverage"]],
    ["npx, whose -y installs", ["npx", "-y", "vitest"]],
    ["a search for a React attribute", ["grep", "-r", "dangerouslySetInnerHTML", "src"]],
    ["force of another program", ["rm", "-f", "build"]],
    ["yes of another program", ["apt-get", "--yes", "install"]],
    ["a name that only ends like one", ["./run-yolo"]],
    ["skipping tests", ["mvn", "--skip-tests"]],
    ["a browser's own sandbox", ["chromium", "--headless", "--no-sandbox"]],
  ])("is not %s", (_name, argv) => expect(bypassFlag(argv)).toBeNull());
});
