import { EXIT } from "../../core/exit-codes.ts";
import type { HiddenHandler } from "../context.ts";

export const handler: HiddenHandler = async () => EXIT.environment;
