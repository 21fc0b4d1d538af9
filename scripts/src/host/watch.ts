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
 * Resolves with the first non-null answer of `look`, asked at once, after each change in `dir` and every `everyMs`; null
 * when `timeoutMs` have passed. Rejects when `look` throws.
 */
export function waitInDir<T>(o: {
  dir: string;
  look: () => T | null;
  timeoutMs: number;
  everyMs: number;
}): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let watcher: DirWatch | null = null;
    const timers: NodeJS.Timeout[] = [];
    let ended = false;
    const end = (settle: () => void): void => {
      if (ended) return;
      ended = true;
      watcher?.close();
      for (const timer of timers) clearTimeout(timer);
      settle();
    };
    const look = (): boolean => {
      if (ended) return true;
      try {
        const answer = o.look();
        if (answer !== null) end(() => resolve(answer));
      } catch (error) {
        end(() => reject(error));
      }
      return ended;
    };
    if (look()) return;
    watcher = watchDir(o.dir, look);
    timers.push(setInterval(look, o.everyMs));
    // Node fires longer timers at once.
    timers.push(setTimeout(() => look() || end(() => resolve(null)), Math.min(o.timeoutMs, 2_147_483_647)));
    // What changed while the watcher was being set up.
    look();
  });
}
