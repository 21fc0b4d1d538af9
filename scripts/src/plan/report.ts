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
  readonly place: Place;
  readonly fix?: string | undefined;
  readonly related?: readonly { readonly message: string; readonly place: Place }[];
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
    const diagnostic = toDiagnostic(fileName, finding);
    const key = `${diagnostic.code}\n${diagnostic.line}:${diagnostic.column}\n${diagnostic.message}`;
    if (seen.has(key)) return;
    if (diagnostic.severity === "error") errors += 1;
    if (diagnostics.length >= MAX_DIAGNOSTICS) {
      dropped += 1;
      return;
    }
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
        place: placeOf(fault.offset),
        fix: fault.fix,
        ...(fault.related === undefined
          ? {}
          : { related: [{ message: fault.related.message, place: placeOf(fault.related.offset) }] }),
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

function toDiagnostic(fileName: string, finding: Finding): Diagnostic {
  return {
    severity: SPEC_CODES[finding.code].severity,
    code: finding.code,
    message: hideSecrets(finding.message),
    ...(finding.path.length === 0 ? {} : { path: hideSecrets(formatPath(finding.path)) }),
    file: fileName,
    line: finding.place.line,
    column: finding.place.column,
    ...(finding.fix === undefined ? {} : { fix: hideSecrets(finding.fix) }),
    ...(finding.related === undefined
      ? {}
      : {
          related: finding.related.map(({ message, place }) => ({ message: hideSecrets(message), ...place })),
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
