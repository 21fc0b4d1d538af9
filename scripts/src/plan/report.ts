/** Collects diagnostics: adds severity and place, never lets a credential through, sorts, and keeps the list bounded. */
import type { Diagnostic } from "../core/diagnostic.ts";
import { type Fault, formatPath, type Path, type Place } from "./fault.ts";
import { hideSecrets } from "./secrets.ts";
import { SPEC_CODES, type SpecCode } from "./spec-codes.ts";

const MAX_DIAGNOSTICS = 1_000;

export interface Finding {
  readonly code: SpecCode;
  readonly path: Path;
  readonly message: string;
  /** Asked only when the finding is kept: finding a place in a large file costs more than finding the fault. */
  readonly place: () => Place;
  /** Likewise lazy where it takes a search. */
  readonly fix?: string | (() => string | undefined) | undefined;
  readonly related?: readonly { readonly message: string; readonly place: () => Place }[];
}

export interface Report {
  readonly add: (finding: Finding) => void;
  readonly fault: (fault: Fault, placeOf: (offset: number) => Place) => void;
  readonly hasErrors: () => boolean;
  /** By place in the file. */
  readonly list: () => Diagnostic[];
}

export function createReport(fileName: string): Report {
  const diagnostics: Diagnostic[] = [];
  const seen = new Set<string>();
  let dropped = 0;
  let errors = 0;

  const add = (finding: Finding): void => {
    if (diagnostics.length >= MAX_DIAGNOSTICS) {
      if (SPEC_CODES[finding.code].severity === "error") errors += 1;
      dropped += 1;
      return;
    }
    const diagnostic = toDiagnostic(fileName, finding);
    const key = `${diagnostic.code}\n${diagnostic.line}:${diagnostic.column}\n${diagnostic.message}`;
    if (seen.has(key)) return;
    if (diagnostic.severity === "error") errors += 1;
    seen.add(key);
    diagnostics.push(diagnostic);
  };

  return {
    add,
    fault: (fault, placeOf) =>
      add({
        code: fault.code,
        path: fault.path ?? [],
        message: fault.message,
        place: () => placeOf(fault.offset),
        fix: fault.fix,
        ...(fault.related === undefined ? {} : { related: [relatedPlace(fault.related, placeOf)] }),
      }),
    hasErrors: () => errors > 0,
    list: () => {
      const sorted = [...diagnostics].sort(
        (a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
      );
      if (dropped > 0) sorted.push(moreFaults(fileName, dropped, sorted.at(-1)));
      return sorted;
    },
  };
}

const relatedPlace = (related: NonNullable<Fault["related"]>, placeOf: (offset: number) => Place) => ({
  message: related.message,
  place: () => placeOf(related.offset),
});

function toDiagnostic(fileName: string, finding: Finding): Diagnostic {
  const { line, column } = finding.place();
  const fix = typeof finding.fix === "function" ? finding.fix() : finding.fix;
  return {
    severity: SPEC_CODES[finding.code].severity,
    code: finding.code,
    message: hideSecrets(finding.message),
    ...(finding.path.length === 0 ? {} : { path: hideSecrets(formatPath(finding.path)) }),
    file: fileName,
    line,
    column,
    ...(fix === undefined ? {} : { fix: hideSecrets(fix) }),
    ...(finding.related === undefined
      ? {}
      : {
          related: finding.related.map(({ message, place }) => ({
            message: hideSecrets(message),
            ...place(),
          })),
        }),
  };
}

function moreFaults(fileName: string, dropped: number, last: Diagnostic | undefined): Diagnostic {
  return {
    severity: SPEC_CODES["more-faults"].severity,
    code: "more-faults",
    message: `${dropped} further findings are not listed`,
    file: fileName,
    line: last?.line ?? 1,
    column: last?.column ?? 1,
    fix: "mend the ones above first",
  };
}
