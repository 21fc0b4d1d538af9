/** `__mock SCRIPT`: plays the mock runtime's script; started by the coordinator, never by a person. */
import type { ExitCode } from "../../core/exit-codes.ts";
import { playScript } from "../../mock/program.ts";
import type { HiddenHandler } from "../context.ts";

// A script ends with any status it likes, as a foreign program does.
export const handler: HiddenHandler = async (_ctx, [script = ""]) => (await playScript(script)) as ExitCode;
