/**
 * What a check loads though nothing on its vector names it: packages that lie in the workspace, and configuration that
 * well-known programs find by themselves. Only what the job changed is asked about: by paths alone, nothing is read.
 */
import { basename } from "node:path";
import { loadsCode } from "./check-roles.ts";

/** Folders of installed code. Git mostly ignores them, and a name such as `npm test` leads into them. */
const INSTALLED = /(?:^|\/)(?:node_modules|bower_components|site-packages|\.?venv|\.bundle)(?:\/|$)/;
/** A word of many trades: packages only where git ignores it. */
const VENDOR = /(?:^|\/)vendor(?:\/|$)/;
/** Berry keeps the package manager itself, its plugins and the packages there, and loads a file beside `package.json` first. */
const YARN = /(?:^|\/)(?:\.yarn\/(?:releases|plugins|sdks|unplugged|cache|patches)\/|\.pnp\.[\w.]+$)/;
/** What tools write there on every run: `node_modules/.cache`, `.vite`. Of the names with a dot only these hold packages. */
const TOOL_CACHE = /(?:^|\/)node_modules\/\.(?!bin\/|pnpm\/|store\/)/;

/** A program's own file of settings, wherever it lies: most tools look beside what they judge and above it. */
const SETTINGS = [
  // `.eslintrc.json`, `.npmrc`, `.babelrc.js`, `.mocharc.yml`
  /^\.[a-z][\w-]*rc(?:\.(?:[cm]?[jt]s|json[c5]?|ya?ml|toml))?$/,
  // `vitest.config.ts`, `jest.config.ci.js`, `jest.setup.ts`: of these programs alone, since `app.config.ts` is work.
  /^(?:ava|astro|babel|c8|commitlint|cypress|esbuild|eslint|jest|karma|knip|metro|mocha|next|nightwatch|nuxt|nyc|playwright|postcss|prettier|rollup|rspack|stryker|stylelint|svelte|swc|tailwind|tap|tsdown|tsup|turbo|vite|vitest|vue|wdio|web-test-runner|webpack)\.(?:config|conf|workspace|preset|setup)(?:\.[\w-]+)?\.(?:[cm]?[jt]s|json[c5]?|ya?ml)$/,
  // What keeps a linter from looking.
  /^\.(?:eslint|prettier|stylelint|markdownlint|biome|npm|shellcheck|semgrep|snyk|golangci)ignore$/,
  /^(?:tsconfig|jsconfig)(?:[.-][\w.-]+)?\.json$/,
  /^(?:biome|deno|turbo|nx)\.jsonc?$/,
  /^(?:bunfig|pyproject|ruff|\.ruff|rustfmt|\.rustfmt|clippy|\.clippy|taplo|\.taplo|rust-toolchain)\.toml$/,
  /^(?:pytest|\.pytest|tox|mypy|\.mypy|\.isort|phpunit|\.coveragerc)(?:\.ini|\.cfg)$/,
  /^(?:setup\.cfg|\.flake8|\.pylintrc|\.coveragerc|conftest\.py|sitecustomize\.py|usercustomize\.py)$/,
  /^(?:phpunit(?:\.dist)?\.xml|phpstan(?:\.dist)?\.neon|\.rspec|\.rubocop\.yml|\.simplecov)$/,
  /^\.(?:golangci|yamllint|markdownlint(?:-cli2)?|hadolint|pre-commit-config|swiftlint|prettierrc|yarnrc)\.(?:ya?ml|toml|jsonc?)$/,
  /^(?:\.editorconfig|\.clang-format|\.clang-tidy|\.yamllint|\.env(?:\..+)?)$/,
  /^(?:build\.rs|build\.gradle(?:\.kts)?|settings\.gradle(?:\.kts)?|gradle\.properties|pom\.xml|CMakeLists\.txt|BUILD(?:\.bazel)?|WORKSPACE)$/,
];

export interface LoadedUnnamed {
  /** Code of packages in the workspace. */
  readonly installed: readonly string[];
  /** Configuration: part of the check like a file that its vector names. */
  readonly settings: readonly string[];
}

/** `changed`: paths below the root, `ignored` those of them that git ignores. Empty for a command that only looks at files. */
export function loadedUnnamed(
  argv: readonly string[],
  o: { readonly changed: readonly string[]; readonly ignored?: readonly string[] },
): LoadedUnnamed {
  const { changed } = o;
  if (changed.length === 0 || !loadsCode(argv)) return { installed: [], settings: [] };
  const ignored = new Set(o.ignored ?? []);
  const installed = changed.filter((path) => isInstalled(path) || (ignored.has(path) && VENDOR.test(path)));
  const apart = new Set(installed);
  return {
    installed,
    settings: changed.filter((path) => !apart.has(path) && !TOOL_CACHE.test(path) && isSettings(path)),
  };
}

const isInstalled = (path: string): boolean =>
  (INSTALLED.test(path) && !TOOL_CACHE.test(path)) || YARN.test(path);

const isSettings = (path: string): boolean => SETTINGS.some((names) => names.test(basename(path)));
