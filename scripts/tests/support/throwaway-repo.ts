/** Real git repositories in temporary folders, for tests only. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";
import { coordinatorsGone } from "./coordinators.ts";

export interface ThrowawayRepo {
  readonly path: string;
  readonly commonDir: string;
  git(...args: string[]): string;
  write(path: string, content: string | Buffer): string;
  /** Stages everything and commits; returns the commit id. */
  commit(message: string): string;
  head(): string;
}

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

const ENV = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.invalid",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.invalid",
};

export function runGit(cwd: string, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd,
    env: ENV,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
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

export function repoAt(path: string): ThrowawayRepo {
  const repo: ThrowawayRepo = {
    path,
    commonDir: join(path, ".git"),
    git: (...args) => runGit(path, ...args),
    write(name, content) {
      const target = join(path, name);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, content);
      return target;
    },
    commit(message) {
      runGit(path, "add", "-A");
      runGit(path, "commit", "-q", "--allow-empty", "-m", message);
      return repo.head();
    },
    head() {
      const ref = /^ref: (.+)$/m.exec(readFileSync(join(path, ".git/HEAD"), "utf8"))?.[1];
      const file = join(path, ".git", ref ?? "HEAD");
      return existsSync(file) ? readFileSync(file, "utf8").trim() : runGit(path, "rev-parse", "HEAD");
    },
  };
  return repo;
}
