/** Name and version are the same wherever they stand. */
import { parse } from "yaml";
import { type Check, type CheckResult, type Files, type Finding, finding } from "./check.ts";
import { MARKETPLACE_FILE, PLUGIN_FILE, SKILL_FILE } from "./places.ts";

const REPOSITORY = "bestagentkits/orchestrate";

interface Stated {
  readonly path: string;
  readonly what: string;
  readonly value: unknown;
  readonly expected: string;
}

export const parity: Check = {
  id: "parity",
  promise:
    "package.json, plugin.json, marketplace.json, SKILL.md, the tool and the README agree on name and version",
  step: "docs",
  run(files): CheckResult {
    if (!files.has("package.json")) return { looked: 0, findings: [] };
    const { name, version } = json(files, "package.json");
    const stated = statedIn(files, String(name), String(version));
    const findings: Finding[] = stated
      .filter(({ value, expected }) => value !== expected)
      .map(({ path, what, value, expected }) =>
        finding(path, null, `${what} is \`${String(value)}\`, but \`${expected}\` elsewhere`),
      );
    return { looked: stated.length, findings };
  },
};

function statedIn(files: Files, name: string, version: string): Stated[] {
  const plugin = json(files, PLUGIN_FILE);
  const market = json(files, MARKETPLACE_FILE);
  const entry = Array.isArray(market["plugins"]) ? (market["plugins"][0] ?? {}) : {};
  const skill = frontmatterOf(files);
  const version_ts = "scripts/src/core/generated/version.ts";
  const readme = files.get("README.md")?.text ?? "";
  return [
    { path: PLUGIN_FILE, what: "name", value: plugin["name"], expected: name },
    { path: PLUGIN_FILE, what: "version", value: plugin["version"], expected: version },
    { path: MARKETPLACE_FILE, what: "name", value: market["name"], expected: name },
    { path: MARKETPLACE_FILE, what: "plugin name", value: entry.name, expected: name },
    { path: MARKETPLACE_FILE, what: "source", value: entry.source, expected: `./plugins/${name}` },
    { path: SKILL_FILE, what: "name", value: skill["name"], expected: name },
    { path: SKILL_FILE, what: "metadata.version", value: skill.metadata?.version, expected: version },
    { path: version_ts, what: "VERSION", value: quotedIn(files, version_ts), expected: version },
    ...readmeLines(readme, name, version),
  ];
}

/** Install lines of the README name the repository and the plugin; a version there is the current one. */
function readmeLines(readme: string, name: string, version: string): Stated[] {
  const stated: Stated[] = [];
  const at = (what: string, value: unknown, expected: string): void => {
    stated.push({ path: "README.md", what, value, expected });
  };
  for (const [, repo] of readme.matchAll(/npx skills add (\S+)/g)) at("`npx skills add`", repo, REPOSITORY);
  for (const [, repo] of readme.matchAll(/plugin marketplace add ([^\s`]+)/g))
    at("`plugin marketplace add`", repo, REPOSITORY);
  for (const [, plugin] of readme.matchAll(/plugin (?:install|add) ([\w.-]+@[\w.-]+)/g))
    at("plugin id", plugin, `${name}@${name}`);
  for (const [, shown] of readme.matchAll(/\borchestrate (\d+\.\d+\.\d+)\b/g)) at("version", shown, version);
  return stated;
}

function json(files: Files, path: string): Record<string, unknown> {
  try {
    return JSON.parse(files.get(path)?.text ?? "{}");
  } catch {
    return {};
  }
}

function frontmatterOf(files: Files): { name?: unknown; metadata?: { version?: unknown } } {
  const block = /^---\n([\s\S]*?)\n---\n/.exec(files.get(SKILL_FILE)?.text ?? "")?.[1] ?? "{}";
  try {
    return parse(block);
  } catch {
    return {};
  }
}

const quotedIn = (files: Files, path: string): string | undefined =>
  /VERSION = "([^"]+)"/.exec(files.get(path)?.text ?? "")?.[1];
