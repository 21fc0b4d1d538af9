/** Each contract has one owner document and one place in the code; a rule is stated once. */
import { POLICY, type PolicyConstant } from "../../src/core/policy.ts";
import { type Check, type CheckResult, type Finding, finding, lineAt, matching } from "./check.ts";
import { readMarkdown } from "./markdown.ts";
import { DOCUMENTS, PAYLOAD_DIR } from "./places.ts";

export interface Contract {
  readonly contract: string;
  /** Name of the document in `references/` (or `runtimes/README`), without `.md`. */
  readonly document: string;
  /** File or folder that implements it. */
  readonly code: string;
}

const SRC = "scripts/src/";

/** Contract → the document that states it → the code that keeps it. */
export const CONTRACTS: readonly Contract[] = [
  {
    contract: "job spec: fields, defaults, diagnostics, limits",
    document: "job-spec",
    code: `${SRC}plan/spec.ts`,
  },
  {
    contract: "risk tiers, minimum controls, approvals, isolation, secrets",
    document: "safety-policy",
    code: `${SRC}plan/tier.ts`,
  },
  {
    contract: "route selection: filter, capability floors, ranking, chain",
    document: "routing-policy",
    code: `${SRC}plan/route.ts`,
  },
  {
    contract: "event envelope, kinds and bounds",
    document: "event-protocol",
    code: `${SRC}evidence/events-log.ts`,
  },
  {
    contract: "run directory: files, states, transitions",
    document: "output-layout",
    code: `${SRC}state/machine.ts`,
  },
  {
    contract: "adapter interface and declared runtimes",
    document: "runtime-adapter-contract",
    code: `${SRC}runtimes/adapter.ts`,
  },
  {
    contract: "in-session jobs: actions and answers",
    document: "internal-routing",
    code: `${SRC}runtimes/internal.ts`,
  },
  {
    contract: "failure classes, hard stops, exit codes",
    document: "failure-modes",
    code: `${SRC}core/runtime.ts`,
  },
  {
    contract: "decision plane: classifiers, leave, credentials, the six questions",
    document: "decision-plane",
    code: `${SRC}plane/tasks.ts`,
  },
  {
    contract: "retry, quota wait, promotion and their bound",
    document: "fallback-policy",
    code: `${SRC}plan/failure.ts`,
  },
  {
    contract: "inventory record, reuse, smoke, onboarding",
    document: "runtime-profile",
    code: `${SRC}run/inventory.ts`,
  },
  {
    contract: "what is done to a job's process",
    document: "dispatch-hardening",
    code: `${SRC}run/supervise.ts`,
  },
  { contract: "layer 1, verdicts, acceptance", document: "verification", code: `${SRC}prove/verify.ts` },
];

export const contracts: Check = {
  id: "contracts",
  promise: "every contract has its document and its code, and every document owns a contract",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const registry = "scripts/dev/checks/contracts.ts";
    for (const { contract, document, code } of CONTRACTS) {
      if (!files.has(documentPath(document)))
        findings.push(finding(registry, null, `\`${contract}\`: no document \`${document}\``));
      if (!files.has(code)) findings.push(finding(registry, null, `\`${contract}\`: no code at \`${code}\``));
    }
    for (const [path] of matching(files, REFERENCES))
      if (!CONTRACTS.some(({ document }) => documentPath(document) === path))
        findings.push(finding(path, null, "owns no contract of the registry"));
    return { looked: CONTRACTS.length, findings };
  },
};

const REFERENCES = new RegExp(`^${PAYLOAD_DIR}references/[^/]+\\.md$`);
const documentPath = (name: string): string => `${PAYLOAD_DIR}references/${name}.md`;

/** A statement of fewer words is a phrase, not a rule. */
const RULE_WORDS = 12;

export const statedOnce: Check = {
  id: "stated-once",
  promise: "no rule and no policy number is stated in two documents",
  step: "docs",
  run(files): CheckResult {
    const findings: Finding[] = [];
    const homes = new Map<string, { readonly path: string; readonly line: number }>();
    let looked = 0;
    for (const [path, text] of matching(files, DOCUMENTS)) {
      looked += 1;
      findings.push(...constantsElsewhere(path, text));
      for (const { text: statement, line } of readMarkdown(text).statements)
        for (const sentence of sentences(statement)) {
          looked += 1;
          const home = homes.get(sentence);
          if (home === undefined) homes.set(sentence, { path, line });
          else if (home.path !== path)
            findings.push(finding(path, line, `is also stated in ${home.path}:${home.line}: link to it`));
        }
    }
    return { looked, findings };
  },
};

function sentences(statement: string): string[] {
  return statement
    .split(/(?<=[.;:!?])\s+/)
    .map((part) =>
      part
        .toLowerCase()
        .replace(/[^a-z0-9 ]+/g, " ")
        .replace(/\s+/g, " ")
        .trim(),
    )
    .filter((part) => part.split(" ").length >= RULE_WORDS);
}

/** A constant's name with a value beside it belongs into its owner's table alone. */
function constantsElsewhere(path: string, text: string): Finding[] {
  const findings: Finding[] = [];
  for (const [name, { owner }] of Object.entries(POLICY as Readonly<Record<string, PolicyConstant>>)) {
    if (path === documentPath(owner)) continue;
    const stated = new RegExp(`\\b${name}\\b\`?\\s*(?:=|:|is|\\|)\\s*\`?[\\d"]`, "g");
    for (const match of text.matchAll(stated))
      findings.push(
        finding(
          path,
          lineAt(text, match.index),
          `the value of \`${name}\` belongs into references/${owner}.md`,
        ),
      );
  }
  return findings;
}
