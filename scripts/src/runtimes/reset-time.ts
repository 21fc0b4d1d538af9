/** When a spent allowance opens again, read from what a runtime said. A zone that cannot be told gives null, never a guess. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Further away than any provider's window: a parsing fault. */
const HORIZON = 62 * DAY;

/** Milliseconds since the epoch, later than `now`, or null. */
export function resetTimeIn(text: string, now: number): number | null {
  const found = epoch(text) ?? isoInstant(text) ?? inDuration(text, now) ?? wallClock(text, now);
  return found !== null && found > now && found - now <= HORIZON ? Math.round(found) : null;
}

const OPENS =
  /\b(?:resets?|reset[ _-]?(?:at|time|s_at)|opens? again|available again|try again|retry|renews?|until)\b/i;

/** `…limit reached|1795977058`, `"resets_at": 1795977058`. */
function epoch(text: string): number | null {
  const match = /(?:\||resets?_?(?:at|time)["']?\s*[:=]\s*|retry_at["']?\s*[:=]\s*)(\d{10}|\d{13})\b/i.exec(
    text,
  );
  if (match === null) return null;
  const value = Number(match[1]);
  return value > 1e11 ? value : value * SECOND;
}

/** An ISO instant counts only with `Z` or an offset: local times of an unknown zone are no instant. */
function isoInstant(text: string): number | null {
  if (!OPENS.test(text)) return null;
  const match = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)(?![\w:])/.exec(
    text,
  );
  if (match === null) return null;
  const parsed = Date.parse(match[0].replace(/\s?UTC$/, "Z").replace(" ", "T"));
  return Number.isNaN(parsed) ? null : parsed;
}

const UNIT: Readonly<Record<string, number>> = { d: DAY, h: HOUR, m: MINUTE, s: SECOND };

/** `try again in 3h 20m`, `in 2 days 3 hours 5 minutes`, `retry after 30 seconds`, `Retry-After: 30`. */
function inDuration(text: string, now: number): number | null {
  const header = /\bretry[-_ ]?after["']?\s*[:=]\s*["']?(\d{1,7}(?:\.\d+)?)["']?(?!\s*[a-z]|\d)/i.exec(text);
  if (header !== null) return now + Number(header[1]) * SECOND;
  const lead = new RegExp(
    `${OPENS.source}[^.\\n]{0,20}?\\b(?:in|after)\\s+((?:\\d+(?:\\.\\d+)?\\s*(?:days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s)\\b[\\s,]*(?:and\\s+)?)+)`,
    "i",
  ).exec(text);
  if (lead === null) return null;
  let total = 0;
  for (const part of (lead[1] as string).matchAll(/(\d+(?:\.\d+)?)\s*([dhms])/gi))
    total += Number(part[1]) * (UNIT[(part[2] as string).toLowerCase()] as number);
  return total > 0 ? now + total : null;
}

const CLOCK =
  /\b(?:at\s+)?(\d{1,2})(?::(\d\d))?\s*(am|pm)?\s*\(?([A-Za-z]+(?:\/[A-Za-z_+-]+[A-Za-z0-9_+-]*)+|UTC|GMT|Z)\)?/gi;

/** `opens again 4pm (Europe/Paris)`: the next such time in that zone. Without a zone: null. */
function wallClock(text: string, now: number): number | null {
  const opens = OPENS.exec(text);
  if (opens === null) return null;
  for (const match of text.slice(opens.index).matchAll(CLOCK)) {
    const time = clockTime(match[1] as string, match[2], match[3]);
    const zone = zoneName(match[4] as string);
    if (time !== null && zone !== null) return nextInZone(time, zone, now);
  }
  return null;
}

function clockTime(
  hourText: string,
  minuteText: string | undefined,
  half: string | undefined,
): number | null {
  let hour = Number(hourText);
  const minute = Number(minuteText ?? "0");
  if (half === undefined && minuteText === undefined) return null;
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return null;
    hour = (hour % 12) + (half.toLowerCase() === "pm" ? 12 : 0);
  }
  return hour > 23 || minute > 59 ? null : hour * HOUR + minute * MINUTE;
}

function zoneName(name: string): string | null {
  const zone = /^(?:UTC|GMT|Z)$/i.test(name) ? "UTC" : name;
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/** Offset of `zone` at an instant, ms east of UTC. */
function offsetAt(zone: string, instant: number): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(instant);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
  const local = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
  return local - Math.floor(instant / SECOND) * SECOND;
}

function nextInZone(timeOfDay: number, zone: string, now: number): number {
  const midnight = Math.floor((now + offsetAt(zone, now)) / DAY) * DAY;
  for (let day = 0; day <= 2; day += 1) {
    const local = midnight + day * DAY + timeOfDay;
    // Twice, because the offset that holds at the target may differ from the one that holds now.
    const guess = local - offsetAt(zone, local - offsetAt(zone, now));
    if (guess > now) return guess;
  }
  return now;
}
