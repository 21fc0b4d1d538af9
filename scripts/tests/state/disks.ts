/** The real disk, watched: counts what is done to it, or fails at a chosen call. */
import { type Disk, systemDisk } from "../../src/host/disk.ts";

type Call = "openNew" | "openAppend" | "write" | "rename" | "truncate" | "sync" | "syncData" | "syncDir";
const CALLS: readonly Call[] = [
  "openNew",
  "openAppend",
  "write",
  "rename",
  "truncate",
  "sync",
  "syncData",
  "syncDir",
];

export interface WatchedDisk extends Disk {
  readonly calls: Call[];
  readonly bytes: { journal: number; all: number };
  /** The next call of that kind fails once with that code. */
  failAt(call: Call, code: string): void;
  count(call: Call): number;
}

export function watchedDisk(): WatchedDisk {
  const calls: Call[] = [];
  const bytes = { journal: 0, all: 0 };
  const journals = new Set<number>();
  let failing: { call: Call; code: string } | null = null;
  const disk = { ...systemDisk } as Disk & Record<Call, (...args: never[]) => unknown>;
  for (const call of CALLS) {
    const real = systemDisk[call] as (...args: unknown[]) => unknown;
    disk[call] = ((...args: unknown[]) => {
      calls.push(call);
      if (failing?.call === call) {
        const error = Object.assign(new Error(failing.code), { code: failing.code });
        failing = null;
        // The asynchronous ones fail as the system's do: later.
        if (call.startsWith("sync")) return Promise.reject(error);
        throw error;
      }
      const result = real(...args);
      if (call === "openAppend") journals.add(result as number);
      if (call === "write") {
        const { length } = args[1] as Uint8Array;
        bytes.all += length;
        if (journals.has(args[0] as number)) bytes.journal += length;
      }
      return result;
    }) as never;
  }
  return {
    ...disk,
    calls,
    bytes,
    failAt: (call, code) => {
      failing = { call, code };
    },
    count: (call) => calls.filter((made) => made === call).length,
  };
}
