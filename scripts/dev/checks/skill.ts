/** SKILL.md: frontmatter that every validator takes, a body that no harness rewrites, commands that exist. */

import { parse } from "yaml";
import { COMMANDS } from "../../src/cli/commands.ts";
import { type Check, type CheckResult, type Finding, finding, hits, matching } from "./check.ts";
import { SKILL_FILE } from "./places.ts";

const LEGAL_KEYS = new Set(["name", "description", "license", "compatibility", "metadata"]);
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const frontmatter: Check = {
  id: "frontmatter",
  promise: "SKILL.md's frontmatter holds the legal keys only, in the form that the strictest validator reads",
  step: "docs",
  run(files): CheckResult {
    const text = files.get(SKILL_FILE)?.text;
    if (text === undefined) return { looked: 0, findings: [] };
    return {
      looked: 1,
      findings: frontmatterProblems(text).map((message) => finding(SKILL_FILE, 1, message)),
    };
  },
};

function frontmatterProblems(text: string): string[] {
  const block = /^---\n([\s\S]*?)\n---\n/.exec(text)?.[1];
  if (block === undefined) return ["must start with a `---` block at byte 0"];
  let meta: Record<string, unknown>;
  try {
    meta = parse(block) as Record<string, unknown>;
  } catch (fault) {
    return [`is no YAML: ${fault instanceof Error ? fault.message.split("\n")[0] : String(fault)}`];
  }
  const problems = Object.keys(meta)
    .filter((key) => !LEGAL_KEYS.has(key))
    .map((key) => `\`${key}\` is no key of the specification`);
  if (/^[^#"']*:\s*[[{&*]/m.test(block)) problems.push("flow style, anchors and aliases stop strict parsers");
  const { name, description, compatibility, metadata } = meta;
  if (name !== "orchestrate" || !NAME.test(name))
    problems.push("`name` must be `orchestrate`, as the folder");
  if (typeof description !== "string" || description.length === 0 || description.length > 1024)
    problems.push("`description` must have 1 to 1,024 characters");
  else if (/[<>]/.test(description)) problems.push("`description` must hold no `<` or `>`");
  if (compatibility !== undefined && (typeof compatibility !== "string" || compatibility.length > 500))
    problems.push("`compatibility` must have at most 500 characters");
  if (metadata !== undefined && Object.values(metadata as object).some((value) => typeof value !== "string"))
    problems.push("`metadata` maps strings to strings: quote the values");
  return problems;
}

/** One source of what a harness would rewrite or run when it loads the skill. */
export const bodyTraps: Check = {
  id: "body-traps",
  promise: "SKILL.md holds nothing that a harness substitutes or executes at load",
  step: "docs",
  run(files): CheckResult {
    const text = files.get(SKILL_FILE)?.text;
    if (text === undefined) return { looked: 0, findings: [] };
    const findings = [
      ...hits(
        SKILL_FILE,
        text,
        /\$[0-9]|\$ARGUMENTS|\$\{CLAUDE_\w+\}/g,
        (hit) => `\`${hit}\` is substituted by a harness`,
      ),
      ...hits(SKILL_FILE, text, /!`/g, () => "`!` before a backtick executes at load"),
    ];
    return { looked: 1, findings };
  },
};

export const namedCommands: Check = {
  id: "named-commands",
  promise: "every command that SKILL.md or a reference names in backticks exists",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const first = new Set(COMMANDS.map((spec) => spec.name.split(" ")[0]));
    let looked = 0;
    for (const [path, text] of matching(files, /^(README\.md|AGENTS\.md|docs\/.*\.md|plugins\/.*\.md)$/)) {
      for (const match of text.matchAll(/`(?:orchestrate\.mjs|orchestrate) ([a-z]+)\b[^`]*`/g)) {
        looked += 1;
        if (!first.has(match[1]))
          findings.push(finding(path, null, `\`${match[0]}\` names a command that does not exist`));
      }
    }
    return { looked: looked + (files.has(SKILL_FILE) ? 1 : 0), findings };
  },
};

const SKILL_BYTES = 8_000;
const PAYLOAD_BYTES = 2_750_000;
const REFERENCE_BYTES = 24_000;

export const sizes: Check = {
  id: "sizes",
  promise: `SKILL.md has at most ${SKILL_BYTES} bytes, a reference ${REFERENCE_BYTES}, the payload ${PAYLOAD_BYTES}`,
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let total = 0;
    let looked = 0;
    for (const [path, text] of matching(files, /^plugins\//)) {
      const bytes = Buffer.byteLength(text);
      looked += 1;
      total += bytes;
      const limit =
        path === SKILL_FILE ? SKILL_BYTES : path.endsWith(".md") ? REFERENCE_BYTES : PAYLOAD_BYTES;
      if (bytes > limit) findings.push(finding(path, null, `${bytes} bytes; at most ${limit}`));
    }
    if (total > PAYLOAD_BYTES)
      findings.push(finding("plugins", null, `${total} bytes in all; at most ${PAYLOAD_BYTES}`));
    return { looked, findings };
  },
};
