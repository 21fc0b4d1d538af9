import { describe, expect, it } from "vitest";
import { loginOf, onboardingOf } from "../../src/runtimes/onboarding.ts";
import { SHIPPED } from "../../src/runtimes/registry.ts";

const CLIS = SHIPPED.flatMap((adapter) => (adapter.executable === null ? [] : [adapter.id]));
const NEW = [24, 0] as const;

describe("setting up a runtime", () => {
  it("is recorded for every CLI that ships, and for nothing else", () => {
    expect(CLIS.map((id) => onboardingOf(id, NEW) === null)).toEqual(CLIS.map(() => false));
    for (const id of ["internal", "mock", "omp", "agy", "grok", "aider", "constructor", ""])
      expect([id, onboardingOf(id, NEW), loginOf(id)]).toEqual([id, null, null]);
  });

  it.each(CLIS)("of %s installs one package and takes the same one away", (id) => {
    for (const node of [[20, 19] as const, [22, 18] as const, [22, 19] as const, NEW]) {
      const steps = onboardingOf(id, node);
      expect(steps?.install.slice(0, 3)).toEqual(["npm", "install", "--global"]);
      expect(steps?.undo.slice(0, 3)).toEqual(["npm", "uninstall", "--global"]);
      expect(steps?.install).toHaveLength(4);
      expect(steps?.install[3]?.replace(/(?<=.)@[\d.]+$/, "")).toBe(steps?.undo[3]);
    }
  });

  it("takes a release that runs on this Node", () => {
    const versionOf = (id: string, node: readonly [number, number]) =>
      /(?<=.)@([\d.]+)$/.exec(onboardingOf(id, node)?.install[3] ?? "")?.[1] ?? null;
    expect([versionOf("claude", [20, 19]), versionOf("claude", [22, 0])]).toEqual(["2.1.197", null]);
    expect([versionOf("pi", [22, 18]), versionOf("pi", [22, 19])]).toEqual(["0.74.2", null]);
  });

  it.each(CLIS)("of %s logs in by a command of the program, never by a prompt to its model", (id) => {
    const login = loginOf(id);
    const [program, ...args] = login?.login.split(" ") ?? [];
    expect(program).toBe(SHIPPED.find((adapter) => adapter.id === id)?.executable);
    for (const word of args) expect(word).toMatch(/^[a-z]+$/);
    if (login?.inside !== null) expect([args, login?.inside]).toEqual([[], "/login"]);
  });
});
