/** A git repository at a place, for tests and for the tools that show their failures again. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface ThrowawayRepo {
  readonly path: string;
  readonly commonDir: string;
  git(...args: string[]): string;
  write(path: string, content: string | Buffer): string;
  /** Stages everything and commits; returns the commit id. */
  commit(message: string): string;
  head(): string;
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
