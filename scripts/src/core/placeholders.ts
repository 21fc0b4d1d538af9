/** Placeholders of a spec: classes that are resolved from live evidence during the run, never pins. */

export const RUNTIME_PLACEHOLDERS = [
  "<verified-cli-runtime>",
  "<verified-read-runtime>",
  "<verified-judgment-runtime>",
  "<verified-fallback-runtime>",
] as const;
export type RuntimePlaceholder = (typeof RUNTIME_PLACEHOLDERS)[number];

export const CWD_PLACEHOLDER = "<workspace-root>";
export const MODEL_PLACEHOLDER = "<resolved-model>";

/** True for text of the form `<...>`, known or not. */
export const isPlaceholder = (text: string): boolean => text.startsWith("<") && text.endsWith(">");

/** True for a runtime field that names one runtime, as opposed to a class of runtimes. */
export const isExplicitRuntime = (runtime: string | null | undefined): runtime is string =>
  typeof runtime === "string" && !isPlaceholder(runtime);
