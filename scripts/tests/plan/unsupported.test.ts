import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseSpec } from "../../src/plan/spec.ts";
import { UNSUPPORTED_FIELDS, unsupportedFields } from "../../src/plan/unsupported.ts";

const parse = (fields: object, top: object = {}) => {
  const job = { id: "a", task: "scout", prompt: "look", expected_output: "x", timeout: "1m", ...fields };
  const { spec, diagnostics } = parseSpec(JSON.stringify({ version: 1, ...top, jobs: [job] }), {
    fileName: "x.json",
  });
  if (spec === null) throw new Error(JSON.stringify(diagnostics));
  return spec;
};
const paths = (fields: object, top?: object) => unsupportedFields(parse(fields, top)).map((d) => d.path);

describe("fields whose behaviour does not exist yet", () => {
  it("are all met by a spec with every field", () => {
    const text = readFileSync(new URL("../fixtures/specs/every-field.yaml", import.meta.url));
    const { spec, locate } = parseSpec(text, { fileName: "every-field.yaml" });
    const found = unsupportedFields(spec!, { fileName: "every-field.yaml", locate });
    expect(found.map((d) => `${d.line}:${d.column} ${d.path}`)).toEqual([
      "30:9 budget",
      "18:14 defaults.benchmark",
      "104:16 jobs[1].benchmark",
    ]);
  });

  it("are refused by name, with what is missing", () => {
    expect(unsupportedFields(parse({ benchmark: { cacheTTLHours: 4 } }))).toEqual([
      {
        severity: "error",
        code: "field-not-supported-yet",
        message:
          "`jobs[0].benchmark` is valid, but this version does not have its behaviour yet: it limits the age of benchmark evidence",
        path: "jobs[0].benchmark",
        fix: "remove it to run the spec with this version",
      },
    ]);
  });

  it("are not met by values that change nothing", () => {
    expect(paths({})).toEqual([]);
    expect(paths({ prompt: undefined, skill: "review" })).toEqual([]);
    expect(
      paths(
        {},
        { egress: [], calibration: { minimum_samples: 5 }, arbiter: { timeout: "5m", mock: { a: "pass" } } },
      ),
    ).toEqual([]);
    expect(paths({}, { arbiter: { runtime: "mock", model: "mock-b" } })).toEqual([]);
  });

  it("each have a name and say what they would do", () => {
    for (const { field, behaviour } of UNSUPPORTED_FIELDS) {
      expect(field).toMatch(/^[a-z_.[\]]+$/);
      expect(behaviour.length).toBeGreaterThan(10);
    }
  });
});
