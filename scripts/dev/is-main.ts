import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** True when `url` (a module's `import.meta.url`) is the program that Node was started with. */
export function isMain(url: string): boolean {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === realpathSync(fileURLToPath(url));
}
