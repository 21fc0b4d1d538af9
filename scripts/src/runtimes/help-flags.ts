/**
 * Flags, their choices and sub-commands, read from live help. Help texts are wrapped and formatted in a dozen ways, so
 * nothing but the shapes common to all is relied on: a flag stands at the start of an entry or after a comma there.
 */

export interface LiveHelp {
  /** `--flag`, `-f`, or `flag value` when the flag must offer that choice. */
  has(flag: string): boolean;
  /** The values that the entry of `flag` lists; empty when it lists none. */
  choices(flag: string): readonly string[];
  /** The whole entry of `flag` on one line; empty when there is none. */
  body(flag: string): string;
  readonly flags: ReadonlySet<string>;
  readonly text: string;
}

export function readHelp(texts: readonly string[]): LiveHelp {
  const entries = new Map<string, string>();
  for (const text of texts)
    for (const [flag, body] of entriesOf(text)) entries.set(flag, `${entries.get(flag) ?? ""}\n${body}`);
  const choices = (flag: string): readonly string[] => choicesIn(entries.get(flag) ?? "");
  return {
    has: (flag) => {
      const [name, value] = flag.split(" ", 2) as [string, string | undefined];
      if (!entries.has(name)) return false;
      return value === undefined || choices(name).includes(value);
    },
    choices,
    body: (flag) => entries.get(flag) ?? "",
    flags: new Set(entries.keys()),
    text: texts.join("\n"),
  };
}

/** `  -x, --long <value>   text…`, `  --long, --other-name`, `  --[no-]thing`. */
const ENTRY = /^[ \t]{0,12}(-{1,2}[A-Za-z0-9?[][^\n]*)$/;
const NAME = /--?(?:\[no-\])?[A-Za-z0-9?][\w-]*/g;

function* entriesOf(text: string): Generator<[string, string]> {
  let names: string[] = [];
  let body: string[] = [];
  for (const line of text.replace(/\t/g, "  ").split(/\r?\n/)) {
    const entry = ENTRY.exec(line);
    if (entry === null) {
      // Text at the left edge is a heading and ends the entry; indented text belongs to it.
      if (/^\S/.test(line)) {
        for (const name of names) yield [name, body.join(" ")];
        names = [];
      } else body.push(line.trim());
      continue;
    }
    for (const name of names) yield [name, body.join(" ")];
    const head = (entry[1] as string).split(/\s{2,}/, 1)[0] as string;
    names = namesIn(head);
    body = [(entry[1] as string).trim()];
  }
  for (const name of names) yield [name, body.join(" ")];
}

/** Names in `-x, --long <value>`: those before the first placeholder or description word. */
function namesIn(head: string): string[] {
  const names: string[] = [];
  for (const part of head.split(/[,|/]\s*/)) {
    if (!part.trim().startsWith("-")) break;
    const match = part.trim().match(NAME)?.[0];
    if (match === undefined) break;
    if (match.startsWith("--[no-]")) names.push(`--${match.slice(7)}`, `--no-${match.slice(7)}`);
    else names.push(match);
  }
  return names;
}

const LISTS = [
  /\[?(?:choices|possible values|values|one of)\]?\s*[:=]?\s*([^\])]+)[\])]?/i,
  /\(([a-z][\w-]*(?:\s*[,|]\s*[a-z][\w-]*)+)\)/i,
  /[<[{]([a-z][\w-]*(?:\|[a-z][\w-]*)+)[>\]}]/i,
  /:\s+([a-z][\w-]*(?:,\s*(?:or\s+)?[a-z][\w-]*)+)/i,
];

function choicesIn(entry: string): string[] {
  const body = entry.replace(/\s*\(default\)/gi, "");
  for (const list of LISTS) {
    const match = list.exec(body);
    if (match === null) continue;
    const values = (match[1] as string)
      .split(/\s*[,|]\s*(?:or\s+)?|\s+-\s+|\s+or\s+/)
      .map((value) => value.trim().replace(/^["'`]|["'`]$/g, ""))
      .filter((value) => /^[\w.-]+$/.test(value));
    if (values.length > 0) return values;
  }
  // clap's long form: `Possible values:` followed by `- name: text`.
  return [...body.matchAll(/(?:^|\s)- ([\w-]+):/g)].map((match) => match[1] as string);
}
