/** Rules between jobs: ids, dependencies, sessions and files that pass from one to another. */
import { jobIdProblem } from "../core/ids.ts";
import { isExplicitRuntime } from "../core/placeholders.ts";
import { pathProblem, plainPath } from "./check-paths.ts";
import { didYouMean } from "./did-you-mean.ts";
import { buildJobGraph, type JobGraph, reachabilityAmong } from "./job-graph.ts";
import type { Say } from "./rule.ts";
import { suggestion } from "./scalar-check.ts";
import { quoted } from "./shown.ts";
import type { LooseJob, LooseSpec } from "./spec-shape.ts";

export function checkGraph(spec: LooseSpec, say: Say): void {
  const byId = checkIds(spec.jobs, say);
  const ids = [...byId.keys()];
  for (const entry of spec.jobs) {
    checkDependencies(entry, byId, ids, say);
    checkInputs(entry, byId, say);
    checkSession(entry, byId, say);
  }
  checkContinuedOnce(spec.jobs, say);
  const graph = checkCycles(byId, say);
  checkOutputs(spec, graph, say);
}

type Jobs = ReadonlyMap<string, LooseJob>;

function checkIds(jobs: readonly LooseJob[], say: Say): Map<string, LooseJob> {
  const byId = new Map<string, LooseJob>();
  const folded = new Map<string, LooseJob>();
  for (const entry of jobs) {
    const { id } = entry.job;
    if (id === undefined) continue;
    const problem = jobIdProblem(id);
    if (problem !== null)
      say("bad-job-id", [...entry.path, "id"], `the job id ${quoted(id)} ${problem}`, {
        fix: "choose another id",
      });
    const first = folded.get(id.toLowerCase());
    if (first === undefined) {
      folded.set(id.toLowerCase(), entry);
      byId.set(id, entry);
    } else
      say("duplicate-job", [...entry.path, "id"], `the id ${quoted(id)} is taken by another job`, {
        fix: "choose another id",
        related: [{ path: [...first.path, "id"], message: "the first one is here" }],
      });
  }
  return byId;
}

function checkDependencies(entry: LooseJob, byId: Jobs, ids: readonly string[], say: Say): void {
  const { job, path } = entry;
  for (const [index, id] of (job.depends_on ?? []).entries()) {
    if (id !== job.id && byId.has(id)) continue;
    const place = [...path, "depends_on", index];
    if (id === job.id)
      say("self-dependency", place, `${entry.label} depends on itself`, { fix: "remove it" });
    else {
      say("unknown-dependency", place, `${entry.label} depends on ${quoted(id)}, but there is no such job`, {
        fix: () => suggestion(didYouMean(id, ids), "add the job, or remove the dependency"),
      });
    }
  }
}

function checkCycles(byId: Jobs, say: Say): JobGraph | null {
  const nodes = [...byId].map(([id, { job }]) => ({
    id,
    dependsOn: (job.depends_on ?? []).filter((other) => other !== id && byId.has(other)),
  }));
  const { graph, faults } = buildJobGraph(nodes);
  for (const fault of faults) {
    if (fault.kind !== "cycle") continue;
    const [first, second] = fault.path as readonly [string, string];
    const entry = byId.get(first)!;
    const at = (entry.job.depends_on ?? []).indexOf(second);
    say(
      "cyclic-dependency",
      [...entry.path, "depends_on", at],
      `these jobs wait for each other: ${fault.path.join(" → ")}`,
      {
        fix: "remove one of these dependencies",
      },
    );
  }
  return graph;
}

function checkInputs(entry: LooseJob, byId: Jobs, say: Say): void {
  const { job, path } = entry;
  for (const [index, input] of (job.inputs ?? []).entries()) {
    const { from_job: from, from_path: file } = input;
    if (from === undefined || file === undefined) continue;
    const place = [...path, "inputs", index];
    if (!(job.depends_on ?? []).includes(from)) {
      say(
        "input-not-a-dependency",
        [...place, "from_job"],
        `${entry.label} takes an input from ${quoted(from)}, which is not in its \`depends_on\``,
        {
          fix: byId.has(from) ? `add \`${from}\` to \`depends_on\`` : "name one of its dependencies",
        },
      );
      continue;
    }
    const outputs = byId.get(from)?.job.outputs;
    if (outputs === undefined && !byId.has(from)) continue;
    const paths = (outputs ?? []).map((output) => output.path);
    if (paths.some((declared) => plainPath(declared) === plainPath(file))) continue;
    say(
      "input-not-an-output",
      [...place, "from_path"],
      `job \`${from}\` declares no output ${quoted(file)}`,
      {
        fix: () => suggestion(didYouMean(file, paths), `add it to the \`outputs\` of \`${from}\``),
      },
    );
  }
}

