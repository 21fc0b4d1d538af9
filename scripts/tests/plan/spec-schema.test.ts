import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import schema from "../../../schemas/jobs.schema.json" with { type: "json" };
import { validate } from "../../src/core/generated/jobs.validate.js";
import { POLICY, SPEC_LIMITS } from "../../src/core/policy.ts";
import { FAILURE_RULES } from "../../src/core/runtime.ts";
import { EFFECTS, EFFORTS, RETRY_CLASSES, TASKS } from "../../src/core/tiers.ts";
import { parseDuration } from "../../src/plan/duration.ts";
import { readDocument } from "../../src/plan/read-yaml.ts";
import { checkShape } from "../../src/plan/spec-shape.ts";
import { PROPERTY } from "../support/property.ts";

const everyField: unknown = readDocument(
  readFileSync(new URL("../fixtures/specs/every-field.yaml", import.meta.url)),
  { fileName: "every-field.yaml", format: "yaml" },
).value;

const { definitions, properties } = schema;

describe("the schema of a job spec", () => {
  it("has the bounds that the policy numbers say", () => {
    expect(properties.concurrency).toMatchObject({
      minimum: 1,
      maximum: SPEC_LIMITS.concurrencyMax,
      default: SPEC_LIMITS.concurrencyDefault,
    });
    expect(properties.jobs.maxItems).toBe(SPEC_LIMITS.maxJobs);
    expect(definitions.Benchmark.properties.cacheTTLHours).toMatchObject({
      maximum: POLICY.CACHE_TTL_MAX_HOURS.value,
      default: POLICY.CACHE_TTL_DEFAULT_HOURS.value,
    });
    expect(definitions.Fallback.properties.maxPromotions).toMatchObject({
      minimum: 0,
      maximum: POLICY.MAX_PROMOTIONS_MAX.value,
      default: POLICY.MAX_PROMOTIONS_DEFAULT.value,
    });
    expect(definitions.OutputBytes).toMatchObject({
      minimum: SPEC_LIMITS.minOutputBytes,
      maximum: SPEC_LIMITS.maxOutputBytes,
      default: POLICY.MAX_OUTPUT_BYTES_DEFAULT.value,
    });
    expect(definitions.Retry.properties.max_attempts.maximum).toBe(SPEC_LIMITS.retryMaxAttempts);
    expect(parseDuration(definitions.Retry.properties.backoff.default)).toEqual({
      ok: true,
      value: SPEC_LIMITS.retryBackoffMs,
    });
    expect(definitions.PlanText.oneOf[0]).toMatchObject({ minLength: SPEC_LIMITS.rollbackMinChars });
  });

  it("has the words that the rest of the tool knows", () => {
    expect(definitions.Job.properties.task.enum).toEqual(TASKS);
    expect(definitions.Effect.enum).toEqual(EFFECTS);
    expect(definitions.Effort.enum).toEqual(EFFORTS);
    expect(definitions.Retry.properties.classes.items.enum).toEqual(RETRY_CLASSES);
    expect(definitions.MockStep.properties.fail.oneOf[0]?.enum).toEqual(Object.keys(FAILURE_RULES));
  });

  it("describes every field for an editor", () => {
    const undescribed: string[] = [];
    visitFields(schema as unknown as Node, "", (path, field) => {
      if (field.description === undefined && field.$ref === undefined) undescribed.push(path);
    });
    expect(undescribed.filter((path) => !/usage\.|tool\.ok/.test(path))).toEqual([]);
  });
});

interface Node {
  readonly description?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly definitions?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly oneOf?: readonly Node[];
}

function visitFields(node: Node, path: string, see: (path: string, field: Node) => void): void {
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    see(`${path}.${name}`, field);
    visitFields(field, `${path}.${name}`, see);
  }
  for (const [name, definition] of Object.entries(node.definitions ?? {})) visitFields(definition, name, see);
  if (node.items !== undefined) visitFields(node.items, path, see);
  for (const option of node.oneOf ?? []) visitFields(option, path, see);
}

describe("our reading of the schema", () => {
  it("accepts a spec with every field, as the schema does", () => {
    expect(validate(everyField)).toBe(true);
    expect(shapeIsValid(everyField)).toBe(true);
  });

  it("agrees with the schema about any spec that was tampered with", () =>
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const spec = changes.reduce<unknown>((value, apply) => apply(value), structuredClone(everyField));
        expect(shapeIsValid(spec)).toBe(validate(spec));
      }),
      { ...PROPERTY, numRuns: PROPERTY.numRuns * 5 },
    ));
});

function shapeIsValid(value: unknown): boolean {
  const document = readDocument(JSON.stringify(value), { fileName: "x.json", format: "json" });
  const { valid } = checkShape({ ...document, value });
  expect(document.report.hasErrors()).toBe(!valid);
  return valid;
}

type Change = (value: unknown) => unknown;

/** One place of the spec, chosen by numbers, gets another value, loses one or gains one. */
const change: fc.Arbitrary<Change> = fc
  .record({
    turns: fc.array(fc.nat(50), { minLength: 1, maxLength: 6 }),
    kind: fc.constantFrom("replace", "remove", "add"),
    value: fc.oneof(
      fc.constantFrom(
        "",
        "a",
        "10m",
        "1:30",
        "no",
        "a b",
        "../x",
        "<x>",
        "x".repeat(300),
        "ABC",
        "0".repeat(64),
      ),
      fc.constantFrom(0, 1, -1, 1.5, 65, 721, 1e12, true, false, null),
      fc.constantFrom([], ["a"], ["a", "a"], [1], [[]], {}, { a: 1 }, { command: "x" }, { path: "x" }),
      fc.constantFrom(...EFFORTS, ...TASKS, "mock", "internal", "say"),
    ),
    key: fc.constantFrom(
      "id",
      "prompt",
      "skill",
      "task",
      "model",
      "x",
      "attempt",
      "say",
      "path",
      "from_job",
      "sha256",
      "timeout",
    ),
  })
  .map(({ turns, kind, value, key }) => (root: unknown) => {
    let at = root;
    for (const turn of turns.slice(0, -1)) {
      const next = child(at, turn);
      if (typeof next !== "object" || next === null) break;
      at = next;
    }
    tamper(at, turns.at(-1) ?? 0, kind, key, structuredClone(value));
    return root;
  });

const child = (at: unknown, turn: number): unknown =>
  Object.values(at as object)[turn % Math.max(1, Object.keys(at as object).length)];

function tamper(at: unknown, turn: number, kind: string, key: string, value: unknown): void {
  if (typeof at !== "object" || at === null) return;
  const keys = Object.keys(at);
  const chosen = keys[turn % Math.max(1, keys.length)];
  if (Array.isArray(at)) {
    if (kind === "add") at.push(value);
    else if (kind === "remove") at.splice(turn % Math.max(1, at.length), 1);
    else if (at.length > 0) at[turn % at.length] = value;
  } else if (kind === "add") Object.assign(at, { [key]: value });
  else if (chosen !== undefined && kind === "remove") Reflect.deleteProperty(at, chosen);
  else if (chosen !== undefined) Object.assign(at, { [chosen]: value });
}
