/** Examples in documents are executed: specs validate or fail as marked, commands parse, JSON is JSON. */
import { parseRequest } from "../../src/cli/args.ts";
import type { Diagnostic } from "../../src/core/diagnostic.ts";
import { parsePolicy, parseRuntimesConfig } from "../../src/plan/config-files.ts";
import { parseSpec } from "../../src/plan/spec.ts";
import { type Check, type CheckResult, type Finding, finding, matching } from "./check.ts";
import { type CodeBlock, readMarkdown } from "./markdown.ts";
import { DOCUMENTS } from "./places.ts";

type Parse = (text: string, fileName: string) => readonly Diagnostic[];

/** What a YAML or JSON block may claim to be. */
const KINDS: Readonly<Record<string, Parse>> = {
  spec: (text, fileName) => parseSpec(text, { fileName }).diagnostics,
  policy: (text, fileName) => parsePolicy(text, fileName).diagnostics,
  runtimes: (text, fileName) => parseRuntimesConfig(text, fileName).diagnostics,
};

export const examples: Check = {
  id: "examples",
  promise: "every YAML, JSON and command example in a document does what it is marked to do",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, DOCUMENTS)) {
      for (const block of readMarkdown(text).blocks) {
        looked += 1;
        findings.push(...blockProblems(block).map((message) => finding(path, block.line, message)));
      }
      for (const { line, command } of inlineCommands(text)) {
        looked += 1;
        const problem = commandProblem(command);
        if (problem !== null) findings.push(finding(path, line, problem));
      }
    }
    for (const [path, text] of matching(files, /^examples\/.*\.(ya?ml|json)$/)) {
      looked += 1;
      findings.push(...(specFaults(path, text) ?? []).map((message) => finding(path, null, message)));
    }
    return { looked, findings };
  },
};

function blockProblems(block: CodeBlock): string[] {
  switch (block.language) {
    case "yaml":
    case "yml":
      return markedProblems(block);
    case "json":
      return block.example === null ? jsonProblems(block.text) : markedProblems(block);
    case "jsonl":
      return block.text.split("\n").flatMap((line) => (line.trim() === "" ? [] : jsonProblems(line)));
    case "sh":
    case "bash":
    case "console":
    case "shell":
      return shellCommands(block.text).flatMap((command) => commandProblem(command) ?? []);
    case "":
      return ["a code block names its language"];
    default:
      return [];
  }
}

/** `valid KIND`, `invalid KIND CODE` or `fragment` (a part that stands for nothing by itself). */
function markedProblems({ example, text }: CodeBlock): string[] {
  if (example === null)
    return ["is not marked: `<!-- example: valid spec -->`, `invalid spec CODE` or `fragment`"];
  if (example === "fragment") return [];
  const [claim, kind = "", code] = example.split(" ");
  const parse = KINDS[kind];
  if (parse === undefined || (claim !== "valid" && claim !== "invalid"))
    return [`\`${example}\` is no mark; kinds: ${Object.keys(KINDS).join(", ")}`];
  const errors = parse(text, "example.yaml").filter((d) => d.severity === "error");
  if (claim === "valid") return errors.map((d) => `marked valid, but ${d.code}: ${d.message}`);
  if (code === undefined) return ["`invalid` names the code that is expected"];
  return errors.some((d) => d.code === code)
    ? []
    : [
        `marked invalid with \`${code}\`, but the codes are: ${errors.map((d) => d.code).join(", ") || "none"}`,
      ];
}

function specFaults(path: string, text: string): string[] | null {
  if (/^# *(?:policy|runtimes)\b/.test(text)) return null;
  const errors = parseSpec(text, { fileName: path }).diagnostics.filter((d) => d.severity === "error");
  return errors.map((d) => `${d.code}: ${d.message}`);
}

function jsonProblems(text: string): string[] {
  try {
    JSON.parse(text);
    return [];
  } catch (fault) {
    return [`is no JSON: ${fault instanceof Error ? fault.message : String(fault)}`];
  }
}

const CALL =
  /(?:node\s+(?:<skill-dir>|\S*?)\/?scripts\/orchestrate\.mjs|npm run (?:--silent |-s )?orchestrate --)\s+([^\n`]*)/g;

/** Calls of this tool in a shell block; continued lines are joined. */
function shellCommands(text: string): string[] {
  const joined = text.replace(/\\\n\s*/g, " ").replace(/^\s*#.*$/gm, "");
  return [...joined.matchAll(CALL)].map((match) => match[1] ?? "");
}

/** Calls of this tool inside backticks in prose. */
function inlineCommands(text: string): { readonly line: number; readonly command: string }[] {
  return text
    .split("\n")
    .flatMap((source, index) =>
      [...source.matchAll(/`([^`]+)`/g)].flatMap((match) =>
        [...(match[1] ?? "").matchAll(CALL)].map((call) => ({ line: index + 1, command: call[1] ?? "" })),
      ),
    );
}

/** A command line parses against the command table, or says why not. `COMMAND` stands for any command. */
function commandProblem(command: string): string | null {
  const argv = words(command.split(/\s+(?:\||&&|;|>|2>|<(?![a-z])|#)/)[0] ?? "");
  if (argv.length === 0 || argv[0] === "COMMAND" || argv[0] === "…" || argv[0] === "...") return null;
  if (argv[0] === "--version" || argv[0] === "--help") return null;
  const request = parseRequest(argv);
  const faults =
    request.kind === "usage" ? request.diagnostics.filter((d) => !PLACEHOLDER.test(d.message)) : [];
  return faults.length === 0 ? null : `\`${command.trim()}\`: ${faults.map((d) => d.message).join("; ")}`;
}

/** A value that stands for one of its kind: `N`, `SHA256`, `<sha256>`. */
const PLACEHOLDER = /^`--[a-z-]+` must be .*, not `(?:[A-Z][A-Z0-9_]*|<[^>]+>)`$/;

const words = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
