/** Masks secrets in a unified diff, also those that go on over a line end: the mark before each line would hide that. */

/** Runs of lines of one kind are masked without their marks, then the whole once more. For reading: hunks may get shorter. */
export function redactDiff(diff: string, redact: (text: string) => string): string {
  const runs: { readonly mark: string; readonly lines: string[] }[] = [];
  for (const line of diff.split("\n")) {
    const mark = /^[-+ ]/.exec(line)?.[0] ?? "";
    const last = runs.at(-1);
    if (last?.mark === mark) last.lines.push(line.slice(mark.length));
    else runs.push({ mark, lines: [line.slice(mark.length)] });
  }
  const masked = runs.map(({ mark, lines }) =>
    redact(lines.join("\n"))
      .split("\n")
      .map((line) => mark + line)
      .join("\n"),
  );
  return redact(masked.join("\n"));
}
