/** What a look for a probe target found, in words. */
import type { TargetFinding } from "../run/find-targets.ts";

/** One sentence for a person. */
export function targetText(finding: TargetFinding): string {
  if (finding.binary === null) return `${finding.id}: not on PATH; a probe target, nothing dispatches to it`;
  const who =
    finding.program === null
      ? `none of the programs known by that name (${finding.known.join(", ")})`
      : finding.program;
  const version = finding.version === null ? "" : ` ${finding.version}`;
  return `${finding.id}: ${who}${version}, ${finding.binary}; a probe target: to use it, declare it in \`runtimes.yaml\` under an id of its own`;
}
