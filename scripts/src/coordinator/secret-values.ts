/** Values of our own environment that must never be written: what looks like a credential by its name. */
import { looksSecretName } from "../core/secret-patterns.ts";
import type { Environment } from "../host/env.ts";

export const secretValuesOf = (env: Environment): string[] =>
  Object.entries(env.all())
    .filter(([name, value]) => looksSecretName(name) && value.length >= 8)
    .map(([, value]) => value);
