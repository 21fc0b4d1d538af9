/** THIRD_PARTY_NOTICES.txt: the licence text of every package that has code in the built tool. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import { ROOT } from "./repo.ts";

/** Throws when a bundled package has no licence text: such a package must not ship. */
export function noticesFor(metafiles: readonly Metafile[]): string {
  const folders = new Set<string>();
  for (const output of metafiles.flatMap((metafile) => Object.values(metafile.outputs)))
    for (const [path, { bytesInOutput }] of Object.entries(output.inputs))
      if (bytesInOutput > 0) {
        const folder = packageFolder(path);
        if (folder !== null) folders.add(folder);
      }
  const notices = [...folders].sort().map(notice);
  return `Third-party code in scripts/orchestrate.mjs and scripts/chunks/, with its licences.\n\n${notices.join("\n")}`;
}

/** `node_modules/a/node_modules/@b/c/lib/x.js` → `node_modules/a/node_modules/@b/c`; a plugin's name may stand before it. */
function packageFolder(path: string): string | null {
  return /^(?:[\w-]+:)?([^:]*node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? null;
}

function notice(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"));
  const file = readdirSync(join(ROOT, folder)).find((name) => /^(licen[cs]e|copying)(\.|-|$)/i.test(name));
  if (file === undefined || !existsSync(join(ROOT, folder, file)))
    throw new Error(`${folder} has no licence file; it must not be bundled`);
  const title = `${manifest.name} ${manifest.version} (${manifest.license})`;
  const text = readFileSync(join(ROOT, folder, file), "utf8")
    .replaceAll("\r\n", "\n")
    .trim();
  return `${title}\n${"-".repeat(title.length)}\n${text}\n`;
}
