/** What the rules about meaning have in common: a way to report at a path. */
import type { Path } from "./fault.ts";
import type { ReadDocument } from "./read-yaml.ts";
import type { SpecCode } from "./spec-codes.ts";

export interface SayOptions {
  readonly fix?: string | (() => string | undefined) | undefined;
  readonly related?: readonly { readonly path: Path; readonly message: string }[];
}

export type Say = (code: SpecCode, path: Path, message: string, options?: SayOptions) => void;

export function sayIn(document: ReadDocument): Say {
  return (code, path, message, options = {}) =>
    document.report.add({
      code,
      path,
      message,
      place: () => document.locate(path),
      fix: options.fix,
      ...(options.related === undefined
        ? {}
        : {
            related: options.related.map((other) => ({
              message: other.message,
              place: () => document.locate(other.path),
            })),
          }),
    });
}
