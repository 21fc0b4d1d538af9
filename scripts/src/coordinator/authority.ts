/** What the home policy says beside a job's `authority`: shown with the request for approval, and granting nothing. */
import { join } from "node:path";
import { CONFIG_DIR } from "../core/layout.ts";
import type { PlanJob } from "../core/runtime.ts";
import { readTextIfPresent } from "../host/files.ts";
import { parsePolicy } from "../plan/config-files.ts";
import type { Session } from "./session.ts";

/** Null: the job names none. */
export function authorityText(s: Pick<Session, "env" | "redact">, job: PlanJob): string | null {
  if (job.authority === null) return null;
  const file = join(s.env.home, CONFIG_DIR, "policy.yaml");
  const text = readTextIfPresent(file);
  const found =
    text === null
      ? undefined
      : parsePolicy(text, file).policy?.approvals?.find((entry) => entry.id === job.authority);
  return found === undefined
    ? `names the authority \`${job.authority}\`, which the home policy does not hold any more`
    : `names the authority \`${job.authority}\` (“${s.redact(found.words)}”, until ${found.until}), which grants nothing by itself`;
}
