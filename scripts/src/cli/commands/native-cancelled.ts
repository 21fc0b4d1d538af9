import { answer, nativeTarget } from "../answer.ts";
import type { Handler } from "../context.ts";

export const handler: Handler = async (ctx, parsed) => {
  const target = nativeTarget(parsed);
  if ("exitCode" in target) return target;
  return answer(ctx, parsed.args[0], () => ({ kind: "native-cancelled", ...target }));
};
