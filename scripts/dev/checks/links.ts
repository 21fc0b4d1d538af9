/** Links: files exist, anchors exist, nothing in the payload points out of it, every reference is one step away. */
import { posix } from "node:path";
import { type Check, type CheckResult, type Files, type Finding, finding, matching } from "./check.ts";
import { type Document, readMarkdown } from "./markdown.ts";
import { DOCUMENTS, PAYLOAD_DIR, SKILL_FILE } from "./places.ts";

export const links: Check = {
  id: "links",
  promise: "every relative link and #anchor in a document resolves",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const read = new Map<string, Document>();
    const documentAt = (path: string): Document | null => {
      const content = files.get(path);
      if (content === undefined) return null;
      if (!read.has(path)) read.set(path, readMarkdown(content.text));
      return read.get(path) ?? null;
    };
    let looked = 0;
    for (const [path, text] of matching(files, DOCUMENTS)) {
      for (const link of readMarkdown(text).links) {
        if (/^[a-z][a-z0-9+.-]*:/i.test(link.target)) continue;
        looked += 1;
        const problem = linkProblem(files, path, link.target, documentAt);
        if (problem !== null) findings.push(finding(path, link.line, problem));
      }
    }
    return { looked, findings };
  },
};

function linkProblem(
  files: Files,
  path: string,
  target: string,
  documentAt: (path: string) => Document | null,
): string | null {
  const [file = "", anchor] = target.split("#", 2);
  if (file.startsWith("/")) return `\`${target}\` is absolute: links are relative`;
  const to = file === "" ? path : posix.normalize(posix.join(posix.dirname(path), file)).replace(/\/$/, "");
  if (path.startsWith(PAYLOAD_DIR) && !`${to}/`.startsWith(PAYLOAD_DIR))
    return `\`${target}\` leaves the payload: it is dead after an install`;
  if (!exists(files, to)) return `\`${target}\` leads to no file`;
  if (anchor === undefined || anchor === "" || !to.endsWith(".md")) return null;
  return documentAt(to)?.anchors.has(anchor) === true ? null : `\`${target}\`: no heading \`#${anchor}\``;
}

function exists(files: Files, path: string): boolean {
  if (files.has(path) || path === "." || path === "") return true;
  for (const known of files.keys()) if (known.startsWith(`${path}/`)) return true;
  return false;
}

export const reachable: Check = {
  id: "reachable",
  promise:
    "SKILL.md links every reference directly, and each says first what it owns and then when to read it",
  step: "docs",
  run(files): CheckResult {
    const skill = files.get(SKILL_FILE)?.text ?? "";
    const targets = new Set(
      readMarkdown(skill).links.map(({ target }) => posix.join(PAYLOAD_DIR, target.split("#")[0] ?? "")),
    );
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, text] of matching(files, REFERENCE)) {
      looked += 1;
      if (!targets.has(path))
        findings.push(finding(SKILL_FILE, null, `\`${path.slice(PAYLOAD_DIR.length)}\` is not linked`));
      if (!path.includes("/references/")) continue;
      const [title = "", owns = "", when = ""] = text.split("\n").filter((line) => line.trim() !== "");
      if (!title.startsWith("# ")) findings.push(finding(path, 1, "starts with no `# ` title"));
      if (!/^Owns\b/.test(owns))
        findings.push(finding(path, 2, "the first line under the title must start with `Owns`"));
      if (!/^Read\b/.test(when))
        findings.push(finding(path, 3, "the second line must start with `Read` and say before which act"));
    }
    return { looked, findings };
  },
};

const REFERENCE = new RegExp(`^${PAYLOAD_DIR}(?:references/[^/]+|runtimes/README)\\.md$`);
