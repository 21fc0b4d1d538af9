/** Durations as people write them: `90s`, `10m`, `1h30m`. */
import { err, ok, type Result } from "../core/result.ts";

const FORM = /^(?=[0-9])(?:([0-9]{1,4})h)?(?:([0-9]{1,6})m)?(?:([0-9]{1,8})s)?(?:([0-9]{1,9})ms)?$/;

/** Milliseconds, or why the text is no duration. Hours, minutes, seconds and milliseconds, in that order. */
export function parseDuration(text: string): Result<number, string> {
  const match = FORM.exec(text);
  if (match === null) return err("is no duration such as `90s`, `10m` or `1h30m`");
  const [hours, minutes, seconds, rest] = match.slice(1).map((part) => Number(part ?? 0));
  return ok(hours! * 3_600_000 + minutes! * 60_000 + seconds! * 1_000 + rest!);
}

/** The shortest way to write a number of milliseconds as a duration. */
export function formatDuration(ms: number): string {
  const parts: [number, string][] = [
    [Math.floor(ms / 3_600_000), "h"],
    [Math.floor(ms / 60_000) % 60, "m"],
    [Math.floor(ms / 1_000) % 60, "s"],
    [ms % 1_000, "ms"],
  ];
  const text = parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount}${unit}`)
    .join("");
  return text === "" ? "0s" : text;
}
