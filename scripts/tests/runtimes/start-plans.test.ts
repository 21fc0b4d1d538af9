/** What each adapter makes of a job: argument vectors whole, so that a change of one is seen. */
import { describe, expect, it } from "vitest";
import type { Adapter, StartInput, StartPlan } from "../../src/runtimes/adapter.ts";
import { claude } from "../../src/runtimes/claude.ts";
import { codex } from "../../src/runtimes/codex.ts";
import { gemini } from "../../src/runtimes/gemini.ts";
import { opencode } from "../../src/runtimes/opencode.ts";
import { pi } from "../../src/runtimes/pi.ts";
import { recordOf } from "../support/probe-answers.ts";
import { startInput } from "../support/start-input.ts";

type Change = Parameters<typeof startInput>[1];

function plan(adapter: Adapter, change: Change = {}): StartPlan {
  const planned = adapter.start(startInput(adapter.id, change));
  if (!planned.ok) throw new Error(`${planned.error.code}: ${planned.error.detail}`);
  return planned.value;
}
const refusal = (adapter: Adapter, change: Change = {}) => {
  const planned = adapter.start(startInput(adapter.id, change));
  return planned.ok ? null : planned.error;
};
const tools = (allowed: string[], disallowed: string[] = [], origin: "spec" | "tier" = "spec"): Change => ({
  job: { tools: { allowed, disallowed, origin } },
});
const asked = (model: string | null, effort: StartInput["candidate"]["effort"] = null): Change => ({
  candidate: { ...startInput("claude").candidate, model, effort },
});
const file = (made: StartPlan, name: string): unknown => {
  const content = made.files.find((entry) => entry.path.endsWith(name))?.content ?? "";
  return name.endsWith(".json") ? JSON.parse(content) : content;
};

describe("claude", () => {
  it("reads with what it was granted and nothing else", () => {
    expect(plan(claude).argv).toEqual([
      "/usr/bin/claude",
      "--print",
      "--output-format=stream-json",
      "--verbose",
      "--permission-mode=dontAsk",
      "--tools=Read,Grep,Glob",
      "--disallowedTools=Bash,Edit,NotebookEdit,Write,WebFetch,WebSearch,Task",
      "--settings=/runs/scratch/claude-settings.json",
      "--setting-sources=",
      "--strict-mcp-config",
      "--no-session-persistence",
    ]);
  });

  it("takes edits without asking only where it may write, and shell prefixes by file", () => {
    const made = plan(
      claude,
      tools(["read", "edit", "shell(npm test)", "shell(node -e f(1, 2))"], ["shell(npm test -- -u)"]),
    );
    expect(made.argv).toContain("--permission-mode=acceptEdits");
    expect(made.argv).toContain("--tools=Read,Edit,NotebookEdit,Bash");
    expect(file(made, "settings.json")).toEqual({
      permissions: {
        allow: ["Bash(npm test:*)", "Bash(node -e f\\(1, 2\\):*)"],
        deny: ["Bash(npm test -- -u:*)"],
      },
    });
  });

  it("offers no tool to a job that has none", () => {
    expect(plan(claude, tools([])).argv).toContain("--tools=");
  });

  it("bounds its own retries and passes only its own variables", () => {
    const made = plan(claude);
    expect(made.env).toMatchObject({ CLAUDE_CODE_MAX_RETRIES: "2", DISABLE_TELEMETRY: "1" });
    expect(made.envPass).toContain("ANTHROPIC_API_KEY");
    expect(made.envPass.filter((name) => /OPENAI|GEMINI/.test(name))).toEqual([]);
  });

  it("names model, effort and session where they were asked for", () => {
    expect(plan(claude, asked("large", "xhigh")).argv.slice(-2)).toEqual(["--model=large", "--effort=xhigh"]);
    const resumed = plan(claude, { resumeSession: { handle: "h-1", mode: "fork" } }).argv;
    expect(resumed.slice(-2)).toEqual(["--resume=h-1", "--fork-session"]);
    expect(resumed).not.toContain("--no-session-persistence");
    expect(plan(claude, { keepSession: true }).argv).not.toContain("--no-session-persistence");
  });

  it("does without what an older version lacks", () => {
    const record = recordOf("claude");
    const flags = { ...record.flags, "--setting-sources": false, "--no-session-persistence": false };
    const argv = plan(claude, { record: { ...record, flags } }).argv;
    expect(argv.filter((word) => /setting-sources|persistence/.test(word))).toEqual([]);
  });

  it.each([
    [
      asked(null, "minimal"),
      "effort-unsupported",
      "`claude` does not offer effort `minimal` (it offers low, medium, high, xhigh, max)",
    ],
    [tools(["mcp(db)"]), "tool-unmapped", "`claude` has no tool for `mcp(db)`"],
  ] as const)("refuses what it cannot do: %o", (change, code, detail) => {
    expect(refusal(claude, change as Change)).toEqual({ code, detail });
  });
});

