/** The payload survives every installer: no links, no names that one of them drops, nothing that is not for users. */
import { type Check, type CheckResult, type Finding, finding } from "./check.ts";
import { SKILL_FILE } from "./places.ts";

const DROPPED =
  /(^|\/)(metadata\.json|__pycache__|__pypackages__|\.git|node_modules|\.env[^/]*|evals|tests?)(\/|$)/;

export const payloadFiles: Check = {
  id: "payload-files",
  promise: "the payload holds regular files only, and none that an installer drops or a user should not get",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    let looked = 0;
    for (const [path, { link }] of files) {
      if (!path.startsWith("plugins/")) continue;
      looked += 1;
      if (link !== null)
        findings.push(
          finding(path, null, "is a symlink: installers drop it, rewrite it or leave it dangling"),
        );
      const name = DROPPED.exec(path)?.[2];
      if (name !== undefined) findings.push(finding(path, null, `\`${name}\` must not be in the payload`));
      if (/\s/.test(path)) findings.push(finding(path, null, "a path without spaces, please"));
    }
    return { looked, findings };
  },
};

export const oneSkill: Check = {
  id: "one-skill",
  promise: "the repository holds exactly one SKILL.md; every further one would be offered to users",
  step: "docs",
  run(files): CheckResult {
    const found = [...files]
      .filter(([path, { link }]) => link === null && /(^|\/)SKILL\.md$/i.test(path))
      .map(([path]) => path);
    const findings = found
      .filter((path) => path !== SKILL_FILE)
      .map((path) => finding(path, null, "is a second SKILL.md"));
    return { looked: found.length, findings };
  },
};

const LINK = "skills/orchestrate";

export const topLink: Check = {
  id: "top-link",
  promise: "skills/orchestrate leads, relative, to the payload",
  step: "docs",
  run(files): CheckResult {
    const entry = files.get(LINK);
    if (entry === undefined) return { looked: 0, findings: [] };
    const right = "../plugins/orchestrate/skills/orchestrate";
    const findings = entry.link === right ? [] : [finding(LINK, null, `must be a symlink to \`${right}\``)];
    return { looked: 1, findings };
  },
};
