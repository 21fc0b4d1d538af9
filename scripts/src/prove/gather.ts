/** Gathers what layer 1 judges: reads outputs, runs the declared verification, looks for claims and compares them with the disk. */
import { isAbsolute, relative, sep } from "node:path";
import type { PlanJob } from "../core/runtime.ts";
import { hashInside, resolveInside } from "../host/safe-path.ts";
import { filesOfCommand, outsideFilesOfCommand } from "./check-files.ts";
import { loadedUnnamed } from "./check-loads.ts";
import { findClaims } from "./claims.ts";
import type { FixtureResult } from "./fixture.ts";
import { outputOf, ownedBy, plainPath } from "./ownership.ts";
import type {
  ChangeFacts,
  ClaimFact,
  LayerOneEvidence,
  OutputFact,
  VerificationFact,
  WindowPeer,
} from "./verify.ts";

type Command = PlanJob["verification"][number];

export interface CommandRun {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly stdoutTail: string;
  readonly stderrTail: string;
  readonly wallMs: number;
  readonly spawnError: string | null;
}

export type RunCommand = (command: {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly timeoutMs: number;
  /** `verification-<n>`. */
  readonly label: string;
}) => Promise<CommandRun>;

export interface GatherInput {
  readonly job: Pick<
    PlanJob,
    | "id"
    | "task"
    | "effect"
    | "writer"
    | "riskTier"
    | "ownedPaths"
    | "isolation"
    | "dependsOn"
    | "outputs"
    | "verification"
    | "cwd"
  >;
  readonly agent: boolean;
  readonly ownWorktree: boolean;
  /** Real path of the checkout's top level, the worktree, or the workspace root. */
  readonly root: string;
  /** Absolute folder the job ran in, inside `root`. */
  readonly cwd: string;
  readonly settled: boolean;
  readonly settledBy: LayerOneEvidence["settledBy"];
  readonly suspect: boolean;
  readonly resultText: string | null;
  readonly resultTruncated: boolean;
  readonly toolEvents: number | null;
  /** Measured before this call: verification may change files too. */
  readonly changes: ChangeFacts;
  readonly peers: readonly WindowPeer[];
  readonly fixture: FixtureResult;
  /** Where a command of the spec with an absolute `cwd` runs: maps it into the worktree. */
  readonly mapCwd: (command: Command) => string;
  /** `PATH` of the commands. */
  readonly searchPath: string;
  readonly runCommand: RunCommand;
}

/** Outputs are read before and verification runs after, in the order of the spec, one at a time. */
export async function gatherLayerOne(input: GatherInput): Promise<LayerOneEvidence> {
  const cwdPrefix = relative(input.root, input.cwd).split(sep).join("/");
  if (cwdPrefix.startsWith("..") || isAbsolute(cwdPrefix))
    throw new Error(`cwd ${input.cwd} lies outside of ${input.root}`);
  const outputs: OutputFact[] = [];
  for (const output of input.job.outputs) outputs.push(await outputFact(input.root, cwdPrefix, output));
  const verification: VerificationFact[] = [];
  for (const [i, command] of input.job.verification.entries())
    verification.push(await verificationFact(input, { cwdPrefix, command, index: i + 1 }));
  return {
    job: input.job,
    agent: input.agent,
    ownWorktree: input.ownWorktree,
    cwdPrefix,
    settled: input.settled,
    settledBy: input.settledBy,
    suspect: input.suspect,
    resultText: input.resultText,
    resultTruncated: input.resultTruncated,
    toolEvents: input.toolEvents,
    changes: input.changes,
    peers: input.peers,
    outputs,
    verification,
    claims: await claimFacts(input, { cwdPrefix, verification }),
    fixture: input.fixture,
  };
}

const join = (prefix: string, path: string): string => (prefix === "" ? path : `${prefix}/${path}`);

async function outputFact(
  root: string,
  cwdPrefix: string,
  output: PlanJob["outputs"][number],
): Promise<OutputFact> {
  const found = await hashInside(root, join(cwdPrefix, plainPath(output.path)));
  return {
    path: output.path,
    required: output.required,
    fromResult: output.fromResult,
    declaredSha256: output.sha256,
    found: found.ok ? { sha256: found.value.sha256, bytes: found.value.bytes } : null,
    fault: found.ok || found.error.code === "missing" ? null : found.error.detail,
  };
}

