import { describe, expect, it } from "vitest";
import {
  checkCwdPlaceholder,
  checkModelPlaceholder,
  checkRuntimePlaceholder,
} from "../../src/plan/check-placeholders.ts";
import { saidBy } from "./rule-support.ts";

const RUNTIMES =
  "`<verified-cli-runtime>`, `<verified-read-runtime>`, `<verified-judgment-runtime>` or `<verified-fallback-runtime>`";

describe("a placeholder", () => {
  const runtime = (text: string | undefined) =>
    saidBy((say) => checkRuntimePlaceholder(text, ["jobs", 0, "runtime"], say));
  const cwd = (text: string | undefined) => saidBy((say) => checkCwdPlaceholder(text, ["cwd"], say));
  const model = (text: string | undefined) => saidBy((say) => checkModelPlaceholder(text, ["model"], say));

  it("of its own field is accepted, and so is what is none", () => {
    expect(runtime("<verified-judgment-runtime>")).toEqual([]);
    expect(cwd("<workspace-root>")).toEqual([]);
    expect(model("<resolved-model>")).toEqual([]);
    for (const text of [undefined, "", "claude", "a<b", "a>b", ">a<", "a < b"])
      expect([runtime(text), cwd(text), model(text)]).toEqual([[], [], []]);
  });

  it("of another field is refused", () => {
    expect(model("<workspace-root>")).toEqual([
      "unknown-placeholder model `model` is `<workspace-root>`, but its placeholders are `<resolved-model>` | use one of them as the whole value, or a name",
    ]);
    expect(cwd("<resolved-model>")).toEqual([
      "unknown-placeholder cwd `cwd` is `<resolved-model>`, but its placeholders are `<workspace-root>` | use one of them as the whole value, or a name",
    ]);
  });

  it("with a typing error is told what was meant", () => {
    expect(runtime("<verified-judgement-runtime>")).toEqual([
      `unknown-placeholder jobs[0].runtime \`runtime\` is \`<verified-judgement-runtime>\`, but its placeholders are ${RUNTIMES} | did you mean \`<verified-judgment-runtime>\`?`,
    ]);
  });

  it("inside a longer text would never be filled in, and is refused", () => {
    expect(cwd("<workspace-root>/packages/shop")).toEqual([
      "unknown-placeholder cwd `cwd` is `<workspace-root>/packages/shop`, but its placeholders are `<workspace-root>` | use one of them as the whole value, or a name",
    ]);
    expect(model("x <>")).toEqual([
      "unknown-placeholder model `model` is `x <>`, but its placeholders are `<resolved-model>` | use one of them as the whole value, or a name",
    ]);
  });
});
