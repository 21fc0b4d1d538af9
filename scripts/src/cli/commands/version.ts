import { EXIT } from "../../core/exit-codes.ts";
import { VERSION } from "../../core/generated/version.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async () => ({
  exitCode: EXIT.done,
  data: { version: VERSION, node: process.versions.node },
  text: VERSION,
  diagnostics: [],
  next: [],
});
