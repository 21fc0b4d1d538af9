import { FAILURE_RULES, type FailureClass } from "../../core/runtime.ts";
import { answer, missing, nativeTarget } from "../answer.ts";
import { flagText, type Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) => {
  const target = nativeTarget(parsed);
  if ("exitCode" in target) return target;
  const message = flagText(parsed, "message");
  const failureClass = flagText(parsed, "class");
  if (failureClass === undefined)
    return missing("--class CLASS", `one of ${Object.keys(FAILURE_RULES).join(", ")}`);
  if (message === undefined) return missing("--message TEXT", "one sentence on what happened");
  return answer(ctx, parsed.args[0], () => ({
    kind: "native-fail",
    ...target,
    failureClass: failureClass as FailureClass,
    message,
  }));
};
