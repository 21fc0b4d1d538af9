/** Hears of changes in a folder; only ever a hint, since some file systems tell nothing: poll as well. */
import { type FSWatcher, watch } from "node:fs";

export interface DirWatch {
  close(): void;
}

/** Calls `onChange` some time after each change. Never throws: where nothing can be watched, nothing is called. */
export function watchDir(path: string, onChange: () => void): DirWatch {
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(path, () => onChange());
    watcher.on("error", () => watcher?.close());
  } catch {
    watcher = null;
  }
  return { close: () => watcher?.close() };
}

/**
 * Resolves with the first non-null answer of `look`; null when `timeoutMs` have passed. It looks after `firstMs`, after
 * each change in `dir`, and every `everyMs`, but never twice within `restMs`: a busy writer must not keep its readers
 * busy. For the same reason `dir` is watched only once that first look has found nothing: a watch is woken by each file,
 * and to set it up costs as much as the folder has entries. Rejects when `look` throws.
 */
export function waitInDir<T>(o: {
  dir: string;
  look: () => T | null;
  timeoutMs: number;
  everyMs: number;
  restMs: number;
  firstMs: number;
}): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let watcher: DirWatch | null = null;
    let nextLook: NodeJS.Timeout | null = null;
    let ended = false;
    let lastLook = Number.NEGATIVE_INFINITY;

    const end = (settle: () => void): void => {
      ended = true;
      watcher?.close();
      clearTimeout(nextLook ?? undefined);
      clearInterval(every);
      clearTimeout(deadline);
      settle();
    };
    const look = (): void => {
      nextLook = null;
      lastLook = performance.now();
      try {
        const answer = o.look();
        if (answer !== null) end(() => resolve(answer));
      } catch (error) {
        end(() => reject(error));
      }
    };
    const first = (): void => {
      look();
      if (ended) return;
      watcher = watchDir(o.dir, soon);
      // What changed before the watcher was there is seen by this look.
      soon();
    };
    const soon = (): void => {
      if (ended || nextLook !== null) return;
      const wait = lastLook + o.restMs - performance.now();
      if (wait <= 0) look();
      else nextLook = setTimeout(look, wait);
    };

    const every = setInterval(soon, o.everyMs);
    const deadline = setTimeout(
      () => {
        look();
        if (!ended) end(() => resolve(null));
      },
      // Node fires longer timers at once.
      Math.min(o.timeoutMs, 2_147_483_647),
    );
    if (o.firstMs <= 0) first();
    else nextLook = setTimeout(first, o.firstMs);
  });
}
