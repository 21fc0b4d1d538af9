/** What became of each piece, and the table of it. */

export interface Judged {
  readonly id: string;
  readonly kind: string;
  readonly good: boolean;
  readonly accepted: boolean;
  /** What should catch it, and what did. */
  readonly expected: string;
  readonly by: string;
}

export interface Faults {
  readonly falseAccepts: readonly string[];
  readonly falseBlocks: readonly string[];
  /** Neither accepted nor held up wrongly, but caught by something else than what is there to catch it. */
  readonly wrongCatches: readonly string[];
}

export function faultsOf(judged: readonly Judged[]): Faults {
  const named = (wrong: (one: Judged) => boolean): string[] =>
    judged.filter(wrong).map((one) => `${one.id} (${one.kind}): ${one.by}, not ${one.expected}`);
  return {
    falseAccepts: named((one) => !one.good && one.accepted),
    falseBlocks: named((one) => one.good && !one.accepted),
    wrongCatches: named((one) => one.good === one.accepted && one.by !== one.expected),
  };
}

/** One line per kind: how many, how many accepted, and by what the rest was caught. */
export function corpusTable(judged: readonly Judged[]): string {
  const keys = [...new Set(judged.map(({ good, kind }) => `${good} ${kind}`))];
  const rows = keys.map((key) => {
    const mine = judged.filter(({ good, kind }) => `${good} ${kind}` === key);
    return [
      mine[0]?.good === true ? "good" : "bad",
      mine[0]?.kind ?? "",
      String(mine.length),
      String(mine.filter((one) => one.accepted).length),
      [...new Set(mine.map((one) => one.by))].join(" | "),
    ];
  });
  const head = ["", "work", "cases", "accepted", "caught by"];
  const widths = head.map((title, at) =>
    Math.max(...[head, ...rows].map((row) => (row[at] ?? title).length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  const count = (good: boolean): number => judged.filter((one) => one.good === good).length;
  const { falseAccepts, falseBlocks, wrongCatches } = faultsOf(judged);
  return [
    line(head),
    ...rows.map(line),
    "",
    `${count(true)} good and ${count(false)} bad: false accepts ${falseAccepts.length}, false blocks ${falseBlocks.length}, caught by another check ${wrongCatches.length}`,
  ].join("\n");
}
