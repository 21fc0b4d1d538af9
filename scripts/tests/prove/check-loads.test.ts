import { describe, expect, it } from "vitest";
import { loadedUnnamed } from "../../src/prove/check-loads.ts";

const RUNNERS = [
  ["npm", "test"],
  ["npx", "eslint", "src"],
  ["pnpm", "run", "check"],
  ["yarn", "vitest"],
  ["tsc", "--noEmit"],
  ["python3", "-m", "pytest"],
  ["sh", "-c", "npm test"],
  ["make", "check"],
];

/** They take nothing from packages or settings of the workspace. */
const LOOKERS = [
  ["test", "-s", "out.md"],
  ["grep", "-q", "done", "out.md"],
  ["python3", "-m", "py_compile", "a.py"],
  ["node", "--check", "a.js"],
  ["git", "diff", "--check"],
  ["env", "A=1", "cat", "x"],
];

const INSTALLED = [
  "node_modules",
  "node_modules/.bin/eslint",
  "node_modules/eslint/lib/api.js",
  "packages/a/node_modules/x/index.js",
  "node_modules/x/tsconfig.json",
  "node_modules/.pnpm/x@1/node_modules/x/index.js",
  ".venv/lib/python3.12/site-packages/pytest/__init__.py",
  "venv/bin/pytest",
  ".yarn/releases/yarn-4.cjs",
  ".pnp.cjs",
];

const SETTINGS = [
  ".npmrc",
  ".yarnrc.yml",
  ".env",
  "eslint.config.js",
  "src/.eslintrc.json",
  ".eslintignore",
  "vitest.config.ts",
  "jest.config.ci.js",
  "tsconfig.build.json",
  "biome.json",
  "pyproject.toml",
  "pytest.ini",
  "tests/conftest.py",
  "setup.cfg",
  "build.rs",
];

const WORK = [
  "src/a.js",
  "src/config.ts",
  "src/app.config.ts",
  "src/vendor/page.tsx",
  "docs/setup.md",
  "node_modules/.cache/babel/1.json",
  "node_modules/.vite/deps/x.js",
  "node_modules/.cache/tool/tsconfig.json",
  "node_modules/.package-lock.json",
  "lib/environment.py",
];

describe("what a check loads though nothing names it", () => {
  it("is of the work's changes the packages in the workspace and the settings that programs find, for all that loads any", () => {
    for (const argv of RUNNERS)
      expect([argv, loadedUnnamed(argv, { changed: [...WORK, ...INSTALLED, ...SETTINGS] })]).toEqual([
        argv,
        { installed: INSTALLED, settings: SETTINGS },
      ]);
  });

  it("is nothing for a command that only looks at files", () => {
    for (const argv of LOOKERS)
      expect([argv, loadedUnnamed(argv, { changed: [...INSTALLED, ...SETTINGS] })]).toEqual([
        argv,
        { installed: [], settings: [] },
      ]);
  });

  it("takes `vendor` for packages only where git ignores it", () => {
    const changed = ["vendor/bin/phpunit", "app/vendor/list.ts"];
    expect(loadedUnnamed(["make"], { changed, ignored: ["vendor/bin/phpunit"] }).installed).toEqual([
      "vendor/bin/phpunit",
    ]);
  });
});
