/** The neutral tool words of a spec. A runtime's own tool names are for specs that name that runtime. */
import { isExplicitRuntime } from "../core/placeholders.ts";
import { TOOL_WORDS } from "../core/tiers.ts";
import { didYouMean } from "./did-you-mean.ts";
import type { Path } from "./fault.ts";
import type { Say } from "./rule.ts";
import { quoted } from "./shown.ts";

const KNOWN: ReadonlySet<string> = new Set(TOOL_WORDS);
const WITH_ARGUMENT = /^(shell|mcp)\(([^\n]+)\)$/;

export function checkTools(
  tools: readonly string[] | undefined,
  runtime: string | undefined,
  path: Path,
  say: Say,
): void {
  for (const [index, tool] of (tools ?? []).entries()) {
    const place = [...path, index];
    const argument = WITH_ARGUMENT.exec(tool);
    if (KNOWN.has(tool) || argument !== null) continue;
    const meant = didYouMean(tool, [...TOOL_WORDS, "mcp"]);
    if (tool === "mcp" || /^(?:shell|mcp)\(/.test(tool))
      say("unknown-tool", place, `the tool ${quoted(tool)} is incomplete`, {
        fix: "write `shell`, `shell(PREFIX)` or `mcp(NAME)`",
      });
    else if (/^[A-Z_]/.test(tool) || /^mcp__/.test(tool)) checkRawName(tool, runtime, place, say);
    else
      say("unknown-tool", place, `${quoted(tool)} is no tool word`, {
        fix:
          meant === null
            ? "use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent"
            : `did you mean \`${meant}\`?`,
      });
  }
}

function checkRawName(tool: string, runtime: string | undefined, place: Path, say: Say): void {
  if (isExplicitRuntime(runtime)) return;
  say("raw-tool", place, `${quoted(tool)} is a runtime's own tool name, but the job names no runtime`, {
    fix: "use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent, or set `runtime`",
  });
}
