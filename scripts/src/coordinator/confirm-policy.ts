/** `approve --policy` and `deny --policy`: the user's word on what a project's own files claim, kept in the home. */

import { dirname } from "node:path";
import { err, ok, type Result } from "../core/result.ts";
import { quoteShell } from "../core/shell-quote.ts";
import { TOOL } from "../core/tool-word.ts";
import { type Clock, isoTime } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { ensureDir, errorCode, readTextIfPresent, replaceFile } from "../host/files.ts";
import {
  type ConfirmedEntry,
  type ConfirmedFile,
  NO_CONFIRMATIONS,
  parseConfirmed,
  withConfirmed,
  withoutConfirmed,
} from "../plan/confirmations.ts";
import { type Claimable, confirmedPath, loadConfig } from "./load-config.ts";
import { workspaceRoot } from "./workspace-root.ts";

/** A shorter beginning of a digest could be guessed into another entry. */
const SHORTEST_HASH = 12;

export interface ConfirmFault {
  readonly code: "unknown-policy-hash" | "bad-policy-hash" | "confirmations-unreadable" | "home-unwritable";
  readonly message: string;
  readonly fix: string;
}

/** Confirms, or takes back, the entry or the whole file that `hash` (a digest or at least 12 digits of one) names. */
export function confirmPolicy(o: {
  readonly hash: string;
  readonly verb: "approve" | "deny";
  readonly env: Environment;
  readonly clock: Clock;
}): Result<
  { readonly entries: readonly Claimable[]; readonly changed: number; readonly file: string },
  ConfirmFault
> {
  const hash = o.hash.toLowerCase();
  if (!/^[0-9a-f]*$/.test(hash) || hash.length < SHORTEST_HASH || hash.length > 64)
    return err({
      code: "bad-policy-hash",
      message: `\`${o.hash}\` is no digest: ${SHORTEST_HASH} to 64 hexadecimal digits are expected.`,
      fix: `${TOOL} policy show`,
    });
  const root = workspaceRoot(o.env.cwd);
  const config = loadConfig({ root, home: o.env.home, now: o.clock.now() });
  const named = config.claimable.filter(
    (one) => one.digest.startsWith(hash) || one.fileSha256.startsWith(hash),
  );
  if (named.length === 0)
    return err({
      code: "unknown-policy-hash",
      message: `No entry of a project file below \`${root}\` has the digest \`${o.hash}\`: it may have been changed since it was shown.`,
      fix: `${TOOL} policy show`,
    });
  const stored = readStored(o.env.home);
  if (!stored.ok) return stored;
  const before = stored.value;
  const after =
    o.verb === "approve"
      ? withConfirmed(
          before,
          named.map(
            (one): ConfirmedEntry => ({
              digest: one.digest,
              kind: one.kind,
              project: root,
              words: one.words,
              at: isoTime(o.clock.now()),
              attested: !o.env.stdoutIsTty,
            }),
          ),
        )
      : withoutConfirmed(before, new Set(named.map((one) => one.digest)));
  const changed = Math.abs(after.entries.length - before.entries.length);
  const file = confirmedPath(o.env.home);
  if (changed > 0)
    try {
      ensureDir(dirname(file));
      replaceFile(file, `${JSON.stringify(after, null, 1)}\n`);
    } catch (error) {
      return err({
        code: "home-unwritable",
        message: `\`${file}\` cannot be written: ${errorCode(error) ?? String(error)}.`,
        fix: `make \`${dirname(file)}\` writable`,
      });
    }
  return ok({ entries: named, changed, file });
}

function readStored(home: string): Result<ConfirmedFile, ConfirmFault> {
  const path = confirmedPath(home);
  const text = readTextIfPresent(path);
  if (text === null) return ok(NO_CONFIRMATIONS);
  const parsed = parseConfirmed(text);
  return parsed.ok
    ? parsed
    : err({
        code: "confirmations-unreadable",
        message: `\`${path}\` ${parsed.error}: nothing is written over it.`,
        fix: `move it away: mv ${quoteShell(path)} ${quoteShell(path)}.old`,
      });
}
