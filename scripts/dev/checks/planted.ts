/**
 * Faults planted on purpose: for each check, files in which it must find exactly what it is there for. The self-test
 * runs them before any check is trusted; a check without one, or a changed number of them, fails it.
 */
import { PAYLOAD_DIR, PLUGIN_FILE, SKILL_FILE } from "./places.ts";

export interface Planted {
  readonly check: string;
  readonly fault: string;
  /** Path → content; `→ target` is a symlink. */
  readonly files: Readonly<Record<string, string>>;
  /** Part of the one message that is expected; null: the check must say that it looked at nothing. */
  readonly finds: string | null;
}

export const PLANTED_COUNT = 71;

const REF = `${PAYLOAD_DIR}references/`;
const skill = (frontmatter: string, body = ""): string =>
  `---\n${frontmatter}\n---\n\n# Orchestrate\n\n${body}\n`;
const LEGAL = "name: orchestrate\ndescription: Runs jobs.";
/** Files of every folder whose row is in question, each using what its row allows. */
const source = (path: string, text: string): Record<string, string> => ({ [`scripts/src/${path}`]: text });
const TARGETS = { ...source("core/a.ts", ""), ...source("runtimes/a.ts", ""), ...source("plan/z.ts", "") };
const plant = (
  check: string,
  fault: string,
  files: Record<string, string>,
  finds: string | null,
): Planted => ({
  check,
  fault,
  files,
  finds,
});

const IMPORTS: readonly Planted[] = [
  plant(
    "import-table",
    "an import outside the table",
    {
      ...TARGETS,
      ...source("plan/b.ts", 'import { a } from "../runtimes/a.ts";\nimport "../core/a.ts";'),
      ...source("runtimes/b.ts", 'import "../core/a.ts";'),
    },
    "`plan` may not import `runtimes`",
  ),
  plant(
    "import-table",
    "a type-only import outside the table",
    {
      ...TARGETS,
      ...source("plan/b.ts", 'import type { A } from "../runtimes/a.ts";\nimport "../core/a.ts";'),
      ...source("runtimes/b.ts", 'import "../core/a.ts";'),
    },
    "`plan` may not import `runtimes`",
  ),
  plant(
    "import-table",
    "a lazy import outside the table",
    {
      ...TARGETS,
      ...source("plan/b.ts", 'const a = await import("../runtimes/a.ts");\nimport "../core/a.ts";'),
      ...source("runtimes/b.ts", 'import "../core/a.ts";'),
    },
    "`plan` may not import `runtimes`",
  ),
  plant(
    "import-table",
    "a right nobody uses",
    { ...source("plan/b.ts", 'import { x } from "yaml";') },
    "no file of `plan` imports `core`",
  ),
  plant(
    "import-table",
    "an unknown folder",
    { ...source("extras/b.ts", 'import { x } from "yaml";') },
    "`extras` is no folder of the import table",
  ),
  plant(
    "import-table",
    "an import of a file that is not there",
    {
      ...TARGETS,
      ...source("core/b.ts", 'import "./missing.ts";'),
      ...source("plan/b.ts", 'import "../core/a.ts";'),
      ...source("runtimes/b.ts", 'import "../core/a.ts";'),
    },
    "`./missing.ts` is no file",
  ),
  plant(
    "import-table",
    "an import of development code",
    { ...source("core/b.ts", 'import "../../dev/a.ts";') },
    "leaves scripts/src",
  ),
  plant("import-table", "no source files", { "README.md": "" }, null),
  plant(
    "doors",
    "the environment read elsewhere",
    source("run/a.ts", "const home = process.env.HOME;"),
    "only host/env reads the environment",
  ),
  plant("doors", "printing elsewhere", source("run/a.ts", 'console.error("x");'), "only cli/output prints"),
  plant(
    "doors",
    "a stream written elsewhere",
    source("cli/a.ts", 'process.stdout.write("x");'),
    "only cli/output prints",
  ),
  plant("doors", "an exit elsewhere", source("cli/a.ts", "process.exit(1);"), "only main ends the process"),
  plant(
    "doors",
    "an exit code set elsewhere",
    source("cli/a.ts", "process.exitCode = 1;"),
    "only main ends the process",
  ),
  plant(
    "doors",
    "the clock read elsewhere",
    source("run/a.ts", "const t = Date.now();"),
    "only host reads the time",
  ),
  plant("doors", "a shell", source("run/a.ts", "spawn(command, { shell: true });"), "no shell strings"),
  plant("doors", "a default export", source("run/a.ts", "export default 1;"), "no default exports"),
  plant("doors", "a barrel", source("run/a.ts", 'export * from "./b.ts";'), "no barrels"),
  plant("doors", "a file named utils", source("run/utils.ts", "export const a = 1;"), "not `utils`"),
  plant("doors", "no source files", { "README.md": "" }, null),
  plant(
    "pure-folders",
    "an adapter that reads files",
    source("runtimes/a.ts", 'import { readFileSync } from "node:fs";'),
    "no adapter touches the disk",
  ),
  plant(
    "pure-folders",
    "a plan that starts processes",
    source("plan/a.ts", 'import { spawn } from "node:child_process";'),
    "this folder is pure",
  ),
  plant(
    "not-built",
    "a command that is a placeholder",
    source("cli/commands/a.ts", 'export const handler = notBuilt("a");'),
    "a command that is listed must work",
  ),
  plant("file-length", "a file that grew too long", source("run/a.ts", "\n".repeat(401)), "401 lines"),
  plant(
    "pasted-commands",
    "a path as it is",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the source of a file
    source("run/a.ts", "const fix = `mv ${path} ${path}.old`;"),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the source of a file
    "`mv ${path}` breaks at a blank: use quoteShell",
  ),
  plant(
    "pasted-commands",
    "a second path as it is, within a sentence",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the source of a file
    source("run/a.ts", "const fix = `move it: mv ${quoteShell(path)} ${place}`;"),
    "breaks at a blank",
  ),
  plant("pasted-commands", "no source at all", { "a.md": "" }, null),
];

