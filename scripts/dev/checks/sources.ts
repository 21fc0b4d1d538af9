/** Rules of every tracked text: nothing unfinished, nothing that belongs to one machine, nothing overlong. */
import { type Check, type CheckResult, type Finding, finding, hits, lineAt, matching } from "./check.ts";

/** Words are put together here, so that this file does not break its own rule. */
const word = (...parts: readonly string[]): string => parts.join("");

const UNFINISHED = new RegExp(
  `\\b(?:${[word("TO", "DO"), word("FIX", "ME"), word("X", "XX")].join("|")})\\b|@ts-${word("ig", "nore")}|\\b(?:it|test|describe)\\.(?:skip|only|todo)\\b`,
  "g",
);
const MACHINE = new RegExp(
  [
    `/${word("wo", "rk")}/(?:main|shared)\\b`,
    `/${word("ro", "ot")}/`,
    `/${word("fa", "rm")}/`,
    `/tmp/${word("or", "c")}\\b`,
    "/home/(?!user\\b|me\\b|u\\b|agent\\b|someone\\b)[a-z]\\w*/",
  ].join("|"),
  "g",
);

const TEXT = /\.(ts|mts|js|json|md|yaml|yml|sh|py)$|^\.ci\/run$|^\.env\.example$|^\.gitignore$/;
const BUILT = /^plugins\/.*\/(scripts|assets)\/|^package-lock\.json$|THIRD_PARTY_NOTICES/;

export const productText: Check = {
  id: "product-text",
  promise: "no tracked text holds unfinished work, a skipped test or the paths of one machine",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, TEXT)) {
      if (BUILT.test(path) || path.startsWith("scripts/dev/checks/planted")) continue;
      looked += 1;
      findings.push(...hits(path, text, UNFINISHED, (hit) => `\`${hit}\` means unfinished work`));
      findings.push(...hits(path, text, MACHINE, (hit) => `\`${hit}\` is a path of one machine`));
    }
    return { looked, findings };
  },
};

export const notBuilt: Check = {
  id: "not-built",
  promise: "every command in the table is built",
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, /^scripts\/src\/cli\/commands\/.*\.ts$/)) {
      looked += 1;
      const at = text.indexOf("notBuilt(");
      if (at !== -1) findings.push(finding(path, lineAt(text, at), "a command that is listed must work"));
    }
    return { looked, findings };
  },
};

/** A command with a path in it, as a person is told to type it, up to the first value that is put in as it is. */
const BARE_WORD =
  /(?:[`&:;] ?)(?:mv|rm|cp|cd|chmod|du|git -C|git config|git worktree)\b[^`\n&]*?\$\{(?!quoteShell\()[^}]*\}/g;

export const pastedCommands: Check = {
  id: "pasted-commands",
  promise: "a command that people are told to type takes its paths quoted for a shell",
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, /^scripts\/src\/.*\.ts$/)) {
      looked += 1;
      findings.push(
        ...hits(
          path,
          text,
          BARE_WORD,
          (hit) => `\`${hit.slice(1).trim()}\` breaks at a blank: use quoteShell`,
        ),
      );
    }
    return { looked, findings };
  },
};

const FILE_LINES = 400;

/** Longer files that were looked at and stay, with the reason. */
const LONG_FILES: Readonly<Record<string, string>> = {
  "scripts/src/cli/commands.ts": "one table",
  "scripts/src/core/secret-patterns.ts": "one table",
};

export const fileLength: Check = {
  id: "file-length",
  promise: `no source file is longer than ${FILE_LINES} lines without a reason`,
  step: "imports",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, /^scripts\/(src|dev)\/(?!.*generated\/).*\.ts$/)) {
      looked += 1;
      const lines = text.split("\n").length - 1;
      if (lines > FILE_LINES && LONG_FILES[path] === undefined)
        findings.push(finding(path, null, `${lines} lines: split it, or give the reason in sources.ts`));
    }
    return { looked, findings };
  },
};
