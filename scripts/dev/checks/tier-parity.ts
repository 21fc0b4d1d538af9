/** The tiers read the same wherever they are presented: README and skill name each as the documents that own them do. */
import { type Check, type CheckResult, type Finding, finding } from "./check.ts";
import { PAYLOAD_DIR, SKILL_FILE } from "./places.ts";

const REFERENCES = `${PAYLOAD_DIR}references/`;
const OWNERS = [`${REFERENCES}safety-policy.md`, `${REFERENCES}routing-policy.md`];
const PRESENTED = ["README.md", SKILL_FILE];
/** First cell of an owner's table of tiers. */
const ROW = /^\| ((?:R[0-3]|C[1-3]) [a-z][a-z/ -]*?) \|/gm;

export const tierParity: Check = {
  id: "tier-parity",
  promise: "README and SKILL.md name every risk and capability tier as its owner document does",
  step: "docs",
  run(files): CheckResult {
    const tiers = OWNERS.flatMap((path) =>
      [...(files.get(path)?.text ?? "").matchAll(ROW)].map((match) => ({ path, name: match[1] as string })),
    );
    const findings: Finding[] = [];
    for (const path of PRESENTED) {
      const text = files.get(path)?.text;
      if (text === undefined) continue;
      for (const tier of tiers)
        if (!text.replace(/\s+/g, " ").includes(tier.name))
          findings.push(finding(path, null, `does not name the tier \`${tier.name}\` of ${tier.path}`));
    }
    const known = new Set(tiers.map(({ name }) => name.slice(0, 2)));
    for (const id of tiers.length === 0 ? [] : ["R0", "R1", "R2", "R3", "C1", "C2", "C3"])
      if (!known.has(id))
        findings.push(finding(OWNERS[0] as string, null, `no owner document has a row for ${id}`));
    return { looked: tiers.length, findings };
  },
};
