/** Files that travel with the tool. They are found from this module's own place, never from the working directory. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Set by the build: where the schemas are, seen from a built module. */
declare const SCHEMAS_FROM_BUNDLE: string | undefined;

const SCHEMAS_FROM_SOURCE = "../../../schemas/";
const SUFFIX = ".schema.json";

const folder = (): string =>
  fileURLToPath(
    new URL(
      typeof SCHEMAS_FROM_BUNDLE === "string" ? SCHEMAS_FROM_BUNDLE : SCHEMAS_FROM_SOURCE,
      import.meta.url,
    ),
  );

/** Names of all JSON Schemas, sorted. */
export const schemaNames = (): string[] =>
  readdirSync(folder())
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .sort();

/** The text of a schema; `name` is one of `schemaNames()`. */
export const schemaText = (name: string): string => readFileSync(`${folder()}${name}${SUFFIX}`, "utf8");
