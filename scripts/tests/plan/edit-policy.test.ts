import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyEntry } from "../../src/core/generated/policy.ts";
import { parsePolicy } from "../../src/plan/config-files.ts";
import { editPolicy, type PolicyChange, type PolicyField } from "../../src/plan/edit-policy.ts";
import { PROPERTY } from "../support/property.ts";

const edited = (text: string | null, change: PolicyChange): string => {
  const result = editPolicy(text, change, "policy.yaml");
  if (!result.ok) throw new Error(result.error.map((fault) => fault.message).join("\n"));
  return result.value.text;
};
const set = (
  selector: PolicyChange["selector"],
  statement: Omit<PolicyEntry, "runtime">,
  unset: PolicyField[] = [],
): PolicyChange => ({ kind: "set", selector, set: statement as never, unset });

const FILE = `# what we trust
version: 1

candidates:
  # the big one
  - runtime: claude # ours
    capability: C3 # agreed in May
    family: anthropic
  - { runtime: opencode, provider: local, capability: C2 }
# words given in advance
approvals:
  - id: release
    words: "ship it"
    until: 2030-01-01
`;

describe("a policy file", () => {
  it("that is not there is made", () => {
    expect(edited(null, set({ runtime: "pi" }, { capability: "C3", family: "acme" }))).toBe(
      `# Operator policy of Orchestrate: which judgment a runtime is trusted with, whose models it runs, how its cost counts.
version: 1
candidates:
  - runtime: pi
    capability: C3
    family: acme
`,
    );
  });

  it("keeps every comment and all else when a field changes", () => {
    expect(edited(FILE, set({ runtime: "claude" }, { capability: "C2" }))).toBe(
      FILE.replace("capability: C3 # agreed", "capability: C2 # agreed"),
    );
  });

  it("keeps every other byte, however the file is laid out, when values that are there change", () => {
    const own = `version: 1   # ours

candidates:
    # the big one
    - runtime: claude      # here
      capability:  C3      # agreed

      family: 'acme'

    - {  runtime: codex,capability: C2  }    # there
# end`;
    for (const text of [own, own.replaceAll("\n", "\r\n")]) {
      expect(edited(text, set({ runtime: "claude" }, { capability: "C1", family: "no" }))).toBe(
        text.replace("C3", "C1").replace("'acme'", "'no'"),
      );
      expect(edited(text, set({ runtime: "codex" }, { capability: "C1" }))).toBe(text.replace("C2", "C1"));
    }
  });

  it("takes a new entry before the wider one that would speak first", () => {
    const text = edited(FILE, set({ runtime: "claude", model: "small-*" }, { capability: "C1" }));
    expect(parsePolicy(text, "p").policy?.candidates?.map((one) => [one.runtime, one.model])).toEqual([
      ["claude", "small-*"],
      ["claude", undefined],
      ["opencode", undefined],
    ]);
    for (const comment of ["# what we trust", "# the big one", "# ours", "# agreed in May", "# words given"])
      expect(text).toContain(comment);
  });

  it("loses an entry that says nothing any more", () => {
    const change = set({ runtime: "opencode", provider: "local" }, {}, ["capability"]);
    expect(edited(FILE, change)).toBe(
      FILE.replace("  - { runtime: opencode, provider: local, capability: C2 }\n", ""),
    );
  });

  it("loses an entry on request, and nothing when there is none", () => {
    const gone = edited(FILE, { kind: "remove", selector: { runtime: "opencode", provider: "local" } });
    expect(gone).not.toContain("opencode");
    expect(edited(FILE, { kind: "remove", selector: { runtime: "opencode" } })).toBe(FILE);
  });

  it("keeps its line ends and its form, also as JSON", () => {
    const crlf = edited(FILE.replaceAll("\n", "\r\n"), set({ runtime: "claude" }, { family: "other" }));
    expect(crlf.split("\r\n").length).toBe(FILE.split("\n").length);
    expect(crlf.replaceAll("\r\n", "")).not.toContain("\n");
    const json = edited(
      '{"version": 1, "candidates": [{"runtime": "pi", "capability": "C2"}]}',
      set({ runtime: "pi" }, { family: "acme" }),
    );
    expect(JSON.parse(json)).toEqual({
      version: 1,
      candidates: [{ runtime: "pi", capability: "C2", family: "acme" }],
    });
  });

  it("with a fault in it is left alone", () => {
    const result = editPolicy(
      "candidates:\n  - runtime: claude\n    capabilty: C3\n",
      set({ runtime: "claude" }, { capability: "C2" }),
      "policy.yaml",
    );
    expect(result).toMatchObject({ ok: false, error: [{ code: "unknown-key", line: 3 }] });
  });

  it("is valid after any change, says what was set, and keeps what was said of others", () => {
    const selector = fc.record(
      {
        runtime: fc.constantFrom("claude", "codex", "mine"),
        provider: fc.constantFrom("local", "acme"),
        model: fc.constantFrom("*", "big-*", "big-1"),
        effort: fc.constantFrom("low" as const, "max" as const),
      },
      { requiredKeys: ["runtime"] },
    );
    const statement = fc.record(
      {
        capability: fc.constantFrom("C1" as const, "C2" as const, "C3" as const),
        family: fc.constantFrom("a", "no", "1.10"),
        cost_dimension: fc.constantFrom("quotaBurn" as const, "actualMarginalCostUsd" as const),
      },
      { requiredKeys: ["capability"] },
    );
    const rule = fc.property(
      fc.array(fc.tuple(selector, statement), { minLength: 1, maxLength: 8 }),
      (steps) => {
        let text: string | null = FILE;
        for (const [who, what] of steps) {
          const before: readonly PolicyEntry[] = parsePolicy(text, "p").policy?.candidates ?? [];
          text = edited(text, set(who, what));
          const after: readonly PolicyEntry[] = parsePolicy(text, "p").policy?.candidates ?? [];
          const same = (one: PolicyEntry) =>
            (["runtime", "provider", "model", "effort"] as const).every((field) => one[field] === who[field]);
          expect(after.filter(same)).toEqual([expect.objectContaining({ ...who, ...what })]);
          expect(after.filter((one) => !same(one))).toEqual(before.filter((one) => !same(one)));
        }
        expect(text).toContain("# agreed in May");
      },
    );
    // Each step reads the file twice: a tenth of the usual runs.
    fc.assert(rule, { ...PROPERTY, numRuns: PROPERTY.numRuns / 10 });
  });
});
