/** Waiting for what another process does: asked again and again, since a ledger and a process table tell nobody. */
const EVERY_MS = 20;
const LIMIT_MS = 120_000;

/** Resolves with the first answer that is neither false nor null nor undefined; fails after two minutes, saying what was missed. */
export async function until<T>(what: string, ask: () => T): Promise<Exclude<T, false | null | undefined>> {
  const limit = performance.now() + LIMIT_MS;
  for (;;) {
    const answer = ask();
    if (answer !== false && answer !== null && answer !== undefined)
      return answer as Exclude<T, false | null | undefined>;
    if (performance.now() > limit) throw new Error(`still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
