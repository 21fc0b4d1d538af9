/** The text of state.json: one line of run-level members, one line a job, a checksum at the end. */
import { crc32 } from "node:zlib";
import { err, ok, type Result } from "../core/result.ts";
import { utf8Text } from "../host/files.ts";
import { migrate, type Refusal } from "./migrate.ts";
import type { Job, State } from "./records.ts";

/** What stands between the content and its checksum. */
const SEAL = ',\n"crc":"';
const SEAL_BYTES = Buffer.from(SEAL);
/** What stands between the members of the run and the first job. */
const JOBS_BYTES = Buffer.from(',"jobs":{\n');

export const hex = (crc: number): string => crc.toString(16).padStart(8, "0");

/** Everything before the jobs. */
export function headText(state: State): string {
  const { jobs: _jobs, crc: _crc, ...head } = state;
  return `${JSON.stringify(head).slice(0, -1)},"jobs":{`;
}

export const jobText = (id: string, job: Job): string => `${JSON.stringify(id)}:${JSON.stringify(job)}`;

export const JOBS_END = "\n}";

export const sealText = (crc: number): string => `${SEAL}${hex(crc)}"}\n`;

/** The whole text at once, for small states. `text` may be a cache of `jobText`. */
export function stateText(state: State, text: (id: string, job: Job) => string = jobText): string {
  const jobs: string[] = [];
  for (const id of Object.keys(state.jobs)) jobs.push(`\n${text(id, state.jobs[id] as Job)}`);
  const body = headText(state) + jobs.join(",") + JOBS_END;
  return body + sealText(crc32(body));
}

export interface StateDocument {
  readonly state: State;
  /** What a writer will put right, in words for the report. */
  readonly repairs: string[];
}

export type StateFileProblem =
  | Refusal
  | { readonly code: "state-damaged"; readonly what: string; readonly parses: boolean };

/** Reads bytes of any origin: whole and sealed, or edited by hand without a seal; anything else is a named problem. */
export function parseStateFile(bytes: Buffer): Result<StateDocument, StateFileProblem> {
  const sealed = checkSeal(bytes);
  // Editors and transfers rewrite line ends; JSON text never holds a raw CR, so taking them out loses nothing.
  let document = sealed === "whole" ? parseLines(bytes) : null;
  let lineEnds = false;
  if (document === null) {
    const text = sealed === "broken" ? bytes.toString("utf8").replaceAll("\r\n", "\n") : utf8Text(bytes);
    lineEnds = sealed === "broken" && checkSeal(Buffer.from(text)) === "whole";
    try {
      document = JSON.parse(text);
    } catch {
      return err({ code: "state-damaged", what: notJson(text), parses: false });
    }
  }
  const result = migrate(document, sealed === "whole");
  if (!result.ok) return result;
  const state = result.value;
  const { crc } = state;
  delete state.crc;
  if (sealed === "whole") return ok({ state, repairs: [] });
  if (lineEnds) return ok({ state, repairs: ["state.json had its line ends changed; they are put back"] });
  if (crc !== undefined)
    return err({ code: "state-damaged", what: "its content does not match its checksum", parses: true });
  const unknown = Object.keys(state).find((key) => !Object.hasOwn(MEMBERS, key));
  if (unknown !== undefined)
    return err({ code: "state-damaged", what: `it has an unknown member \`${unknown}\``, parses: true });
  return ok({ state, repairs: ["state.json carried no checksum and was taken as edited by hand"] });
}

/** What this version writes, a line at a time, so that a large state is never there as a text too. Null when it is anything else. */
function parseLines(bytes: Buffer): unknown {
  const head = bytes.indexOf(JOBS_BYTES);
  if (head === -1) return null;
  const first = head + JOBS_BYTES.length;
  const seal = bytes.lastIndexOf(SEAL_BYTES);
  const end = seal - JOBS_END.length;
  const jobs: [string, unknown][] = [];
  try {
    const members = JSON.parse(`${utf8Text(bytes.subarray(0, first))}}}`) as object;
    // The file may be cut right behind the checksum.
    const { crc } = JSON.parse(`{${utf8Text(bytes.subarray(seal + 1))}`) as { crc: string };
    for (let start = first; start < end; ) {
      const newline = bytes.indexOf("\n", start);
      const stop = newline === -1 ? end : Math.min(newline, end);
      const line = utf8Text(bytes.subarray(start, stop));
      jobs.push(
        ...Object.entries(JSON.parse(`{${line.endsWith(",") ? line.slice(0, -1) : line}}`) as object),
      );
      start = stop + 1;
    }
    return { ...members, jobs: Object.fromEntries(jobs), crc };
  } catch {
    return null;
  }
}

/** Where a person would look; the parser's own words quote the content and differ between versions of Node. */
function notJson(text: string): string {
  if (text.trim() === "") return "it is empty";
  const lines = text.split("\n");
  const isJob = (line: string): boolean => {
    try {
      return JSON.parse(`{${line.replace(/,$/, "")}}`) !== null;
    } catch {
      return false;
    }
  };
  const bad = lines.findIndex(
    (line, i) => i > 0 && line.startsWith('"') && !line.startsWith('"crc"') && !isJob(line),
  );
  return bad === -1 ? "it is not whole JSON" : `line ${bad + 1} is not JSON`;
}

/** Of a file without checksum; a flipped bit in the checksum's own name must not pass for its absence. */
const MEMBERS: Readonly<Record<keyof Required<State>, true>> = {
  schemaVersion: true,
  seq: true,
  epoch: true,
  runId: true,
  specPath: true,
  specSha256: true,
  graphSha256: true,
  baseRef: true,
  baseCommit: true,
  harness: true,
  createdAt: true,
  updatedAt: true,
  endedAt: true,
  status: true,
  reason: true,
  cancelRequested: true,
  mock: true,
  notes: true,
  supervisorRunId: true,
  approvals: true,
  arbiters: true,
  onboarding: true,
  jobs: true,
  plane: true,
  events: true,
  crc: true,
};

function checkSeal(bytes: Buffer): "whole" | "broken" {
  const at = bytes.lastIndexOf(SEAL_BYTES);
  if (at === -1 || bytes.length - at > SEAL_BYTES.length + 16) return "broken";
  const crc = bytes.toString("latin1", at + SEAL_BYTES.length, at + SEAL_BYTES.length + 8);
  return crc === hex(crc32(bytes.subarray(0, at))) ? "whole" : "broken";
}
