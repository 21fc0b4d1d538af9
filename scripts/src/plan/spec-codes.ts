/** Every code a spec, policy or runtimes file can be answered with: its severity and what it is about, for documents. */
import type { Severity } from "../core/diagnostic.ts";

interface CodeEntry {
  readonly severity: Severity;
  /** One line for a reference table. */
  readonly title: string;
}

const error = (title: string): CodeEntry => ({ severity: "error", title });
const warning = (title: string): CodeEntry => ({ severity: "warning", title });
const info = (title: string): CodeEntry => ({ severity: "info", title });

export const SPEC_CODES = {
  // The text itself.
  "not-utf8": error("the file is not UTF-8"),
  "nul-character": error("a NUL character"),
  "control-character": error("a control character other than tab, line feed and carriage return"),
  "not-unicode": error("half of a surrogate pair, which no file can hold"),
  "too-large": error("more than 1 MiB of YAML or 16 MiB of JSON"),
  "too-deep": error("nesting deeper than 20 levels"),
  "empty-document": error("a file without content"),
  "tab-character": error("a tab outside quoted or block text"),
  "yaml-syntax": error("text that is not YAML"),
  "yaml-anchor": error("an anchor (`&name`)"),
  "yaml-alias": error("an alias (`*name`)"),
  "yaml-tag": error("a tag (`!name`)"),
  "yaml-directive": error("a directive (`%NAME`)"),
  "merge-key": error("a merge key (`<<`)"),
  "several-documents": error("more than one document in a file"),
  "non-scalar-key": error("a list or map used as a key"),
  "forbidden-key": error("a key that programs use to reach an object's prototype"),
  "duplicate-key": error("the same key twice in one map"),
  "number-form": error("a number in a form that reads differently elsewhere"),
  "json-syntax": error("text that is not JSON"),
  "json-comment": error("a comment in JSON"),
  "json-trailing-comma": error("a comma after the last entry in JSON"),
  "more-faults": info("more was wrong than is listed"),
  // Shape.
  "unknown-key": error("a field that does not exist"),
  "missing-field": error("a required field is absent"),
  "wrong-type": error("a value of another type than the field has"),
  "not-allowed-value": error("a value outside a field's closed list"),
  "out-of-range": error("a number outside a field's bounds"),
  "too-short": error("text that is empty or shorter than a field needs"),
  "too-long": error("text that is longer than a field holds"),
  "bad-format": error("text in another form than a field needs"),
  "empty-list": error("a list or map without entries where one is needed"),
  "too-many-entries": error("a list with more entries than it may have"),
  "duplicate-entry": error("the same entry twice in a list"),
  "incomplete-pair": error("a field that only makes sense with another one"),
  "ambiguous-word": warning("a word that older YAML reads as true or false"),
  "bad-duration": error("text that is no duration"),
  "bad-job-id": error("text that is no job id"),
  "bad-runtime-name": error("text that is neither a runtime id nor a placeholder"),
  "bad-step": error("a step of a mock script that is not exactly one action"),
  // Meaning.
  "duplicate-job": error("two jobs with one id"),
  "task-or-model": error("a job with neither `task` nor `model`"),
  "prompt-and-skill": error("a job with both `prompt` and `skill`"),
  "generated-intent": warning("a job with neither `prompt` nor `skill`: its brief is generated"),
  "timeout-missing": error("a job without a timeout of its own or from `defaults`"),
  "duration-range": error("a duration outside a field's bounds"),
  "unknown-placeholder": error("a placeholder that does not exist or does not belong in this field"),
  "agent-not-in-session": error("`agent` on a job that does not run in the harness session"),
  "session-not-a-dependency": error("a session taken from a job that is no dependency"),
  "session-on-judgment": error("a session carried into review, audit or security work"),
  "session-other-runtime": error("a session taken from a job on another runtime"),
  "session-continued-twice": error("one session that two jobs continue"),
  "path-outside": error("a path that is absolute, climbs out of its folder or enters `.git`"),
  "bad-glob": error("an ownership glob that is negated, absolute or climbs out of its folder"),
  "input-not-a-dependency": error("an input from a job that is no dependency"),
  "input-not-an-output": error("an input that its job does not declare as output"),
  "output-conflict": error("one output path of two jobs that may run at the same time, or twice in one job"),
  "unknown-dependency": error("a dependency on a job that does not exist"),
  "self-dependency": error("a job that depends on itself"),
  "cyclic-dependency": error("jobs that wait for each other"),
  "unknown-job": error("the id of a job that does not exist"),
  "unknown-tool": error("a tool word that does not exist"),
  "raw-tool": error("a runtime's own tool name without an explicit runtime"),
  "invocation-without-runtime": error("`invocation` on a job that does not name one runtime"),
  "mock-without-mock-runtime": error("`mock` on a job of another runtime"),
  "permission-bypass": error("a flag that switches permission checks off"),
  "shell-string": error("a whole command line in a `command` field"),
  "env-name": error("text that is no variable name"),
  "env-refused": error("a variable that changes how other programs start"),
  "secret-in-spec": error("a credential in the file"),
  "intake-incomplete": info("no outcome, constraints or acceptance evidence was stated"),
  "calibration-off": info("acceptance without a judge is off for the run"),
  // With the host's answers.
  "root-missing": error("a workspace root that does not exist"),
  "cwd-missing": error("a job's folder that does not exist"),
  "cwd-outside-roots": error("a job's folder outside every workspace root"),
  "unknown-authority": error("an authority that the home policy does not hold"),
  "field-not-supported-yet": error(
    "a valid field whose behaviour this version does not have; only `run` refuses it",
  ),
  // Policy and runtimes files.
  "duplicate-runtime": error("two declared runtimes with one id"),
  "reserved-runtime": error("a declared runtime with the id of a built-in one"),
  "program-with-model": error("a program (`agent: false`) that declares what only an agent has"),
  "program-judgment": error("a program or classifier declared as C3"),
  "classifier-agent": error("a classifier that is not declared `agent: false`"),
  "bad-argv-hole": error("a hole in `argv` that nothing fills"),
  "duplicate-approval": error("two approvals with one id"),
  "duplicate-source": error("two benchmark sources with one id"),
} as const satisfies Record<string, CodeEntry>;

export type SpecCode = keyof typeof SPEC_CODES;
