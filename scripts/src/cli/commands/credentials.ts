import { workspaceRoot } from "../../coordinator/workspace-root.ts";
import { EXIT } from "../../core/exit-codes.ts";
import { credentialPlaces, findCredential, REFERENCE_KEY } from "../../plane/credentials.ts";
import type { Handler } from "../context.ts";
import { scriptOf } from "../own-command.ts";

const NAMES = {
  env: "the process environment",
  "project-env": "the project's .env",
  "skills-env": "the skills folder's .env",
  "skill-env": "the skill's own .env",
} as const;

/** Says where the key would come from; its value, length and form are never looked at here. */
export const handler: Handler = async (ctx) => {
  const places = credentialPlaces({
    environment: (name) => ctx.env.get(name),
    workspaceRoot: workspaceRoot(ctx.env.cwd),
    script: scriptOf(ctx),
  });
  const { source, trust, shadowed } = findCredential(places);
  const order = [
    { source: "env", path: null },
    { source: "project-env", path: places.project },
    { source: "skills-env", path: places.skills },
    { source: "skill-env", path: places.skill },
  ];
  const found =
    source === "absent"
      ? `${REFERENCE_KEY}: absent. The decision plane is off for a classifier that needs it.`
      : `${REFERENCE_KEY}: from ${NAMES[source]} (\`${source}\`, trust: ${trust}).`;
  const hidden = shadowed.map((name) => `Shadowed: ${NAMES[name]} (\`${name}\`) holds a value too.`);
  const looked = order.map(
    (place, at) => `${at + 1}. ${place.source}${place.path === null ? "" : `: ${place.path}`}`,
  );
  return {
    exitCode: EXIT.done,
    data: {
      variable: REFERENCE_KEY,
      credentialSource: source,
      credentialTrust: trust,
      shadowed,
      order,
    },
    text: [found, ...hidden, "Looked in this order:", ...looked].join("\n"),
    diagnostics: hidden.map((message) => ({
      severity: "warning" as const,
      code: "credential-shadowed",
      message,
    })),
    next: [],
  };
};
