/** Real git repositories in temporary folders, for tests only. */
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { coordinatorsGone } from "./coordinators.ts";
import { repoAt, runGit, type ThrowawayRepo } from "./repo-at.ts";

const made: string[] = [];

afterEach(async () => {
  for (const path of made.splice(0)) {
    await coordinatorsGone(path);
    rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
});

/** A temporary folder, removed after the test. */
export function temporaryFolder(prefix = "orchestrate-test-"): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  made.push(path);
  return path;
}

/** `git init` once a process; copying it is many times cheaper. */
let template: string | null = null;

function emptyRepo(): string {
  if (template === null || !existsSync(template)) {
    template = realpathSync(mkdtempSync(join(tmpdir(), "orchestrate-template-")));
    runGit(template, "init", "-q", "-b", "main", "--template=", ".");
    const held = template;
    process.on("exit", () => rmSync(held, { recursive: true, force: true }));
  }
  return template;
}

/** With `files`, has one commit that holds them; without, no commit at all. */
export function throwawayRepo(files?: Readonly<Record<string, string>>): ThrowawayRepo {
  const path = join(temporaryFolder(), "repo");
  cpSync(emptyRepo(), path, { recursive: true });
  const repo = repoAt(path);
  if (files !== undefined) {
    for (const [name, content] of Object.entries(files)) repo.write(name, content);
    repo.commit("base");
  }
  return repo;
}
