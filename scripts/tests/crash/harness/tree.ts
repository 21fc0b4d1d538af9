/** Every byte below a folder, as a value that can be compared. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Paths below a folder, deepest last; links are named, not followed. */
export function entriesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? [path, ...entriesBelow(path)] : [path];
    });
}

/** Path → kind, mode, time of the last change and content of everything below `folder`. */
export function treeDigest(folder: string): Record<string, string> {
  return Object.fromEntries(
    entriesBelow(folder).map((path) => {
      const stat = lstatSync(path, { bigint: true });
      const content = stat.isFile() ? readFileSync(path) : stat.isSymbolicLink() ? readlinkSync(path) : "";
      const digest = createHash("sha256").update(content).digest("hex");
      return [path, `${stat.mode.toString(8)} ${stat.isFile() ? stat.mtimeNs : ""} ${digest}`];
    }),
  );
}