const JUDGMENT: ReadonlySet<string> = new Set(["review", "audit", "security"]);

function checkSession(entry: LooseJob, byId: Jobs, say: Say): void {
  const { job, path } = entry;
  if (job.session === undefined) return;
  const from = job.session.from_job;
  const place = [...path, "session", "from_job"];
  if (job.task !== undefined && JUDGMENT.has(job.task))
    say(
      "session-on-judgment",
      [...path, "session"],
      `${entry.label} is ${job.task} work, which must start from a fresh context`,
      {
        fix: "remove `session`",
      },
    );
  if (!(job.depends_on ?? []).includes(from))
    say(
      "session-not-a-dependency",
      place,
      `${entry.label} takes its session from ${quoted(from)}, which is not in its \`depends_on\``,
      {
        fix: byId.has(from) ? `add \`${from}\` to \`depends_on\`` : "name one of its dependencies",
      },
    );
  const other = byId.get(from)?.job.runtime;
  if (isExplicitRuntime(job.runtime) && isExplicitRuntime(other) && job.runtime !== other)
    say(
      "session-other-runtime",
      place,
      `${entry.label} runs on \`${job.runtime}\`, but the session of \`${from}\` belongs to \`${other}\``,
      {
        fix: "use one runtime for both, or pass files by `inputs`",
      },
    );
}

/** Two that go on with one session would each write into the other's conversation. */
function checkContinuedOnce(jobs: readonly LooseJob[], say: Say): void {
  const first = new Map<string, LooseJob>();
  for (const entry of jobs) {
    const { session } = entry.job;
    if (session === undefined || session.mode !== "continue") continue;
    const other = first.get(session.from_job);
    if (other === undefined) first.set(session.from_job, entry);
    else
      say(
        "session-continued-twice",
        [...entry.path, "session"],
        `${entry.label} continues the session of ${quoted(session.from_job)}, which ${other.label} continues already`,
        {
          fix: "write `mode: fork`, or continue the session of the later job",
          related: [{ path: [...other.path, "session"], message: "the first one is here" }],
        },
      );
  }
}

interface Written {
  readonly entry: LooseJob;
  readonly index: number;
}

/** One file has one writer at a time: writers of a path must be ordered by dependencies. */
function checkOutputs(spec: LooseSpec, graph: JobGraph | null, say: Say): void {
  const writers = new Map<string, Written[]>();
  for (const entry of spec.jobs)
    for (const [index, output] of (entry.job.outputs ?? []).entries()) {
      if (pathProblem(output.path) !== null) continue;
      const file = plainPath(`${folderOf(entry, spec)}/${output.path}`);
      const list = writers.get(file);
      if (list === undefined) writers.set(file, [{ entry, index }]);
      else list.push({ entry, index });
    }
  const shared = [...writers.values()].filter((list) => list.length > 1);
  if (shared.length === 0) return;
  const at = new Map(graph?.ids.map((id, position) => [id, position]));
  const places = shared.flat().flatMap(({ entry }) => at.get(entry.job.id ?? "") ?? []);
  const reach = graph === null ? null : reachabilityAmong(graph, [...new Set(places)]);
  for (const list of shared) {
    const placed = list
      .map((written) => ({ ...written, at: at.get(written.entry.job.id ?? "") ?? -1 }))
      .sort((a, b) => a.at - b.at || a.index - b.index);
    // Positions are in topological order, so a list is ordered when each neighbour is.
    for (let index = 1; index < placed.length; index += 1) {
      const [first, second] = [placed[index - 1]!, placed[index]!];
      const same = first.entry === second.entry;
      if (!same && (reach === null || first.at < 0 || reach.ordered(first.at, second.at))) continue;
      sayConflict(first, second, same, say);
    }
  }
}

function sayConflict(first: Written, second: Written, same: boolean, say: Say): void {
  const path = quoted(second.entry.job.outputs![second.index]!.path);
  const place = [...second.entry.path, "outputs", second.index, "path"];
  say(
    "output-conflict",
    place,
    same
      ? `${second.entry.label} declares the output ${path} twice`
      : `${first.entry.label} and ${second.entry.label} may run at the same time and both declare the output ${path}`,
    {
      fix: same ? "remove one of them" : "choose another path, or let one depend on the other",
      related: [
        { path: [...first.entry.path, "outputs", first.index, "path"], message: "the first one is here" },
      ],
    },
  );
}

/** As written, which is enough to tell that two folders are the same; other spellings are compared once links are followed. */
function folderOf(entry: LooseJob, spec: LooseSpec): string {
  const cwd = entry.job.cwd ?? spec.top.defaults?.cwd ?? ".";
  return cwd === "<workspace-root>" ? "." : cwd;
}
