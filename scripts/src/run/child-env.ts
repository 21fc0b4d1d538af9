/** The environment of a child: what was allowed and what was set, and nothing that would tell it who started it. */
import { BASE_ENVIRONMENT } from "../core/child-environment.ts";
import { isStrippedVariable, JOB_ANCESTORS, JOB_MARKER, OWN_PREFIX } from "../core/harness-markers.ts";

export interface ChildEnvironmentOptions {
  /** The coordinator's own environment. */
  readonly parent: Readonly<Record<string, string>>;
  /** Names taken over from `parent` when set there, in addition to `BASE_ENVIRONMENT`. */
  readonly allow: readonly string[];
  /** Set whatever `parent` says; it comes from adapters, so our own variables may be among it. */
  readonly set: Readonly<Record<string, string>>;
  /** Value of ORCHESTRATE_JOB: names the job, holds no line end. */
  readonly marker: string;
}

export interface ChildEnvironment {
  readonly env: Record<string, string>;
  /** Names that were set or asked for and are withheld: for the trace, never with values. Sorted. */
  readonly dropped: string[];
}

/**
 * Builds the environment of one child. Harness markers, `GIT_*`, our own variables and loader variables are withheld
 * even when a list names them; each such name, and each marker found in `parent`, is reported in `dropped`.
 */
export function childEnvironment(options: ChildEnvironmentOptions): ChildEnvironment {
  const dropped = new Set<string>();
  // First, so that the sweep finds it in the first bytes of /proc/PID/environ.
  const env: Record<string, string> = { [JOB_MARKER]: options.marker };
  const ancestors = ancestry(options.parent);
  if (ancestors !== "") env[JOB_ANCESTORS] = ancestors;
  const take = (name: string, value: string | undefined, own: boolean): void => {
    if (value === undefined || name === JOB_MARKER || name === JOB_ANCESTORS) return;
    if (isStrippedVariable(name) && !(own && name.startsWith(OWN_PREFIX))) dropped.add(name);
    else env[name] = value;
  };
  for (const name of BASE_ENVIRONMENT) take(name, options.parent[name], false);
  for (const name of options.allow) take(name, options.parent[name], false);
  for (const [name, value] of Object.entries(options.set)) take(name, value, true);
  for (const name of Object.keys(options.parent))
    if (name !== JOB_MARKER && name !== JOB_ANCESTORS && isStrippedVariable(name)) dropped.add(name);
  return { env, dropped: [...dropped].sort() };
}

/** When we run inside a job of an outer run, our jobs stay findable for that run's sweep. */
function ancestry(parent: Readonly<Record<string, string>>): string {
  return [parent[JOB_ANCESTORS], parent[JOB_MARKER]]
    .filter((value) => value !== undefined && value !== "")
    .join("\n");
}
