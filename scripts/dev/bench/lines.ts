/** Lines of the table: a figure, what it is measured against, its goal, and what was recorded for it before. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../repo.ts";
import { median, table } from "./measure.ts";

export interface Line {
  readonly name: string;
  /** One value for each round; ratios are taken round by round. */
  readonly values: readonly number[];
  readonly unit: string;
  /** `atLeast`: more is better. Null: for orientation. */
  readonly goal: { readonly limit: number; readonly atLeast?: true } | null;
  /** A peer that is not there, or a command that failed. */
  readonly missing?: string;
}

const RECORDED = join(ROOT, "scripts/dev/bench/recorded.json");
/** A line that got worse by more than this against the recorded figure fails the command. */
const REGRESSION = 1.2;

type Recorded = Readonly<Record<string, number>>;

export function printLines(lines: readonly Line[], o: { readonly record: boolean }): { regressed: number } {
  const recorded = JSON.parse(readFileSync(RECORDED, "utf8")) as Recorded;
  console.log(
    table(
      ["what", "figure", "rounds", "spread", "goal", "", "recorded"],
      lines.map((line) => row(line, recorded[line.name])),
    ),
  );
  const worse = lines.filter((line) => isWorse(line, recorded[line.name]));
  for (const { name, values } of worse)
    console.log(`regressed: ${name} is ${show(median(values))}, recorded ${show(recorded[name] ?? 0)}`);
  if (o.record) {
    const measured = lines.filter(({ values, goal }) => values.length > 0 && goal !== null);
    const next = {
      ...recorded,
      ...Object.fromEntries(measured.map((l) => [l.name, round(median(l.values))])),
    };
    writeFileSync(RECORDED, `${JSON.stringify(next, null, 2)}\n`);
  }
  return { regressed: o.record ? 0 : worse.length };
}

function row(line: Line, before: number | undefined): string[] {
  const { name, values, unit, goal, missing } = line;
  if (values.length === 0) return [name, missing ?? "not measured"];
  const value = median(values);
  const met = goal === null ? "" : isMet(value, goal) ? "met" : "missed";
  return [
    name,
    `${show(value)} ${unit}`,
    String(values.length),
    `${show(Math.min(...values))} to ${show(Math.max(...values))}`,
    goal === null ? "" : `${goal.atLeast === true ? "at least" : "at most"} ${goal.limit}`,
    met,
    before === undefined ? "" : show(before),
  ];
}

const isMet = (value: number, goal: NonNullable<Line["goal"]>): boolean =>
  goal.atLeast === true ? value >= goal.limit : value <= goal.limit;

function isWorse({ values, goal }: Line, before: number | undefined): boolean {
  if (values.length === 0 || goal === null || before === undefined) return false;
  const value = median(values);
  return goal.atLeast === true ? value < before / REGRESSION : value > before * REGRESSION;
}

const show = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));
const round = (value: number): number => Math.round(value * 1_000) / 1_000;