describe("codex", () => {
  const BOUNDS = [
    "--config",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "--config",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
    "--config",
    "sandbox_workspace_write.network_access=false",
    "--config",
    'approval_policy="never"',
  ];

  it("reads in a read-only sandbox", () => {
    expect(plan(codex).argv).toEqual([
      "/usr/bin/codex",
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--cd",
      "/code space/repo",
      "--sandbox",
      "read-only",
      ...BOUNDS,
      "--ignore-rules",
      "--ephemeral",
      "-",
    ]);
  });

  it("writes in a sandbox that holds the folder and no temporary one", () => {
    const made = plan(codex, tools(["read", "edit", "shell(npm test)"]));
    expect(made.argv).toContain("workspace-write");
    expect(made.toolGating).toBe("coarse");
  });

  it("puts folder and sandbox of a continued session where its sub-command takes them", () => {
    const made = plan(codex, { resumeSession: { handle: "h-1", mode: "continue" }, ...asked("m", "high") });
    expect(made.argv).toEqual([
      "/usr/bin/codex",
      "exec",
      "resume",
      "--json",
      "--skip-git-repo-check",
      "--config",
      'sandbox_mode="read-only"',
      ...BOUNDS,
      "--config",
      'model_reasoning_effort="high"',
      "--ignore-rules",
      "--model",
      "m",
      "h-1",
      "-",
    ]);
  });

  it("starts the launcher only where the program behind it was not found", () => {
    const record = { ...recordOf("codex"), binary: "/bin/codex", binaryReal: "/lib/codex.js" };
    expect(plan(codex, { record }).argv[0]).toBe("/bin/codex");
    expect(plan(codex, { record: { ...record, binaryReal: "/lib/vendor/codex" } }).argv[0]).toBe(
      "/lib/vendor/codex",
    );
  });

  it.each([
    [tools([]), "(no tools)"],
    [tools(["read", "web"]), "web"],
    [tools(["read", "agent"]), "agent"],
    [tools(["read", "edit"], ["shell"]), "shell"],
  ] as const)("refuses what its sandbox cannot bound: %o", (change, word) => {
    expect(refusal(codex, change as Change)).toEqual({
      code: "tool-unmapped",
      detail: `the sandbox of \`codex\` cannot bound \`${word}\``,
    });
  });

  it("may withhold the shell from a reader: its sandbox lets nothing be written", () => {
    expect(plan(codex, tools(["read", "search"], ["shell"])).argv).toContain("read-only");
  });
});

describe("gemini", () => {
  it("is bounded by a policy file that denies everything else", () => {
    const made = plan(gemini, tools(["read", "edit", 'shell(echo "a\\b")'], ["shell(rm)"]));
    expect(made.argv).toEqual([
      "/usr/bin/gemini",
      "--output-format=stream-json",
      "--skip-trust",
      "--approval-mode=auto_edit",
      "--policy=/runs/scratch/gemini-policy.toml",
    ]);
    expect(file(made, "policy.toml")).toBe(
      [
        '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 960\n',
        '[[rule]]\ntoolName = ["read_file","read_many_files","list_directory","replace"]\ndecision = "allow"\npriority = 970\n',
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "echo \\"a\\\\b\\""\ndecision = "allow"\npriority = 970\n',
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "rm"\ndecision = "deny"\npriority = 980\n',
      ].join("\n"),
    );
  });

  it("is started without its relauncher and with few retries of its own", () => {
    const made = plan(gemini);
    expect(made.env["GEMINI_CLI_NO_RELAUNCH"]).toBe("true");
    expect(made.argv).toContain("--approval-mode=default");
    expect(file(made, "defaults.json")).toMatchObject({ general: { maxAttempts: 2 } });
  });

  it("continues no session", () => {
    expect(refusal(gemini, { resumeSession: { handle: "h", mode: "continue" } })?.code).toBe(
      "session-unsupported",
    );
  });
});

describe("opencode", () => {
  const permission = (change: Change) =>
    JSON.parse(plan(opencode, change).env["OPENCODE_PERMISSION"] as string);

  it("decides every tool, and leaves nothing to ask", () => {
    const reader = permission({});
    expect(reader).toMatchObject({
      read: "allow",
      grep: "allow",
      edit: "deny",
      bash: "deny",
      webfetch: "deny",
      external_directory: "deny",
    });
    expect(JSON.stringify(reader)).not.toContain('"ask"');
    expect(
      permission(tools(["write", "shell(npm test)", "shell(ls *)"], ["shell(npm test -- -u)"])),
    ).toMatchObject({
      read: "deny",
      edit: "allow",
      bash: {
        "*": "deny",
        "npm test": "allow",
        "npm test *": "allow",
        "ls ?": "allow",
        "ls ? *": "allow",
        "npm test -- -u": "deny",
        "npm test -- -u *": "deny",
      },
    });
    expect(permission(tools(["shell"])).bash).toEqual({ "*": "allow" });
  });

  it("is told its folder, its model and its session", () => {
    expect(
      plan(opencode, { ...asked("p/m"), resumeSession: { handle: "ses_1", mode: "fork" } }).argv,
    ).toEqual([
      "/usr/bin/opencode",
      "run",
      "--format=json",
      "--dir=/code space/repo",
      "--model=p/m",
      "--session=ses_1",
      "--fork",
    ]);
  });
});

describe("pi", () => {
  it("is bounded by the list of its tools", () => {
    expect(plan(pi, tools(["read", "search", "write", "shell"])).argv).toEqual([
      "/usr/bin/pi",
      "--print",
      "--mode",
      "json",
      "--tools",
      "read,ls,grep,find,write,bash",
      "--no-extensions",
      "--no-skills",
      "--no-prompt-templates",
      "--no-session",
    ]);
    expect(plan(pi, tools([])).argv).toContain("--no-tools");
  });

  it("does without a bounded shell where nobody named it, and refuses where somebody did", () => {
    expect(plan(pi, tools(["read", "edit", "shell(npm test)"], [], "tier")).argv).toContain("read,ls,edit");
    expect(refusal(pi, tools(["read", "shell(npm test)"]))).toEqual({
      code: "tool-unmapped",
      detail: "`pi` cannot bound `shell(npm test)`",
    });
  });

  it("has no shell at all when a part of it was taken away", () => {
    expect(plan(pi, tools(["read", "shell"], ["shell(rm)"])).argv).toContain("read,ls");
  });
});
