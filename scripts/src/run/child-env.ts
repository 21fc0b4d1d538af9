/** The environment of a child: what was allowed and what was set, and nothing that would tell it who started it. */

export interface ChildEnvironmentOptions {
  readonly parent: Readonly<Record<string, string>>;
  /** Names taken over from `parent` when set there. */
  readonly allow: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly marker: string;
}

export interface ChildEnvironment {
  readonly env: Record<string, string>;
  /** Names that were asked for or set, and refused. Sorted. */
  readonly dropped: string[];
}

export function childEnvironment(_options: ChildEnvironmentOptions): ChildEnvironment {
  throw new Error("not built yet");
}
