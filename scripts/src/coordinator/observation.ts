/** What changed while an attempt worked, and who else worked in the same checkout meanwhile. */
import { isAbsolute, relative } from "node:path";
import { INPUTS_DIR, REPORTS_DIR } from "../core/layout.ts";
import type { PlanJob } from "../core/runtime.ts";
import type { WindowPeer } from "../prove/verify.ts";
import type { Fingerprint } from "../run/changes.ts";
import { takeFingerprint } from "../run/measure.ts";
import type { Workplace } from "./workplace.ts";

interface Stay {
  readonly job: PlanJob;
  readonly root: string;
  readonly from: number;
  until: number | null;
}

export interface Observation {
  /** Content of `place.root` now. */
  measure(place: Workplace): Promise<Fingerprint>;
  enter(job: PlanJob, root: string): void;
  /** Ends the stay; returns everybody who was in the same checkout at some moment of it. */
  leave(job: PlanJob): readonly WindowPeer[];
}

export function createObservation(o: {
  runDir: string;
  /** Working folders of all jobs: dependency material is put below them. */
  cwds: readonly string[];
  mono: () => number;
}): Observation {
  const folders = [...new Set(o.cwds)];
  const stays = new Map<string, Stay>();
  let past: Stay[] = [];
  const last = new Map<string, Fingerprint>();
  return {
    async measure(place) {
      const previous = last.get(place.root);
      const taken = await takeFingerprint({
        root: place.root,
        repo: place.gitDir === null ? null : { gitDir: place.gitDir },
        exclude: excluded(place, o.runDir, folders),
        ...(previous === undefined ? {} : { previous }),
      });
      last.set(place.root, taken);
      return taken;
    },
    enter(job, root) {
      stays.set(job.id, { job, root, from: o.mono(), until: null });
    },
    leave(job) {
      const own = stays.get(job.id);
      if (own === undefined) return [];
      stays.delete(job.id);
      own.until = o.mono();
      const peers = [...stays.values(), ...past].filter(
        (stay) =>
          stay.root === own.root && stay.job.id !== job.id && (stay.until === null || stay.until >= own.from),
      );
      past.push(own);
      const oldest = Math.min(own.until, ...[...stays.values()].map((stay) => stay.from));
      past = past.filter((stay) => (stay.until ?? 0) >= oldest);
      return peers.map((stay) => peerOf(stay.job, own.root));
    },
  };
}

export function peerOf(job: PlanJob, root: string): WindowPeer {
  return {
    jobId: job.id,
    effect: job.effect,
    cwdPrefix: relative(root, job.cwd).split("\\").join("/"),
    ownedPaths: job.ownedPaths,
    outputs: job.outputs.map((output) => output.path),
  };
}

/** Our own files, the run directories of this and other runs, and dependency material are no job's work. */
function excluded(place: Workplace, runDir: string, cwds: readonly string[]): string[] {
  const below = [place.cwd, ...(place.worktree === null ? cwds : [])].flatMap((cwd) =>
    inside(place.root, cwd),
  );
  const inputs = [...new Set(below)].map((path) => (path === "" ? INPUTS_DIR : `${path}/${INPUTS_DIR}`));
  return [
    `${REPORTS_DIR}/orchestrate-*`,
    ...inputs,
    ...inside(place.root, runDir).filter((path) => path !== ""),
  ];
}

function inside(root: string, path: string): string[] {
  const way = relative(root, path);
  return way.startsWith("..") || isAbsolute(way) ? [] : [way.split("\\").join("/")];
}
