import { describe, expect, it } from "vitest";
import type { Diagnostic } from "../../src/core/diagnostic.ts";
import { parsePolicy, parseRuntimesConfig } from "../../src/plan/config-files.ts";
import { normalizeSpec } from "../../src/plan/normalize.ts";
import { parseSpec } from "../../src/plan/spec.ts";
import { SPEC_CODES, type SpecCode } from "../../src/plan/spec-codes.ts";
import { unsupportedFields } from "../../src/plan/unsupported.ts";
import { CASES, type CodeCase } from "./spec-code-cases.ts";

const HOST = {
  cwd: "/code",
  workspaceRootsDefault: ["/code"],
  realpath: (path: string) => ({ "/code": "/code", "/code/link": "/etc" })[path] ?? null,
  fileName: "jobs.yaml",
  approvals: new Set<string>(),
};

function diagnose({ text, kind, file = "jobs.yaml" }: CodeCase): readonly Diagnostic[] {
  if (kind === "policy") return parsePolicy(text, "policy.yaml").diagnostics;
  if (kind === "runtimes") return parseRuntimesConfig(text, "runtimes.yaml").diagnostics;
  const { spec, diagnostics, locate } = parseSpec(text, { fileName: file });
  if (kind === undefined) return diagnostics;
  if (spec === null) throw new Error("the case needs a valid spec");
  if (kind === "unsupported") return unsupportedFields(spec, { fileName: file, locate });
  return normalizeSpec(spec, { ...HOST, locate }).diagnostics;
}

function saying({ line, column, path, message, fix, related }: Diagnostic): string {
  const notes = (related ?? []).map((note) => ` | ${note.line}:${note.column} ${note.message}`).join("");
  return `${line}:${column} ${path ?? "-"} ${message} | ${fix ?? "-"}${notes}`;
}

describe("every code of the table", () => {
  it.each(Object.entries(CASES) as [SpecCode, CodeCase][])(
    "%s is said whole, with its place",
    (code, example) => {
      const found = diagnose(example).find((diagnostic) => diagnostic.code === code);
      expect(found && saying(found)).toBe(example.says);
      expect(found?.severity).toBe(SPEC_CODES[code].severity);
      expect(found?.file).toBeDefined();
    },
  );
});

describe("the smallest example of an error", () => {
  const alone = Object.entries(CASES as Record<SpecCode, CodeCase>).filter(
    ([code]) => !["nul-character", "tab-character", "yaml-tag", "more-faults"].includes(code),
  );
  it.each(alone)("%s brings no other error with it", (code, example) => {
    const others = diagnose(example).filter((d) => d.severity === "error" && d.code !== code);
    expect(others).toEqual([]);
  });
});
