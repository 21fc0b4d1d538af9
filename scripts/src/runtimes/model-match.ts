/** Whether the model that answered is the one that was asked for, under the names that runtimes use for the same thing. */

/**
 * `requested` as the candidate names it, `observed` as the stream does. The same: equal but for a provider prefix, a
 * context suffix (`[1m]`) or a dated release; an alias of the runtime that is a word of the observed name.
 */
export function isRequestedModel(o: {
  readonly requested: string;
  readonly observed: string;
  readonly provider: string | null;
  readonly aliases: readonly string[];
}): boolean {
  const requested = plainName(o.requested, o.provider);
  const observed = plainName(o.observed, o.provider);
  if (requested === observed || undated(requested) === undated(observed)) return true;
  const isAlias = o.aliases.some((alias) => alias.toLowerCase() === requested);
  return isAlias && observed.split(/[^a-z0-9]+/).includes(requested);
}

function plainName(name: string, provider: string | null): string {
  const bare = name.toLowerCase().replace(/\[[^\]]*\]$/, "");
  const slash = bare.indexOf("/");
  if (slash < 0) return bare;
  const prefix = bare.slice(0, slash);
  return provider === null || prefix === provider.toLowerCase() || prefix === "models"
    ? bare.slice(slash + 1)
    : bare;
}

const undated = (name: string): string => name.replace(/[-@]20\d{2}-?\d{2}-?\d{2}$/, "");
