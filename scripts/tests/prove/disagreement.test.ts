import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Claim, findClaims } from "../../src/prove/claims.ts";
import { disagreeingJobs, type Speaker } from "../../src/prove/disagreement.ts";
import { PROPERTY } from "../support/property.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);

const job = (id: string, more: Partial<Speaker> = {}): Speaker => ({
  ...{ id, cwd: "/repo", dependsOn: [], writer: false },
  ...more,
});

/** Each job with the final text that it left. */
function among(...said: readonly (readonly [Speaker, string])[]): string[] {
  const claims = new Map(said.map(([one, text]) => [one.id, findClaims(text)]));
  return [
    ...disagreeingJobs(
      said.map(([one]) => one),
      claims,
    ),
  ].sort();
}

describe("jobs that disagree", () => {
  it.each([
    ["two digests of one file", `${A}  dist/app.js`, `${B}  dist/app.js`],
    ["a file there and gone", "- Created `notes.md`", "- Deleted `notes.md`"],
    ["a command passed and failed", "`npm test`: passed", "`npm test`: failed"],
  ])("are both named: %s", (_, one, two) => {
    expect(among([job("a"), one], [job("b"), two])).toEqual(["a", "b"]);
    expect(among([job("a"), one], [job("b"), one], [job("c"), two])).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["say the same", `${A}  x.js`, `${A}  x.js`],
    ["speak of different files", `${A}  x.js`, `${B}  y.js`],
    ["speak of different commands", "`npm test`: passed", "`npm run lint`: failed"],
    ["speak of a content and of a presence", `${A}  notes.md`, "- Deleted `notes.md`"],
    ["make no claim that leaves no room", "All tests pass.", "All tests fail."],
  ])("are none where they %s", (_, one, two) => {
    expect(among([job("a"), one], [job("b"), two])).toEqual([]);
  });

  it("mean a path from their own folder, and a command in it", () => {
    const web = job("web", { cwd: "/repo/web" });
    expect(among([job("a"), `${A}  web/x.js`], [web, `${B}  x.js`])).toEqual(["a", "web"]);
    expect(among([job("a"), `${A}  /repo/x.js`], [web, `${B}  ../x.js`])).toEqual(["a", "web"]);
    expect(among([job("a"), `${A}  x.js`], [web, `${B}  x.js`])).toEqual([]);
    for (const command of ["npm test", "/bin/check all"])
      expect(among([job("a"), `\`${command}\`: passed`], [web, `\`${command}\`: failed`])).toEqual([]);
  });

  it("do not where a writer stands between what they saw", () => {
    const failed = "`npm test`: failed";
    const passed = "`npm test`: passed";
    const look = job("look");
    const mend = job("mend", { dependsOn: ["look"], writer: true });
    const again = job("again", { dependsOn: ["mend"] });
    expect(among([look, failed], [mend, passed])).toEqual([]);
    expect(among([again, passed], [mend, ""], [look, failed])).toEqual([]);
    // Nothing was changed in between: one of them is wrong.
    expect(among([look, failed], [job("second", { dependsOn: ["look"] }), passed])).toEqual([
      "look",
      "second",
    ]);
    expect(
      among([job("writer", { writer: true }), failed], [job("b", { dependsOn: ["writer"] }), passed]),
    ).toEqual(["b", "writer"]);
    expect(among([look, failed], [job("beside", { writer: true }), passed])).toEqual(["beside", "look"]);
    // The two later ones saw the same state.
    expect(among([look, failed], [mend, passed], [again, failed])).toEqual(["again", "mend"]);
  });

  it("are found whatever the order, with and without dependencies that are not there or go in a circle", () => {
    const jobs = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom("a", "b", "c", "d", "e"),
        cwd: fc.constant("/repo"),
        dependsOn: fc.array(fc.constantFrom("a", "b", "c", "d", "gone"), { maxLength: 3 }),
        writer: fc.boolean(),
        claimed: fc.constantFrom("passed", "failed", null),
      }),
      { selector: (one) => one.id, maxLength: 5 },
    );
    fc.assert(
      fc.property(jobs, fc.boolean(), (all, turn) => {
        const claims = new Map(
          all.flatMap(({ id, claimed }): [string, Claim[]][] =>
            claimed === null
              ? []
              : [
                  [
                    id,
                    [{ kind: claimed === "passed" ? "check-passed" : "check-failed", subject: "x", claimed }],
                  ],
                ],
          ),
        );
        const found = disagreeingJobs(turn ? [...all].reverse() : all, claims);
        expect(found).toEqual(disagreeingJobs(all, claims));
        // Never one alone, and nobody who said nothing.
        expect(found.size === 1).toBe(false);
        for (const id of found) expect(claims.has(id)).toBe(true);
      }),
      PROPERTY,
    );
  });
});
