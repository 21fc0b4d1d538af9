/** What a check is: a pure function from files to findings, that also says how much it looked at. */

/** Path from the repository root → content; a symlink has its target instead. */
export type Files = ReadonlyMap<string, FileContent>;

export interface FileContent {
  readonly text: string;
  /** Target of a symlink, as written; null for a regular file. */
  readonly link: string | null;
}

export interface Finding {
  readonly path: string;
  readonly line: number | null;
  readonly message: string;
}

export interface CheckResult {
  /** Items inspected. A check that looked at nothing proves nothing and fails. */
  readonly looked: number;
  readonly findings: readonly Finding[];
}

export interface Check {
  readonly id: string;
  /** What holds when it passes, as a sentence. */
  readonly promise: string;
  readonly step: "imports" | "docs";
  run(files: Files): CheckResult | Promise<CheckResult>;
}

export const finding = (path: string, line: number | null, message: string): Finding => ({
  path,
  line,
  message,
});

/** 1-based line of `index` in `text`. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

/** Regular files whose path matches, in order. */
export function* matching(files: Files, pattern: RegExp): Generator<readonly [path: string, text: string]> {
  for (const [path, content] of files)
    if (content.link === null && pattern.test(path)) yield [path, content.text];
}

/** Every hit of a global pattern as a finding. */
export function hits(
  path: string,
  text: string,
  pattern: RegExp,
  message: (hit: string) => string,
): Finding[] {
  return [...text.matchAll(pattern)].map((match) =>
    finding(path, lineAt(text, match.index), message(match[0])),
  );
}

export function showFinding(check: string, found: Finding): string {
  const place = found.line === null ? found.path : `${found.path}:${found.line}`;
  return `${place}: ${found.message} [${check}]`;
}
