import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readHelp } from "../../src/runtimes/help-flags.ts";
import { PROPERTY } from "../support/property.ts";

const recorded = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/help/${name}.txt`, import.meta.url)), "utf8");

describe("live help", () => {
  it("of commander: two names, wrapped text, choices in brackets", () => {
    const help = readHelp([recorded("claude-2.1.197")]);
    for (const flag of [
      "-p",
      "--print",
      "--allowedTools",
      "--allowed-tools",
      "--tools",
      "--permission-mode dontAsk",
    ])
      expect([flag, help.has(flag)]).toEqual([flag, true]);
    expect(help.choices("--output-format")).toEqual(["text", "json", "stream-json"]);
    expect(help.choices("--effort")).toEqual(["low", "medium", "high", "xhigh", "max"]);
    // Hidden from help, and therefore not there.
    expect(help.has("--max-turns")).toBe(false);
    expect(help.has("--permission-mode yolo")).toBe(false);
  });

  it("of clap: values in a paragraph of their own", () => {
    const help = readHelp([recorded("codex-0.171.0-exec"), recorded("codex-0.171.0-exec-resume")]);
    for (const flag of [
      "-s",
      "--sandbox",
      "--json",
      "--cd",
      "-C",
      "--skip-git-repo-check",
      "--config",
      "--last",
    ])
      expect([flag, help.has(flag)]).toEqual([flag, true]);
    expect(help.choices("--sandbox")).toEqual(["read-only", "workspace-write", "danger-full-access"]);
  });

  it("of yargs: types and choices at the end", () => {
    const gemini = readHelp([recorded("gemini-0.61.0")]);
    expect(gemini.choices("--approval-mode")).toEqual(["default", "auto_edit", "yolo", "plan"]);
    expect(gemini.has("--output-format stream-json")).toBe(true);
    expect(gemini.has("--policy")).toBe(true);
    const opencode = readHelp([recorded("opencode-1.18.33-run")]);
    expect(opencode.has("--format json")).toBe(true);
    expect(opencode.has("--dir")).toBe(true);
    expect(opencode.has("--json")).toBe(false);
  });

  it("of a hand-written page: defaults in brackets between the values", () => {
    const help = readHelp([recorded("pi-0.74.2")]);
    expect(help.choices("--mode")).toEqual(["text", "json", "rpc"]);
    expect(help.choices("--thinking")).toEqual(["off", "minimal", "low", "medium", "high", "xhigh"]);
    for (const flag of ["--tools", "-t", "--no-tools", "-nt", "--print", "-p", "--no-session"])
      expect([flag, help.has(flag)]).toEqual([flag, true]);
  });

  it("does not take a flag from a description or an example for one that is offered", () => {
    const help = readHelp([
      "Options:\n  --real  use instead of --fake\n\nExamples:\n  tool --shown-in-example x\n",
    ]);
    expect([help.has("--real"), help.has("--fake"), help.has("--shown-in-example")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("knows both names of a negatable flag", () => {
    const help = readHelp(["  --[no-]color  colours\n"]);
    expect([help.has("--color"), help.has("--no-color")]).toEqual([true, true]);
  });

  it("reads anything without throwing", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const help = readHelp([text]);
        for (const flag of help.flags) {
          expect(flag.startsWith("-")).toBe(true);
          help.choices(flag);
        }
      }),
      PROPERTY,
    );
  });
});
