import { loadConfig } from "../../coordinator/load-config.ts";
import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import { hasErrors } from "../../core/diagnostic.ts";
import { EXIT } from "../../core/exit-codes.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async (ctx) => {
  const config = loadConfig({ root: workspaceRoot(ctx.env.cwd), home: ctx.env.home, now: ctx.clock.now() });
  const lines = config.policy.flatMap((layer) => [
    `${layer.file} (${layer.source}${layer.confirmed ? "" : ", NOT confirmed: it may lower a capability, never raise one"})`,
    ...layer.entries.map(
      (entry) =>
        `  ${Object.entries(entry)
          .map(([key, value]) => `${key}: ${typeof value === "object" ? JSON.stringify(value) : value}`)
          .join(", ")}`,
    ),
  ]);
  const declared = config.declared.map(
    (d) => `${d.entry.id}: declared in ${d.path} (sha256 ${d.sha256.slice(0, 12)}…)`,
  );
  const none = config.files.length === 0;
  return {
    exitCode: hasErrors(config.diagnostics) ? EXIT.usage : EXIT.done,
    data: {
      files: config.files,
      policy: config.policy,
      declared: config.declared.map((d) => ({
        id: d.entry.id,
        source: d.source,
        path: d.path,
        sha256: d.sha256,
      })),
      approvals: [...config.approvals],
    },
    text: none
      ? "No policy here: every runtime has the tier and family that its adapter gives it."
      : [...lines, ...declared].join("\n"),
    diagnostics: config.diagnostics,
    next: [],
  };
};
