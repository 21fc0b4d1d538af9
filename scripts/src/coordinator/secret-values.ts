/** Values that must never be written, although they may turn up in what jobs and checks print. */
import { looksSecretName } from "../core/secret-patterns.ts";
import type { Environment } from "../host/env.ts";
import { credentialPlaces, everyKey } from "../plane/credentials.ts";

/**
 * What looks like a credential by its name in our own environment, and the reference provider's key in each of its places:
 * a job that reads the project's `.env` may print it, whether a classifier takes part or not.
 */
export function secretValuesOf(o: {
  readonly env: Environment;
  readonly workspaceRoot: string;
  /** The tool's main file. */
  readonly script: string;
}): string[] {
  const { env, workspaceRoot, script } = o;
  const named = Object.entries(env.all()).flatMap(([name, value]) =>
    looksSecretName(name) && value.length >= 8 ? [value] : [],
  );
  const environment = (name: string): string | undefined => env.get(name);
  return [...named, ...everyKey(credentialPlaces({ environment, workspaceRoot, script }))];
}