const DOCS: readonly Planted[] = [
  plant("contracts", "a document that owns nothing", { [`${REF}extra.md`]: "# Extra" }, "owns no contract"),
  plant("contracts", "a contract without its document", { "README.md": "" }, "no document `job-spec`"),
  plant(
    "contracts",
    "a contract without its code",
    { [`${REF}job-spec.md`]: "# Job spec" },
    "no code at `scripts/src/plan/spec.ts`",
  ),
  plant(
    "stated-once",
    "the same rule in two documents",
    {
      "a.md": "A job at this tier never starts before its user has approved the exact scope.",
      "b.md": "A job at this tier never starts before its user has approved the exact scope.",
    },
    "is also stated in a.md:1",
  ),
  plant(
    "stated-once",
    "a policy number outside its owner",
    { "a.md": "We allow `MAX_PROMOTIONS_MAX` = 4 promotions." },
    "belongs into references/fallback-policy.md",
  ),
  plant(
    "generated-blocks",
    "a block that is out of step",
    { "a.md": "<!-- generated:exit-codes -->\n\n| code |\n\n<!-- /generated -->\n" },
    "differs from the code",
  ),
  plant(
    "generated-blocks",
    "a block nobody renders",
    { "a.md": "<!-- generated:nothing -->\n<!-- /generated -->\n" },
    "unknown generated block `nothing`",
  ),
  plant(
    "generated-blocks",
    "a block that is not closed",
    { "a.md": "<!-- generated:exit-codes -->\n" },
    "not closed",
  ),
  plant("generated-blocks", "no blocks at all", { "a.md": "text" }, null),
  plant("links", "a link to no file", { "a.md": "[x](b.md)" }, "leads to no file"),
  plant("links", "a link to no heading", { "a.md": "# One\n\n[x](#two)" }, "no heading `#two`"),
  plant(
    "links",
    "a heading missing in another file",
    { "a.md": "[x](b.md#two)", "b.md": "# One" },
    "no heading `#two`",
  ),
  plant("links", "an absolute link", { "a.md": "[x](/b.md)" }, "links are relative"),
  plant(
    "links",
    "a link that leaves the payload",
    { [SKILL_FILE]: "[x](../../../../README.md)", "README.md": "" },
    "leaves the payload",
  ),
  plant(
    "reachable",
    "a reference that SKILL.md does not link",
    { [SKILL_FILE]: "# Skill", [`${REF}a.md`]: "# A\n\nOwns a.\n\nRead it before b." },
    "`references/a.md` is not linked",
  ),
  plant(
    "reachable",
    "a reference that does not say what it owns",
    { [SKILL_FILE]: "[a](references/a.md)", [`${REF}a.md`]: "# A\n\nAbout a.\n\nRead it before b." },
    "must start with `Owns`",
  ),
  plant(
    "reachable",
    "a reference that does not say when to read it",
    { [SKILL_FILE]: "[a](references/a.md)", [`${REF}a.md`]: "# A\n\nOwns a.\n\nIt is long." },
    "must start with `Read`",
  ),
  plant(
    "examples",
    "a spec marked valid that is not",
    { "a.md": "<!-- example: valid spec -->\n```yaml\nversion: 2\njobs: []\n```\n" },
    "marked valid, but",
  ),
  plant(
    "examples",
    "a spec marked with another fault",
    { "a.md": "<!-- example: invalid spec no-such-code -->\n```yaml\nversion: 2\njobs: []\n```\n" },
    "marked invalid with `no-such-code`",
  ),
  plant("examples", "a YAML block without a mark", { "a.md": "```yaml\na: 1\n```\n" }, "is not marked"),
  plant(
    "examples",
    "an unknown mark",
    { "a.md": "<!-- example: nice spec -->\n```yaml\na: 1\n```\n" },
    "is no mark",
  ),
  plant(
    "examples",
    "a command that does not parse",
    { "a.md": "```sh\nnode <skill-dir>/scripts/orchestrate.mjs wiat\n```\n" },
    "`wiat` is no command",
  ),
  plant(
    "examples",
    "a flag that does not exist, in prose",
    { "a.md": "Call `node <skill-dir>/scripts/orchestrate.mjs wait --fast`." },
    "`--fast` is no flag",
  ),
  plant("examples", "JSON that is none", { "a.md": "```json\n{a: 1}\n```\n" }, "is no JSON"),
  plant("examples", "a block without a language", { "a.md": "```\nx\n```\n" }, "names its language"),
  plant(
    "named-commands",
    "a command that does not exist",
    { "README.md": "Use `orchestrate launch jobs.yaml`." },
    "names a command that does not exist",
  ),
  plant(
    "parity",
    "a plugin of another version",
    {
      "package.json": '{"name":"orchestrate","version":"2.2.0"}',
      [PLUGIN_FILE]: '{"name":"orchestrate","version":"2.1.0"}',
    },
    "version is `2.1.0`",
  ),
  plant(
    "parity",
    "an install line for another repository",
    {
      "package.json": '{"name":"orchestrate","version":"2.2.0"}',
      "README.md": "npx skills add someone/else -a codex",
    },
    "`npx skills add` is `someone/else`",
  ),
  plant(
    "tier-parity",
    "a README that names a tier by another word",
    {
      [`${PAYLOAD_DIR}references/safety-policy.md`]:
        "| R0 observe | a |\n| R1 scoped write | b |\n| R2 isolated write | c |\n| R3 external/destructive | d |\n",
      "README.md": "R0 observe, R1 scoped write, R2 isolated write, R3 external",
    },
    "does not name the tier `R3 external/destructive`",
  ),
  plant(
    "tier-parity",
    "an owner document without one of the tiers",
    { [`${PAYLOAD_DIR}references/safety-policy.md`]: "| R0 observe | a |\n" },
    "no owner document has a row for R3",
  ),
  plant(
    "frontmatter",
    "a key of one harness",
    { [SKILL_FILE]: skill(`${LEGAL}\nallowed-tools: Bash`) },
    "`allowed-tools` is no key",
  ),
  plant(
    "frontmatter",
    "a flow list",
    { [SKILL_FILE]: skill("name: orchestrate\ndescription: [a, b]") },
    "flow style",
  ),
  plant(
    "frontmatter",
    "another name",
    { [SKILL_FILE]: skill("name: conductor\ndescription: Runs jobs.") },
    "`name` must be `orchestrate`",
  ),
  plant(
    "body-traps",
    "an argument that a harness fills in",
    { [SKILL_FILE]: skill(LEGAL, "awk '{print $1}'") },
    "`$1` is substituted",
  ),
  plant(
    "body-traps",
    "a command that runs at load",
    { [SKILL_FILE]: skill(LEGAL, "see !`date`") },
    "executes at load",
  ),
  plant(
    "sizes",
    "a SKILL.md that is too long",
    { [SKILL_FILE]: skill(LEGAL, "x".repeat(8_000)) },
    "at most 8000",
  ),
  plant("payload-files", "a symlink in the payload", { [`${PAYLOAD_DIR}assets/a`]: "→ b" }, "is a symlink"),
  plant(
    "payload-files",
    "a file that an installer drops",
    { [`${PAYLOAD_DIR}assets/metadata.json`]: "{}" },
    "`metadata.json` must not be",
  ),
  plant(
    "one-skill",
    "a second SKILL.md",
    { [SKILL_FILE]: skill(LEGAL), "docs/SKILL.md": skill(LEGAL) },
    "second SKILL.md",
  ),
  plant("top-link", "a copy instead of a link", { "skills/orchestrate": "text" }, "must be a symlink"),
  plant("product-text", "a note of unfinished work", { "a.md": `TO${"DO"}: more` }, "unfinished work"),
  plant(
    "no-catalogue",
    "a model",
    { [`${REF}a.md`]: `Use cla${"ude"}-opus-4 for it.` },
    "is the name of a model",
  ),
  plant("no-catalogue", "a price", { [`${REF}a.md`]: "It costs $3 a task." }, "is a price"),
  plant("no-catalogue", "a payload without prose", { "a.md": "" }, null),
  plant("product-text", "a path of one machine", { "a.md": `see /ro${"ot"}/notes` }, "a path of one machine"),
];

export const PLANTED: readonly Planted[] = [...IMPORTS, ...DOCS];
