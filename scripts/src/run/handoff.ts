/** What a job is given: declared inputs, verified copies of other jobs' outputs, and dependency material. */
import { INPUTS_DIR } from "../core/layout.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Attempt, PlanJob } from "../core/runtime.ts";
import { ensureDir, PRIVATE_FILE } from "../host/files.ts";
import type { PathFault } from "../host/inside.ts";
import { hashInside, namesInside } from "../host/safe-path.ts";
import { copyInside, removeEmptyDirInside, removeInside, writeInside } from "../host/safe-write.ts";

type Artifact = Attempt["artifacts"][number];

export interface HandoffFault {
  readonly code:
    | "input-missing"
    | "input-hash"
    | "input-unsafe"
    | "handoff-missing"
    | "handoff-hash"
    | "handoff-would-overwrite"
    | "handoff-failed";
  readonly path: string;
  readonly detail: string;
}

export interface InputFact {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly fromJob: string | null;
}

/**
 * Copies declared outputs into the job's `artifacts/` folder, so that later changes of the checkout cannot reach a dependent.
 * A file that is no longer what was recorded is refused (`handoff-hash`).
 */
export async function keepArtifacts(o: {
  readonly cwd: string;
  readonly artifacts: readonly Artifact[];
  readonly artifactsDir: string;
}): Promise<Result<void, HandoffFault>> {
  if (o.artifacts.length === 0) return ok(undefined);
  ensureDir(o.artifactsDir);
  for (const artifact of o.artifacts) {
    const kept = await copyInside(
      { root: o.cwd, path: artifact.path },
      { root: o.artifactsDir, path: artifact.path },
      { replace: true, mode: PRIVATE_FILE, expect: artifact.sha256 },
    );
    if (!kept.ok) return err(copyFault(artifact.path, kept.error, "handoff-missing"));
  }
  return ok(undefined);
}

/** Verifies plain inputs and copies `from_job` inputs into `cwd`; never overwrites different content. */
export async function placeInputs(o: {
  readonly cwd: string;
  readonly inputs: PlanJob["inputs"];
  /** Kept artifacts of a dependency, or null when it has none. */
  readonly source: (
    jobId: string,
  ) => { readonly artifactsDir: string; readonly artifacts: readonly Artifact[] } | null;
}): Promise<Result<readonly InputFact[], HandoffFault>> {
  const facts: InputFact[] = [];
  for (const input of o.inputs) {
    const placed =
      input.fromJob === null
        ? await plainInput(o.cwd, input)
        : await handedInput(o.cwd, input, input.fromJob, o.source(input.fromJob));
    if (!placed.ok) return placed;
    facts.push(placed.value);
  }
  return ok(facts);
}

type Input = PlanJob["inputs"][number];

async function plainInput(cwd: string, input: Input): Promise<Result<InputFact, HandoffFault>> {
  const found = await hashInside(cwd, input.path);
  if (!found.ok)
    return err({
      code: found.error.code === "missing" ? "input-missing" : "input-unsafe",
      path: input.path,
      detail: `input ${found.error.detail}`,
    });
  if (input.sha256 !== null && found.value.sha256 !== input.sha256.toLowerCase())
    return err({
      code: "input-hash",
      path: input.path,
      detail: `input \`${input.path}\` has SHA-256 ${found.value.sha256}, the spec says ${input.sha256}`,
    });
  return ok({ path: input.path, sha256: found.value.sha256, bytes: found.value.bytes, fromJob: null });
}

async function handedInput(
  cwd: string,
  input: Input,
  fromJob: string,
  source: { readonly artifactsDir: string; readonly artifacts: readonly Artifact[] } | null,
): Promise<Result<InputFact, HandoffFault>> {
  const from = input.fromPath ?? input.path;
  const artifact = source?.artifacts.find((kept) => kept.path === from);
  if (source === null || artifact === undefined)
    return err({
      code: "handoff-missing",
      path: input.path,
      detail: `\`${fromJob}\` has no artifact \`${from}\``,
    });
  if (input.sha256 !== null && artifact.sha256 !== input.sha256.toLowerCase())
    return err({
      code: "input-hash",
      path: input.path,
      detail: `\`${from}\` of \`${fromJob}\` has SHA-256 ${artifact.sha256}, the spec says ${input.sha256}`,
    });
  const copied = await copyInside(
    { root: source.artifactsDir, path: from },
    { root: cwd, path: input.path },
    { replace: false, mode: 0o644, expect: artifact.sha256 },
  );
  if (!copied.ok) return err(copyFault(input.path, copied.error, "handoff-missing"));
  return ok({ path: input.path, sha256: copied.value.sha256, bytes: copied.value.bytes, fromJob });
}

function copyFault(path: string, fault: PathFault, missing: HandoffFault["code"]): HandoffFault {
  const code =
    fault.code === "missing"
      ? missing
      : fault.code === "exists"
        ? "handoff-would-overwrite"
        : fault.code === "content"
          ? "handoff-hash"
          : fault.code === "io"
            ? "handoff-failed"
            : "input-unsafe";
  return { code, path, detail: fault.detail };
}

export interface Material {
  /** File name below `.orchestrate-inputs/<job-id>/`. */
  readonly name: string;
  readonly content: string;
}

const materialDir = (jobId: string): string => `${INPUTS_DIR}/${jobId}`;

/** Files for the job to read; the folder ignores itself, so that an agent's own `git add` does not pick them up. */
export async function writeMaterial(o: {
  readonly cwd: string;
  readonly jobId: string;
  readonly material: readonly Material[];
}): Promise<Result<void, HandoffFault>> {
  const files = [{ name: ".gitignore", content: "*\n" }, ...o.material];
  for (const { name, content } of files) {
    const path = name === ".gitignore" ? `${INPUTS_DIR}/${name}` : `${materialDir(o.jobId)}/${name}`;
    const written = await writeInside(o.cwd, path, content, { replace: true, mode: PRIVATE_FILE });
    if (!written.ok)
      return err({
        code: written.error.code === "io" ? "handoff-failed" : "input-unsafe",
        path,
        detail: written.error.detail,
      });
  }
  return ok(undefined);
}

/** Removes `.orchestrate-inputs/<job-id>/`, and the parent when no other job uses it. What cannot be removed stays. */
export async function removeMaterial(o: { readonly cwd: string; readonly jobId: string }): Promise<void> {
  removeInside(o.cwd, materialDir(o.jobId));
  if (namesInside(o.cwd, INPUTS_DIR).some((name) => name !== ".gitignore")) return;
  removeInside(o.cwd, `${INPUTS_DIR}/.gitignore`);
  removeEmptyDirInside(o.cwd, INPUTS_DIR);
}

/**
 * Writes a `from: result` output; never through a link. It replaces what stands there: only the coordinator writes such a
 * path, and an earlier attempt may have left its own.
 */
export async function writeResultOutput(o: {
  readonly cwd: string;
  readonly path: string;
  readonly text: string;
}): Promise<Result<Artifact, HandoffFault>> {
  const written = await writeInside(o.cwd, o.path, o.text, { replace: true, mode: 0o644 });
  if (!written.ok)
    return err({
      code: written.error.code === "io" ? "handoff-failed" : "input-unsafe",
      path: o.path,
      detail: written.error.detail,
    });
  return ok({ path: o.path, sha256: written.value.sha256, bytes: written.value.bytes });
}
