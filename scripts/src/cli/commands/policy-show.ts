import { type Config, loadConfig } from "../../coordinator/load-config.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import { hasErrors } from "../../core/diagnostic.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { SHOWN_DIGEST } from "../../plan/capability.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async (ctx) => {
  const config = loadConfig({ root: workspaceRoot(ctx.env.cwd), home: ctx.env.home, now: ctx.clock.now() });
  return {
    exitCode: hasErrors(config.diagnostics) ? EXIT.usage : EXIT.done,
    data: {
      files: config.files,
      policy: config.policy,
      declared: config.declared.map(({ entry, source, path, sha256, confirmed, digest }) => ({
        id: entry.id,
        source,
        path,
        sha256,
        confirmed,
        digest: digest ?? null,
      })),
      unconfirmed: config.claimable.filter((one) => !one.confirmed),
      egress: config.egress,
      approvals: [...config.approvals],
    },
    text: textOf(config),
    diagnostics: config.diagnostics,
    next: [],
  };
};

function textOf(config: Config): string {
  if (config.files.length === 0)
    return "No policy here: every runtime has the tier and family that its adapter gives it.";
  const short = (digest: string): string => digest.slice(0, SHOWN_DIGEST);
  const state = (confirmed: boolean, digest: string | undefined): string =>
    confirmed || digest === undefined
      ? ""
      : `  (may only lower; to let it count: approve --policy ${short(digest)})`;
  return config.files
    .flatMap((file) => [
      `${file.path} (${file.source}, sha256 ${short(file.sha256)})`,
      ...config.policy
        .filter((layer) => layer.file === file.path)
        .flatMap((layer) =>
          layer.entries.map((entry, at) => {
            const one = layer.confirmations?.[at];
            return `  ${fieldsOf(entry)}${state(one?.confirmed ?? layer.confirmed, one?.digest)}`;
          }),
        ),
      ...config.declared
        .filter((one) => one.path === file.path)
        .map((one) => `  declares ${one.entry.id}: ${one.entry.command}${state(one.confirmed, one.digest)}`),
      ...config.egress
        .filter((one) => one.file === file.path && !one.counts)
        .map((one) => `  lets ${one.runtime} send to ${one.grant.provider}: does not count until confirmed`),
    ])
    .join("\n");
}

const fieldsOf = (entry: object): string =>
  Object.entries(entry)
    .map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