async function verificationFact(
  input: GatherInput,
  o: { readonly cwdPrefix: string; readonly command: Command; readonly index: number },
): Promise<VerificationFact> {
  const { command, index } = o;
  const argv = [command.command, ...command.args];
  const cwd = input.mapCwd(command);
  const { created, modified, deleted } = input.changes;
  const changed = [...created, ...modified, ...deleted];
  const files = await filesOfCommand({ root: input.root, cwd, argv, deleted, changed });
  const { root, searchPath } = input;
  const outside = await outsideFilesOfCommand({ root, cwd, argv, searchPath });
  const { installed } = loadedUnnamed(argv, { changed, ignored: input.changes.ignored });
  const fact = { index, argv, files, outside, installed };
  const reason = whyNotRun(input, { cwdPrefix: o.cwdPrefix, cwd, files });
  if (reason !== null)
    return {
      ...fact,
      ran: false,
      reason,
      exitCode: null,
      signal: null,
      timedOut: false,
      spawnError: null,
      wallMs: null,
      stdoutTail: "",
      stderrTail: "",
    };
  const run = await input.runCommand({
    argv,
    cwd,
    timeoutMs: command.timeoutMs,
    label: `verification-${index}`,
  });
  return { ...fact, ran: true, reason: null, ...run, wallMs: Math.round(run.wallMs) };
}

/** It would execute what the job wrote, or run where the job pointed its folder to. */
function whyNotRun(
  input: GatherInput,
  o: { readonly cwdPrefix: string; readonly cwd: string; readonly files: VerificationFact["files"] },
): string | null {
  const foreign = o.files.find((file) => !file.implied && isForeignChange(input, o.cwdPrefix, file.path));
  if (foreign !== undefined) return `the job changed \`${foreign.path}\` and does not own it`;
  const below = relative(input.root, o.cwd);
  if (below === "" || below.startsWith("..") || isAbsolute(below)) return null;
  const place = resolveInside(input.root, below);
  return place.ok ? null : place.error.detail;
}

function isForeignChange(input: GatherInput, cwdPrefix: string, path: string): boolean {
  const { created, modified, deleted } = input.changes;
  if (!created.includes(path) && !modified.includes(path) && !deleted.includes(path)) return false;
  const outputs = input.job.outputs.map((output) => output.path);
  return (
    !outputOf({ cwdPrefix, outputs })(path) && !ownedBy({ cwdPrefix, ownedPaths: input.job.ownedPaths })(path)
  );
}

async function claimFacts(
  input: GatherInput,
  o: { readonly cwdPrefix: string; readonly verification: readonly VerificationFact[] },
): Promise<ClaimFact[]> {
  if (!input.agent || input.resultText === null) return [];
  const facts: ClaimFact[] = [];
  for (const claim of findClaims(input.resultText)) {
    const fact =
      claim.kind === "check-passed" || claim.kind === "check-failed"
        ? checkFact(claim, o.verification)
        : await fileFact(input, o.cwdPrefix, claim);
    if (fact !== null) facts.push(fact);
  }
  return facts;
}

type RawClaim = ReturnType<typeof findClaims>[number];

/** Only a claim about exactly a declared command says anything about it. */
function checkFact(claim: RawClaim, verification: readonly VerificationFact[]): ClaimFact | null {
  const meant = verification.filter((v) => v.ran && v.argv.join(" ") === claim.subject);
  if (meant.length !== 1) return null;
  const passed = meant[0]?.exitCode === 0;
  return {
    ...claim,
    recorded: passed ? "passed" : "failed",
    contradicts: (claim.kind === "check-passed") !== passed,
  };
}

/** A path may be meant from the job's cwd or from the top of the checkout: a claim that holds for one of them holds. */
async function fileFact(input: GatherInput, cwdPrefix: string, claim: RawClaim): Promise<ClaimFact | null> {
  const inside = isAbsolute(claim.subject) ? relative(input.root, claim.subject) : claim.subject;
  const places = [...new Set(isAbsolute(claim.subject) ? [inside] : [join(cwdPrefix, inside), inside])];
  const looked = await Promise.all(places.map((place) => hashInside(input.root, place)));
  if (looked.some((look) => !look.ok && look.error.code !== "missing")) return null;
  const digests = looked.flatMap((look) => (look.ok ? [look.value.sha256] : []));
  if (claim.kind === "hash")
    return digests.length === 0
      ? null
      : {
          ...claim,
          recorded: `SHA-256 ${digests[0]}`,
          contradicts: !digests.includes(claim.claimed),
        };
  // Who only observes tells about the work of others, and that may lie elsewhere.
  if (input.job.effect === "observe") return null;
  const exists = digests.length > 0;
  return {
    ...claim,
    recorded: exists ? "the file exists" : "there is no such file",
    contradicts: exists !== (claim.kind === "file-created"),
  };
}
