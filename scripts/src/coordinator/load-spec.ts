/** A spec read, parsed and normalized: what `validate`, `plan`, `gate` and `run` all start from. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Diagnostic } from "../core/diagnostic.ts";
import { hasErrors } from "../core/diagnostic.ts";
import { SPEC_LIMITS } from "../core/policy.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Clock } from "../host/clock.ts";
import type { Environment } from "../host/env.ts";
import { errorCode, sha256 } from "../host/files.ts";
import type { NormalJob, NormalTop } from "../plan/normal.ts";
import { normalizeSpec } from "../plan/normalize.ts";
import { parseSpec, type Spec } from "../plan/spec.ts";
import { type Config, loadConfig } from "./load-config.ts";
import { workspaceRoot } from "./workspace-root.ts";

export interface SpecInput {
  readonly path: string;
  readonly env: Environment;
  readonly clock: Clock;
}

export interface LoadedSpec {
  readonly path: string;
  readonly text: string;
  readonly sha256: string;
  readonly spec: Spec;
  readonly jobs: readonly NormalJob[];
  readonly top: NormalTop;
  readonly locate: (path: readonly (string | number)[]) => { line: number; column: number } | null;
  readonly config: Config;
  readonly root: string;
}

/** Reads and validates; all diagnostics of the spec, whether it can be used or not. */
export function loadSpec(o: SpecInput): { loaded: LoadedSpec | null; diagnostics: Diagnostic[] } {
  const path = resolve(o.env.cwd, o.path);
  const read = readSpecFile(path);
  if (!read.ok) return { loaded: null, diagnostics: [read.error] };
  const bytes = read.value;
  const root = workspaceRoot(o.env.cwd);
  const config = loadConfig({ root, home: o.env.home, now: o.clock.now() });
  const parsed = parseSpec(read.value, { fileName: o.path });
  const diagnostics = [...parsed.diagnostics];
  if (parsed.spec === null) return { loaded: null, diagnostics };
  const normal = normalizeSpec(parsed.spec, {
    cwd: o.env.cwd,
    workspaceRootsDefault: [root],
    realpath: realpathOrNull,
    fileName: basename(path),
    approvals: config.approvals,
    locate: parsed.locate,
  });
  diagnostics.push(...normal.diagnostics, ...config.diagnostics);
  if (hasErrors(diagnostics)) return { loaded: null, diagnostics };
  const text = typeof read.value === "string" ? read.value : Buffer.from(read.value).toString("utf8");
  return {
    loaded: {
      path,
      text,
      get sha256() {
        return sha256(bytes);
      },
      spec: parsed.spec,
      jobs: normal.jobs,
      top: normal.top,
      locate: parsed.locate,
      config,
      root,
    },
    diagnostics,
  };
}

/** What the plan says of a place in the spec, in the form in which the reader says it. */
export const inFile = (one: Diagnostic, file: string): Diagnostic =>
  one.line === undefined || one.file !== undefined ? one : { ...one, file };

function readSpecFile(path: string): Result<Uint8Array, Diagnostic> {
  const fault = (code: string, message: string, fix?: string): Result<never, Diagnostic> =>
    err({ severity: "error", code, message, file: path, ...(fix === undefined ? {} : { fix }) });
  if (!existsSync(path))
    return fault(
      "spec-not-found",
      `There is no file \`${path}\`.`,
      "`init` writes a commented spec to start from.",
    );
  try {
    const stat = statSync(path);
    if (!stat.isFile()) return fault("spec-not-a-file", `\`${path}\` is no regular file.`);
    if (stat.size > SPEC_LIMITS.maxJsonBytes)
      return fault(
        "spec-too-large",
        `\`${path}\` has ${stat.size} bytes; at most ${SPEC_LIMITS.maxYamlBytes} as YAML or ${SPEC_LIMITS.maxJsonBytes} as JSON are read.`,
      );
    return ok(readFileSync(path));
  } catch (error) {
    return fault("spec-unreadable", `Cannot read \`${path}\`: ${errorCode(error) ?? String(error)}.`);
  }
}

function realpathOrNull(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
