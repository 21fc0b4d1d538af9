/** The payload names no model and no price: what is live is asked, and a catalogue in prose is wrong within weeks. */
import { type Check, type CheckResult, hits, matching } from "./check.ts";
import { PAYLOAD_DIR } from "./places.ts";

/** Families of model names with a number behind them, and amounts of money per something. */
const MODEL =
  /\b(?:gpt|claude|gemini|grok|llama|qwen|mistral|deepseek|kimi|glm|o)[- ]?(?:opus|sonnet|haiku|fable|flash|pro|mini|nano|turbo|large)?[- ]?\d+(?:[.-]\d+)?(?:[- ](?:opus|sonnet|haiku|flash|pro|mini|codex|high|preview))?\b(?!\.\d+\.\d+)/gi;
const PRICE = /[$€£]\s?\d+(?:[.,]\d+)?|\b\d+(?:[.,]\d+)?\s?(?:USD|EUR)\b/g;

export const noCatalogue: Check = {
  id: "no-catalogue",
  promise: "no model name and no price stands in the payload's prose",
  step: "docs",
  run(files): CheckResult {
    let looked = 0;
    const findings = [...matching(files, new RegExp(`^${PAYLOAD_DIR}.*\\.md$`))].flatMap(([path, text]) => {
      looked += 1;
      return [
        ...hits(path, text, MODEL, (hit) => `\`${hit}\` is the name of a model: what is live is asked`),
        ...hits(path, text, PRICE, (hit) => `\`${hit}\` is a price: what something costs is measured`),
      ];
    });
    return { looked, findings };
  },
};
