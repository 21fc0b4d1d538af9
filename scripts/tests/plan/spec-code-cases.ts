/** One smallest file for each code, and all that is said about it. */
import type { SpecCode } from "../../src/plan/spec-codes.ts";

export interface CodeCase {
  readonly text: string | Uint8Array;
  /** `LINE:COLUMN PATH MESSAGE | FIX`, and ` | LINE:COLUMN NOTE` for a related place. */
  readonly says: string;
  readonly kind?: "normal" | "unsupported" | "policy" | "runtimes";
  readonly file?: string;
}

const HEAD = `version: 1
jobs:
  - id: a
    task: scout
    prompt: look
    expected_output: a report
    timeout: 10m
`;
const indented = (lines: readonly string[]): string => lines.map((line) => `    ${line}\n`).join("");
const job = (...lines: string[]): string => HEAD + indented(lines);
const second = (...lines: string[]): string => `${HEAD}  - id: b
    task: scout
    prompt: look
    expected_output: a report
    timeout: 10m
${indented(lines)}`;
const top = (...lines: string[]): string => lines.map((line) => `${line}\n`).join("") + HEAD;
const token = `ghp_${"a1B2".repeat(9)}`;

export const CASES = {
  "not-utf8": {
    text: new Uint8Array([...Buffer.from("version: 1\nname: "), 0xc3, 0x28]),
    says: "2:7 - the file is not UTF-8: byte 17 starts no character | save it as UTF-8",
  },
  "nul-character": {
    text: job("name: x\0y"),
    says: "8:12 - a NUL character ends text for the programs that will read it, so it is not allowed | remove it",
  },
  "control-character": {
    text: job("agent: \u0007"),
    says: "8:12 - the control character U+0007 is not allowed | remove it",
  },
  "not-unicode": {
    text: top('name: "\\ud800"'),
    says: "1:7 name this text holds half of a surrogate pair, which cannot be written to a file | write the character itself",
  },
  "too-large": {
    text: "#".repeat(1048577),
    says: "1:1 - the file has 1048577 bytes, but at most 1048576 are read as YAML | split the work over several specs; JSON may have 16 MiB",
  },
  "too-deep": {
    text: `x: ${"[".repeat(25)}`,
    says: "1:23 - this is nested deeper than 20 levels | no field needs that depth; close the lists and maps that were left open",
  },
  "empty-document": {
    text: "# nothing\n",
    says: "1:1 - the file holds nothing | `init` writes a commented example",
  },
  "tab-character": {
    text: "version: 1\njobs:\n\t- id: a\n",
    says: "3:1 - a tab is used as space here | use spaces",
  },
  "yaml-syntax": {
    text: top("name: a: b"),
    says: "1:7 - this is not YAML: nested mappings are not allowed in compact mappings | quote text that holds a colon and a space",
  },
  "yaml-anchor": {
    text: top("name: &n x"),
    says: "1:7 - anchors (`&name`) are not allowed | write the value out where it is needed, or quote it if it is text",
  },
  "yaml-alias": {
    text: job("owned_paths: [*.ts]"),
    says: "8:19 - aliases (`*name`) are not allowed | write the value out, or quote it if it is text",
  },
  "yaml-tag": {
    text: job("untrusted: !!bool yes"),
    says: "8:16 - tags (`!name`) are not allowed | remove the tag, or quote the value if it is text",
  },
  "yaml-directive": {
    text: `%YAML 1.1\n---\n${HEAD}`,
    says: "1:1 - directives (`%NAME`) are not allowed | remove the line",
  },
  "merge-key": {
    text: job("<<: {effort: low}"),
    says: '8:5 jobs[0]["<<"] merge keys (`<<`) are not allowed | write the fields out, or use `defaults`',
  },
  "several-documents": {
    text: `${HEAD}---\n${HEAD}`,
    says: "8:1 - a second document starts here, but a file holds one | remove the `---` or move what follows to a file of its own",
  },
  "non-scalar-key": {
    text: top("? [a]\n: b"),
    says: "1:3 - a list or map is used as a key here | quote the key if it is text; a placeholder or glob that starts with `{` or `[` needs quotes",
  },
  "forbidden-key": {
    text: top("__proto__: {polluted: true}"),
    says: "1:1 __proto__ `__proto__` is not allowed as a key | remove it",
  },
  "duplicate-key": {
    text: job("timeout: 20m"),
    says: "8:5 jobs[0].timeout this key is already in the same map, and one of the two values would be lost | keep one of them | 7:5 the first one is here",
  },
  "number-form": {
    text: top("concurrency: 0o17"),
    says: "1:14 concurrency `0o17` is a number in a form that reads differently elsewhere | write `15`, or quote it if it is text",
  },
  "json-syntax": {
    text: '{"version": 1 "jobs": []}',
    says: "1:15 - this is not JSON: a `,` is expected | look at this place and just before it",
    file: "jobs.json",
  },
  "json-comment": {
    text: '// mine\n{"version": 1}',
    says: "1:1 - JSON has no comments | remove the comment, or rename the file to `.yaml` and use `#`",
    file: "jobs.json",
  },
  "json-trailing-comma": {
    text: '{"version": 1,}',
    says: "1:14 - JSON allows no comma after the last entry | remove the comma",
    file: "jobs.json",
  },
  "more-faults": {
    text: `version: 1\njobs:\n${Array.from({ length: 300 }, (_, i) => `  - {id: a${i}, x: 1, y: 2, z: 3, w: 4}`).join("\n")}\n`,
    says: "169:34 - 1402 further findings are not listed | mend the ones above first",
  },
  "unknown-key": {
    text: job("depends: [b]"),
    says: "8:5 jobs[0].depends `depends` is not a field of job `a` | remove it; `schema` prints every field",
  },
  "missing-field": {
    text: "version: 1\njobs:\n  - id: a\n    task: scout\n    prompt: look\n    timeout: 10m\n",
    says: "3:5 jobs[0] job `a` has no `expected_output` | add `expected_output`: what the job must deliver",
  },
  "wrong-type": {
    text: job("model: 1.10"),
    says: '8:12 jobs[0].model `model` must be text, but is the number 1.10 | quote it: `"1.10"`',
  },
  "not-allowed-value": {
    text: job("effort: hgih"),
    says: "8:13 jobs[0].effort `effort` must be `minimal`, `low`, `medium`, `high`, `xhigh` or `max`, but is `hgih` | did you mean `high`?",
  },
  "out-of-range": {
    text: job("benchmark: {cacheTTLHours: 721}"),
    says: "8:32 jobs[0].benchmark.cacheTTLHours `cacheTTLHours` must be between 1 and 720, but is 721 | write 720 or less",
  },
  "too-short": {
    text: job("rollback: undo it"),
    says: "8:15 jobs[0].rollback `rollback` must have at least 20 characters, but has 7 | say more, or give a `command`",
  },
  "too-long": {
    text: top(`name: ${"n".repeat(201)}`),
    says: "1:7 name `name` must have at most 200 characters, but has 201 | -",
  },
  "bad-format": {
    text: job("inputs: [{path: x, sha256: ABC}]"),
    says: "8:32 jobs[0].inputs[0].sha256 `sha256` must be 64 lower-case hex digits, but is `ABC` | -",
  },
  "empty-list": { text: "version: 1\njobs: []\n", says: "2:7 jobs `jobs` must have at least one entry | -" },
  "too-many-entries": {
    text: JSON.stringify({ version: 1, jobs: Array.from({ length: 10001 }, (_, i) => ({ id: `j${i}` })) }),
    says: "1:21 jobs `jobs` must have at most 10000 entries, but has 10001 | split the work over several files",
    file: "jobs.json",
  },
  "duplicate-entry": {
    text: job("owned_paths: [src/**, docs/**, src/**]"),
    says: "8:36 jobs[0].owned_paths[2] `src/**` is in the list already | remove one of them | 8:19 the first one is here",
  },
  "incomplete-pair": {
    text: job("inputs: [{path: x, from_job: b}]"),
    says: "8:34 jobs[0].inputs[0].from_job `from_job` says nothing without `from_path` | add `from_path`",
  },
  "ambiguous-word": {
    text: top("name: no"),
    says: '1:7 name `name` is the text `no`, which older YAML reads as true or false | quote it: `"no"`',
  },
  "bad-duration": {
    text: job("stall_after: 1:30"),
    says: "8:18 jobs[0].stall_after `stall_after` must be a duration such as `90s`, `10m` or `1h30m`, but is `1:30` | -",
  },
  "bad-job-id": {
    text: HEAD.replace("id: a", "id: Build"),
    says: "3:9 jobs[0].id `id` must be 1 to 64 lower-case letters, digits, `.`, `_` or `-`, starting with a letter or digit, but is `Build` | -",
  },
  "bad-runtime-name": {
    text: job("runtime: My Agent"),
    says: "8:14 jobs[0].runtime `runtime` must be a runtime id, `internal` or a placeholder, but is `My Agent` | -",
  },
  "bad-step": {
    text: job("runtime: mock", "mock: [{say: hi, exit: 1}]"),
    says: "9:12 jobs[0].mock[0] a step of a mock script is one action, but this one has 2 | make a step of its own of each",
  },
  "duplicate-job": {
    text: `${HEAD}  - id: a\n    task: scout\n    prompt: look\n    expected_output: x\n    timeout: 10m\n`,
    says: "8:9 jobs[1].id the id `a` is taken by another job | choose another id | 3:9 the first one is here",
  },
  "task-or-model": {
    text: HEAD.replace("    task: scout\n", ""),
    says: "3:5 jobs[0] job `a` has neither `task` nor `model` | add `task`: it decides which runtimes are good enough",
  },
  "prompt-and-skill": {
    text: job("skill: review"),
    says: "8:12 jobs[0].skill job `a` has both `prompt` and `skill` | keep one of them",
  },
  "generated-intent": {
    text: HEAD.replace("    prompt: look\n", ""),
    says: "3:5 jobs[0] job `a` has neither `prompt` nor `skill`: its brief is generated from `task`, `expected_output` and its dependencies | add a `prompt` if that says too little",
  },
  "timeout-missing": {
    text: HEAD.replace("    timeout: 10m\n", ""),
    says: "3:5 jobs[0] job `a` has no `timeout`, and `defaults` has none either | add one, for example `timeout: 10m`",
  },
  "duration-range": {
    text: HEAD.replace("10m", "25h"),
    says: "7:14 jobs[0].timeout `timeout` must be more than 0s and at most 24h, but is `25h` | -",
  },
  "unknown-placeholder": {
    text: job("runtime: <verified-cli>"),
    says: "8:14 jobs[0].runtime `runtime` is `<verified-cli>`, but its placeholders are `<verified-cli-runtime>`, `<verified-read-runtime>`, `<verified-judgment-runtime>` or `<verified-fallback-runtime>` | use one of them as the whole value, or a name",
  },
  "agent-not-in-session": {
    text: job("runtime: claude", "agent: reviewer"),
    says: "9:12 jobs[0].agent job `a` names an `agent`, which only a job in the harness session can have, but its runtime is `claude` | set `runtime: internal`, or remove `agent`",
  },
  "session-continued-twice": {
    text: `${second("depends_on: [a]", "session: {from_job: a, mode: continue}")}  - id: c
    task: scout
    prompt: x
    expected_output: x
    timeout: 1m
    depends_on: [a]
    session: {from_job: a, mode: continue}
`,
    says: "21:14 jobs[2].session job `c` continues the session of `a`, which job `b` continues already | write `mode: fork`, or continue the session of the later job | 14:14 the first one is here",
  },
  "session-not-a-dependency": {
    text: second("session: {from_job: a, mode: fork}"),
    says: "13:25 jobs[1].session.from_job job `b` takes its session from `a`, which is not in its `depends_on` | add `a` to `depends_on`",
  },
  "session-on-judgment": {
    text: second("depends_on: [a]", "session: {from_job: a, mode: fork}").replace(
      /scout(?![\s\S]*scout)/,
      "review",
    ),
    says: "14:14 jobs[1].session job `b` is review work, which must start from a fresh context | remove `session`",
  },
  "session-other-runtime": {
    text: second("runtime: codex", "depends_on: [a]", "session: {from_job: a, mode: fork}").replace(
      "    task: scout\n",
      "    task: scout\n    runtime: claude\n",
    ),
    says: "16:25 jobs[1].session.from_job job `b` runs on `codex`, but the session of `a` belongs to `claude` | use one runtime for both, or pass files by `inputs`",
  },
  "path-outside": {
    text: job("outputs: [{path: ../report.md}]"),
    says: "8:22 jobs[0].outputs[0].path the path `../report.md` climbs out of its folder | give a path below the job's `cwd`",
  },
  "bad-glob": {
    text: job('owned_paths: ["!src/**"]'),
    says: "8:19 jobs[0].owned_paths[0] the glob `!src/**` is negated | give a glob below the job's `cwd`, such as `src/api/**`",
  },
  "input-not-a-dependency": {
    text: second("inputs: [{path: in.md, from_job: a, from_path: out.md}]"),
    says: "13:38 jobs[1].inputs[0].from_job job `b` takes an input from `a`, which is not in its `depends_on` | add `a` to `depends_on`",
  },
  "input-not-an-output": {
    text: second("depends_on: [a]", "inputs: [{path: in.md, from_job: a, from_path: out.md}]"),
    says: "14:52 jobs[1].inputs[0].from_path job `a` declares no output `out.md` | add it to the `outputs` of `a`",
  },
  "output-conflict": {
    text: second("outputs: [{path: ./out.md}]").replace(
      "  - id: b",
      "    outputs: [{path: out.md}]\n  - id: b",
    ),
    says: "14:22 jobs[1].outputs[0].path job `a` and job `b` may run at the same time and both declare the output `./out.md` | choose another path, or let one depend on the other | 8:22 the first one is here",
  },
  "unknown-dependency": {
    text: job("depends_on: [scuot]").replace("id: a", "id: scout"),
    says: "8:18 jobs[0].depends_on[0] job `scout` depends on `scuot`, but there is no such job | did you mean `scout`?",
  },
  "self-dependency": {
    text: job("depends_on: [a]"),
    says: "8:18 jobs[0].depends_on[0] job `a` depends on itself | remove it",
  },
  "cyclic-dependency": {
    text: second("depends_on: [a]").replace("  - id: b", "    depends_on: [b]\n  - id: b"),
    says: "8:18 jobs[0].depends_on[0] these jobs wait for each other: a → b → a | remove one of these dependencies",
  },
  "unknown-job": {
    text: top("arbiter: {mock: {b: fail}}"),
    says: "1:21 arbiter.mock.b `arbiter.mock` names `b`, but there is no such job | remove it",
  },
  "unknown-tool": {
    text: job("allowed_tools: [read, seach]"),
    says: "8:27 jobs[0].allowed_tools[1] `seach` is no tool word | did you mean `search`?",
  },
  "raw-tool": {
    text: job("allowed_tools: [WebFetch]"),
    says: "8:21 jobs[0].allowed_tools[0] `WebFetch` is a runtime's own tool name, but the job names no runtime | use read, search, edit, write, shell, shell(PREFIX), web, mcp(NAME) or agent, or set `runtime`",
  },
  "invocation-without-runtime": {
    text: job("invocation: {command: make}"),
    says: "8:17 jobs[0].invocation job `a` has an `invocation`, but names no runtime | set `runtime` to the id of a declared program",
  },
  "mock-without-mock-runtime": {
    text: job("mock: [{say: hi}]"),
    says: "8:11 jobs[0].mock job `a` has a `mock` script, which only the runtime `mock` plays | set `runtime: mock`, or remove `mock`",
  },
  "permission-bypass": {
    text: job("runtime: my-agent", "invocation: {command: my-agent, args: [--yolo]}"),
    says: "9:17 jobs[0].invocation `--yolo` switches permission checks off, and no approval makes that acceptable | remove it; grant what the job needs by `allowed_tools` and `owned_paths`",
  },
  "shell-string": {
    text: job("verification: [{command: npm test && npm run lint}]"),
    says: "8:30 jobs[0].verification[0].command `npm test && npm run lint` is a command line, but `command` is one program and no shell reads it | put the program into `command` and each argument into `args`",
  },
  "env-name": {
    text: job("runtime: tool", "invocation: {command: make, env_allow: [CI=1]}"),
    says: "9:45 jobs[0].invocation.env_allow[0] `CI=1` is no variable name | give the name only; the value comes from the environment",
  },
  "env-refused": {
    text: job("runtime: tool", "invocation: {command: make, env_allow: [GIT_DIR]}"),
    says: "9:45 jobs[0].invocation.env_allow[0] `GIT_DIR` changes how other programs start, so it is never passed on | remove it",
  },
  "secret-in-spec": {
    text: HEAD.replace("look", `use ${token}`),
    says: "5:13 jobs[0].prompt `prompt` holds a GitHub token | remove it and replace the credential, since it was written down; a runtime uses its own login, and a program gets a variable by name from `invocation.env_allow`",
  },
  "intake-incomplete": {
    text: top("outcome: It is known."),
    says: "1:1 - the spec states no `constraints`, `acceptance`: the judge will know only what each job says | say what shall be true at the end, what must not happen, and what would show it",
  },
  "calibration-off": {
    text: top("calibration: {minimum_samples: 29}"),
    says: "1:32 calibration.minimum_samples `calibration.minimum_samples` is 29, below 30: every job goes to a judge | set it to 30 or more",
  },
  "root-missing": {
    text: top("workspace_roots: [gone]"),
    says: "1:19 workspace_roots[0] the workspace root `gone` does not exist | create the folder, or name another",
    kind: "normal",
  },
  "cwd-missing": {
    text: job("cwd: gone"),
    says: "8:10 jobs[0].cwd the folder `gone` does not exist below `/code` | create it, or name another",
    kind: "normal",
  },
  "cwd-outside-roots": {
    text: job("cwd: link"),
    says: "8:10 jobs[0].cwd the folder `link` leads to `/etc`, outside every workspace root | add its folder to `workspace_roots`, or name one inside",
    kind: "normal",
  },
  "unknown-authority": {
    text: job("authority: release-friday"),
    says: "8:16 jobs[0].authority the authority `release-friday` is not among the approvals of the home policy | add it to `approvals` in the home policy, or remove `authority`",
    kind: "normal",
  },
  "field-not-supported-yet": {
    text: top("budget: {dimension: quotaBurn, limit: 5}"),
    says: "1:9 budget `budget` is valid, but this version does not have its behaviour yet: it stops admission when a cost is reached | remove it to run the spec with this version",
    kind: "unsupported",
  },
  "duplicate-runtime": {
    text: "runtimes:\n  - {id: x, command: x}\n  - {id: x, command: y}\n",
    says: "3:10 runtimes[1].id there is already a runtime with the id `x` | choose another id | 2:10 the first one is here",
    kind: "runtimes",
  },
  "reserved-runtime": {
    text: "runtimes:\n  - {id: claude, command: claude}\n",
    says: "2:10 runtimes[0].id `claude` is a built-in runtime | choose another id",
    kind: "runtimes",
  },
  "program-with-model": {
    text: "runtimes:\n  - {id: x, command: x, agent: false, models: [m]}\n",
    says: "2:47 runtimes[0].models the runtime `x` is a program (`agent: false`) and has no `models` | remove `models`, or `agent: false`",
    kind: "runtimes",
  },
  "program-judgment": {
    text: "runtimes:\n  - {id: x, command: x, agent: false, capability: C3}\n",
    says: "2:51 runtimes[0].capability the runtime `x` is a program (`agent: false`), which never judges | write C1 or C2, or remove `capability`",
    kind: "runtimes",
  },
  "classifier-agent": {
    text: "runtimes:\n  - {id: x, command: x, role: classifier}\n",
    says: "2:31 runtimes[0].role the runtime `x` is a classifier, which has no tools and so is no agent | add `agent: false`",
    kind: "runtimes",
  },
  "bad-argv-hole": {
    text: 'runtimes:\n  - {id: x, command: x, argv: ["{mdel}"]}\n',
    says: "2:32 runtimes[0].argv[0] nothing fills `{mdel}`: the holes are `{prompt_file}`, `{prompt}`, `{model}`, `{effort}`, `{cwd}`, `{session}` or `{tools}` | use one of them",
    kind: "runtimes",
  },
  "duplicate-approval": {
    text: "approvals:\n  - {id: x, words: yes do it, until: 2030-01-01}\n  - {id: x, words: no, until: 2030-01-01}\n",
    says: "3:10 approvals[1].id there is already an approval with the id `x` | choose another id | 2:10 the first one is here",
    kind: "policy",
  },
  "duplicate-source": {
    text: "benchmark_sources:\n  - {id: x, url: https://a.example/x, format: json, columns: {}, models: {}}\n  - {id: x, url: https://a.example/x, format: json, columns: {}, models: {}}\n",
    says: "3:10 benchmark_sources[1].id there is already a benchmark source with the id `x` | choose another id | 2:10 the first one is here",
    kind: "policy",
  },
} satisfies Record<SpecCode, CodeCase>;
