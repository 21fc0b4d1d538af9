/** A small seeded generator: one seed, one schedule. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  int(below: number): number;
  chance(p: number): boolean;
  pick<T>(list: readonly T[]): T;
}

export function seeded(seed: number): Random {
  let a = (seed ^ 0x9e3779b9) >>> 0;
  const next = (): number => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    chance: (p) => next() < p,
    pick: (list) => list[int(list.length)] as never,
  };
}
