/** Tables of the job spec: fields from its schema, codes, tiers and controls from the planner's tables. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EFFECT_RISK, RISK_TIERS } from "../../src/core/tiers.ts";
import { CONTROL_ORDERS, minimumControls } from "../../src/plan/controls.ts";
import { SPEC_CODES } from "../../src/plan/spec-codes.ts";
import { TASK_FLOORS } from "../../src/plan/tier.ts";
import { ESCALATION_MATRIX } from "../../src/prove/escalate.ts";
import { ROOT } from "../repo.ts";
import { code, codes, table } from "./markdown.ts";

export const SPEC_TABLES: Readonly<Record<string, () => string>> = {
  "spec-fields": () => fields(jobsSchema()),
  "job-fields": () => fields(definition(jobsSchema(), "Job")),
  "job-parts": jobParts,
  "spec-codes": () =>
    table(
      ["code", "severity", "about"],
      Object.entries(SPEC_CODES).map(([name, { severity, title }]) => [code(name), severity, title]),
    ),
  "task-floors": () =>
    table(
      ["task", "capability floor", "risk floor"],
      Object.entries(TASK_FLOORS).map(([task, floor]) => [code(task), floor.capability, floor.risk]),
    ),
  "effect-tiers": () =>
    table(
      ["effect", "risk tier"],
      Object.entries(EFFECT_RISK).map(([effect, tier]) => [code(effect), tier]),
    ),
  "minimum-controls": minimums,
  "escalation-matrix": () =>
    table(
      ["code", "", "statement"],
      ESCALATION_MATRIX.map(({ id, kind, title }) => [
        code(id),
        kind === "always-c3" ? "always" : "unless",
        title,
      ]),
    ),
  "control-orders": () =>
    table(
      ["control", "strong to weak"],
      Object.entries(CONTROL_ORDERS).map(([concern, order]) => [concern, order.map(code).join(" > ")]),
    ),
};

function minimums(): string {
  const rows = RISK_TIERS.map((tier) => [
    tier,
    [...minimumControls(tier)].map(([concern, value]) => `${concern} ${code(value)}`).join(", "),
    tier === "R0" || tier === "R1" ? "attested" : "verified",
  ]);
  return table(["tier", "at least", "evidence"], rows);
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const jobsSchema = (): Schema => JSON.parse(readFileSync(join(ROOT, "schemas/jobs.schema.json"), "utf8"));

function definition(schema: Schema, name: string): Schema {
  const found = schema.definitions?.[name];
  if (found === undefined) throw new Error(`the schema defines no \`${name}\``);
  return found;
}

/** The fields of a job that are maps or lists of maps, field by field. `rollback` is written as `preview` is. */
const PARTS = [
  "session",
  "preview",
  "inputs",
  "outputs",
  "verification",
  "invocation",
  "retry",
  "benchmark",
  "fallback",
  "mock",
] as const;

function jobParts(): string {
  const root = jobsSchema();
  const job = definition(root, "Job");
  const rows = PARTS.flatMap((name) => {
    const property = job.properties?.[name];
    if (property === undefined) throw new Error(`a job has no field \`${name}\``);
    const whole = resolve(root, property);
    const one = whole.items === undefined ? whole : resolve(root, whole.items);
    const map = one.oneOf?.map((form) => resolve(root, form)).find((form) => form.type === "object") ?? one;
    const found = fieldRows(map, whole.items === undefined ? `${name}.` : `${name}[].`);
    if (found.length === 0) throw new Error(`\`${name}\` has no fields of its own`);
    return found;
  });
  return table(["field", "type", "default", "meaning"], rows);
}

/** One row per property, required ones marked. */
const fields = (owner: Schema): string =>
  table(["field", "type", "default", "meaning"], fieldRows(owner, ""));

function fieldRows(owner: Schema, prefix: string): string[][] {
  const root = jobsSchema();
  return Object.entries(owner.properties ?? {}).map(([name, property]) => {
    const resolved = resolve(root, property);
    const required = owner.required?.includes(name) === true;
    const fallback = property.default ?? resolved.default;
    return [
      code(prefix + name),
      typeOf(root, property),
      required ? "required" : fallback === undefined ? "" : code(String(fallback)),
      property.description ?? resolved.description ?? "",
    ];
  });
}

/** Follows references; of an `allOf` with one member, that member. */
function resolve(root: Schema, schema: Schema): Schema {
  if (schema.$ref !== undefined) return resolve(root, definition(root, schema.$ref.split("/").at(-1) ?? ""));
  const only = schema.allOf?.length === 1 ? schema.allOf[0] : undefined;
  return only === undefined ? schema : { ...resolve(root, only), ...schema };
}

function typeOf(root: Schema, schema: Schema): string {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  const resolved = resolve(root, schema);
  if (resolved.enum !== undefined) return codes(resolved.enum.map(String));
  if (resolved.const !== undefined) return code(String(resolved.const));
  if (resolved.type === "array")
    return `list of ${resolved.items === undefined ? "values" : typeOf(root, resolved.items)}`;
  if (reference?.endsWith("/Duration") === true) return "duration";
  if (reference?.endsWith("/JobId") === true) return "job id";
  if (resolved.oneOf !== undefined) return "text or map";
  if (resolved.type === "integer") return `whole number${bounds(resolved)}`;
  if (resolved.type === "object") return "map";
  return resolved.type === "string" ? "text" : String(resolved.type ?? "value");
}

function bounds({ minimum, maximum }: Schema): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  return minimum === undefined ? "" : ` from ${minimum}`;
}
