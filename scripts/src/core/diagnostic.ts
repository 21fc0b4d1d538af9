import type { Diagnostic, NextAction } from "./generated/output.ts";

export type { Diagnostic, NextAction };
export type Severity = Diagnostic["severity"];

export const isError = (d: Diagnostic): boolean => d.severity === "error";
export const hasErrors = (list: readonly Diagnostic[]): boolean => list.some(isError);
