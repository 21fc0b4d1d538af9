import { answer } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) =>
  answer(ctx, parsed.args[0], () => ({
    kind: "cancel",
    jobId: flagText(parsed, "job") ?? null,
    hard: false,
  }));
