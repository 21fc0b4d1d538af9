/** Stands in for a command that is still being written; the checks fail while anything uses it. */
import { EXIT } from "../core/exit-codes.ts";
import { type CommandResult, failure, type Handler } from "./context.ts";

export const notBuilt =
  (name: string): Handler =>
  async (): Promise<CommandResult> =>
    failure(EXIT.environment, [
      { severity: "error", code: "not-built", message: `\`${name}\` is not part of this build` },
    ]);
