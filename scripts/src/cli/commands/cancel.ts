import { answer, unknownJob } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) =>
  answer(
    ctx,
    parsed.args[0],
    (view) =>
      unknownJob(view, flagText(parsed, "job")) ?? {
        kind: "cancel",
        jobId: flagText(parsed, "job") ?? null,
        hard: false,
      },
  );
