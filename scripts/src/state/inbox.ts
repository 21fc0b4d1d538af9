/**
 * Commands for a coordinator: one synced file each in `inbox/`, answered in `inbox/answered/`. A command's id is a ULID
 * whose last part is the digest of its content, so the same command is recognized by its file name alone.
 */
import { join } from "node:path";
import canonicalize from "canonicalize";
import type { InboxCommand, InboxFile } from "../core/generated/inbox.ts";
import { validate } from "../core/generated/inbox.validate.js";
import { RUN_FILES } from "../core/layout.ts";
import { type Clock, isoTime, systemClock } from "../host/clock.ts";
import { systemDisk } from "../host/disk.ts";
import { ensureDir, errorCode, replaceFile, sha256 } from "../host/files.ts";
import { waitInDir } from "../host/watch.ts";
import { ioFault, StateFaultError } from "./fault.ts";

export type { InboxCommand };

export interface PendingCommand {
  readonly id: string;
  readonly command: InboxCommand;
  readonly path: string;
}

const ANSWERED = "answered";
const FILE = /^([0-9A-HJKMNP-TV-Z]{26})\.json$/;
/** Larger files were not written by `submit`; callers bound what they inline. */
const MAX_BYTES = 16 * 1024 * 1024;
const POLL_MS = 100;

/** These may be given again later and then mean it again; all others name an attempt, a scope or a nonce. */
const REPEATABLE: ReadonlySet<InboxCommand["kind"]> = new Set(["cancel", "retry"]);

/**
 * Resolves with the command's id once its file is durable. A command that is pending keeps its id; so does one that was
 * answered with `{ok: true}`, unless it is a cancel or a retry. Rejects with `StateFaultError` (`io`).
 */
export async function submit(
  runDir: string,
  command: InboxCommand,
  clock: Clock = systemClock,
): Promise<string> {
  const dir = join(runDir, RUN_FILES.inbox);
  const digest = digestPart(command);
  try {
    ensureDir(join(dir, ANSWERED));
    const known = names(dir).find((id) => id.endsWith(digest));
    if (known !== undefined) return known;
    if (!REPEATABLE.has(command.kind)) {
      const done = names(join(dir, ANSWERED)).find((id) => id.endsWith(digest) && wasApplied(dir, id));
      if (done !== undefined) return done;
    }
    const now = clock.now();
    const id = timePart(now) + digest;
    const file: InboxFile = { schemaVersion: 1, id, at: isoTime(now), command };
    replaceFile(join(dir, `${id}.json`), `${JSON.stringify(file)}\n`);
    return id;
  } catch (error) {
    throw new StateFaultError(ioFault("write", error, dir));
  }
}

/** Oldest first. Files that are no command of this version are left alone: nobody waits for them. */
export function pendingCommands(runDir: string): PendingCommand[] {
  const dir = join(runDir, RUN_FILES.inbox);
  const answered = new Set(names(join(dir, ANSWERED)));
  const found: PendingCommand[] = [];
  for (const id of names(dir).sort()) {
    const path = join(dir, `${id}.json`);
    const file = answered.has(id) ? null : readCommand(path, id);
    if (file !== null) found.push({ id, command: file.command, path });
  }
  return found;
}

/** Makes the answer durable, then takes the command away. The first answer stands. Throws `StateFaultError`. */
export function answerCommand(runDir: string, id: string, result: unknown): void {
  const dir = join(runDir, RUN_FILES.inbox);
  try {
    ensureDir(join(dir, ANSWERED));
    if (readAnswer(dir, id) === null)
      replaceFile(
        answerPath(dir, id),
        `${JSON.stringify({ schemaVersion: 1, id, result: result ?? null })}\n`,
      );
    systemDisk.remove(join(dir, `${id}.json`));
  } catch (error) {
    throw new StateFaultError(ioFault("write", error, dir));
  }
}

/** The answer; null when the time is over, or when nobody coordinates any more and none was left. */
export async function awaitAnswer(
  runDir: string,
  id: string,
  o: { timeoutMs: number; coordinatorAlive: () => boolean },
): Promise<unknown | null> {
  const dir = join(runDir, RUN_FILES.inbox);
  ensureDir(join(dir, ANSWERED));
  const look = (): { result: unknown } | null => {
    const alive = o.coordinatorAlive();
    // Asked in this order, an answer given just before the end is still seen.
    return readAnswer(dir, id) ?? (alive ? null : { result: null });
  };
  const answer = await waitInDir({
    dir: join(dir, ANSWERED),
    look,
    timeoutMs: o.timeoutMs,
    everyMs: POLL_MS,
    restMs: 5,
    firstMs: 0,
  });
  return answer === null ? null : answer.result;
}

const answerPath = (dir: string, id: string): string => join(dir, ANSWERED, `${id}.json`);

function names(dir: string): string[] {
  try {
    return systemDisk.list(dir).flatMap((name) => FILE.exec(name)?.[1] ?? []);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

function readCommand(path: string, id: string): InboxFile | null {
  const value = readJson(path);
  return validate(value) && (value as InboxFile).id === id ? (value as InboxFile) : null;
}

function readAnswer(dir: string, id: string): { result: unknown } | null {
  const value = readJson(answerPath(dir, id));
  return typeof value === "object" && value !== null && "result" in value ? { result: value.result } : null;
}

function wasApplied(dir: string, id: string): boolean {
  const result = readAnswer(dir, id)?.result;
  return typeof result === "object" && result !== null && "ok" in result && result.ok === true;
}

/** Null for whatever is not a readable JSON file of a sane size. */
function readJson(path: string): unknown {
  try {
    if ((systemDisk.stamp(path)?.size ?? 0) > MAX_BYTES) return null;
    const bytes = systemDisk.read(path);
    return bytes === null ? null : JSON.parse(bytes.toString("utf8"));
  } catch {
    return null;
  }
}

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function base32(value: bigint, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest >>= 5n) text = ALPHABET[Number(rest & 31n)] + text;
  return text;
}

const timePart = (ms: number): string => base32(BigInt(Math.max(0, Math.trunc(ms))), 10);

/** 80 bits of the SHA-256 of the canonical command. */
const digestPart = (command: InboxCommand): string =>
  base32(BigInt(`0x${sha256(canonicalize(command) ?? "").slice(0, 20)}`), 16);
