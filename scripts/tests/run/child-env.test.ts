import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BASE_ENVIRONMENT } from "../../src/core/child-environment.ts";
import { HARNESS_MARKERS, isStrippedVariable, LOADER_VARIABLES } from "../../src/core/harness-markers.ts";
import { childEnvironment } from "../../src/run/child-env.ts";
import { freshFolder, nodeFixture, PATH, start } from "./support.ts";

const folder = freshFolder();
const MARKERS = Object.values(HARNESS_MARKERS).flat();

describe("the environment of a child", () => {
  it("has the base, what is allowed and what is set, and nothing else", () => {
    const { env, dropped } = childEnvironment({
      parent: {
        PATH: "/bin",
        HOME: "/home/x",
        ANTHROPIC_API_KEY: "k",
        MY_AGENT_HOME: "/agent",
        EDITOR: "vi",
      },
      allow: ["MY_AGENT_HOME", "NOT_SET"],
      set: { HOME: "/elsewhere", MODE: "headless" },
      marker: "run/job/1",
    });
    expect(env).toEqual({
      ORCHESTRATE_JOB: "run/job/1",
      PATH: "/bin",
      HOME: "/elsewhere",
      MY_AGENT_HOME: "/agent",
      MODE: "headless",
    });
    expect(dropped).toEqual([]);
  });

  it("never has a harness marker, a git or a loader variable, whoever asks for it", () => {
    const names = [
      ...MARKERS,
      ...LOADER_VARIABLES,
      "GIT_DIR",
      "GIT_CONFIG_COUNT",
      "LD_PRELOAD",
      "DYLD_INSERT_LIBRARIES",
    ];
    const parent = Object.fromEntries(names.map((name) => [name, "1"]));
    const { env, dropped } = childEnvironment({ parent, allow: names, set: parent, marker: "m" });
    expect(env).toEqual({ ORCHESTRATE_JOB: "m" });
    expect(dropped).toEqual([...new Set(names)].sort());
  });

  it("names the markers that it kept away although nobody asked for them", () => {
    const { dropped } = childEnvironment({
      parent: { CLAUDECODE: "1", GIT_DIR: ".git", UNRELATED: "x" },
      allow: [],
      set: {},
      marker: "m",
    });
    expect(dropped).toEqual(["CLAUDECODE", "GIT_DIR"]);
  });

  it("keeps our own variables for what we start ourselves, and only when an adapter sets them", () => {
    const parent = { ORCHESTRATE_HARNESS: "claude", ORCHESTRATE_MOCK: "outer" };
    const { env, dropped } = childEnvironment({
      parent,
      allow: ["ORCHESTRATE_HARNESS"],
      set: { ORCHESTRATE_MOCK: "inner" },
      marker: "m",
    });
    expect(env).toEqual({ ORCHESTRATE_JOB: "m", ORCHESTRATE_MOCK: "inner" });
    expect(dropped).toEqual(["ORCHESTRATE_HARNESS", "ORCHESTRATE_MOCK"]);
  });

  it("remembers the jobs around it, and cannot be talked out of its marker", () => {
    const { env } = childEnvironment({
      parent: { ORCHESTRATE_JOB: "middle", ORCHESTRATE_JOB_ANCESTORS: "outer" },
      allow: ["ORCHESTRATE_JOB"],
      set: { ORCHESTRATE_JOB: "forged", ORCHESTRATE_JOB_ANCESTORS: "forged" },
      marker: "inner",
    });
    expect(env).toEqual({ ORCHESTRATE_JOB: "inner", ORCHESTRATE_JOB_ANCESTORS: "outer\nmiddle" });
  });

  it("passes no variable that is neither in the base nor allowed nor set", () => {
    const name = fc.oneof(
      fc.constantFrom(...BASE_ENVIRONMENT, ...MARKERS),
      fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,12}$/),
    );
    const names = fc.array(name, { maxLength: 12 });
    fc.assert(
      fc.property(names, names, names, (has, allow, set) => {
        const parent = Object.fromEntries(has.map((key) => [key, "parent"]));
        const { env } = childEnvironment({
          parent,
          allow,
          set: Object.fromEntries(set.map((key) => [key, "set"])),
          marker: "m",
        });
        const granted = new Set([...BASE_ENVIRONMENT, ...allow, ...set, "ORCHESTRATE_JOB"]);
        if (has.includes("ORCHESTRATE_JOB")) granted.add("ORCHESTRATE_JOB_ANCESTORS");
        for (const key of Object.keys(env)) {
          expect(granted.has(key)).toBe(true);
          if (isStrippedVariable(key)) expect(key.startsWith("ORCHESTRATE_")).toBe(true);
        }
      }),
      { numRuns: 500, seed: 11 },
    );
  });

  it("lets a program start that refuses to run inside a harness", async () => {
    const { env } = childEnvironment({
      parent: { PATH, CLAUDECODE: "1", CODEX_SANDBOX: "1", SECRET_THING: "x" },
      allow: ["CLAUDECODE"],
      set: {},
      marker: "unused",
    });
    const lines: string[] = [];
    const started = start(folder, {
      argv: nodeFixture("print-env.mjs"),
      env,
      onLine: (line) => lines.push(line),
    });
    const result = await started.done;
    expect(result.exitCode).toBe(0);
    expect(Object.keys(JSON.parse(lines[0] ?? "{}")).sort()).toEqual(["ORCHESTRATE_JOB", "PATH"]);
    expect(JSON.parse(lines[0] ?? "{}").ORCHESTRATE_JOB).toBe(started.marker);
  });
});
