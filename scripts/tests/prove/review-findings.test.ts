import { describe, expect, it } from "vitest";
import { findsFault, isReview, openFindings, readReview } from "../../src/prove/review-findings.ts";
import { attemptOf, jobOf, planJob } from "./sample-run.ts";

describe("the text of a review", () => {
  it.each([
    ["Verdict: pass", "pass"],
    ["verdict: FAIL", "fail"],
    ["## Verdict: blocked, for want of the diff", "blocked"],
    ["**Verdict:** `fail`", "fail"],
    ["> Overall verdict: fail", "fail"],
    ["- Verdict : pass.", "pass"],
    ["Verdict: pass\nlater\nVerdict: fail", "fail"],
    ["Verdict: passable", null],
    ["My verdict: fail", null],
    ["The verdict is fail", null],
    ["", null],
  ])("%j says %j", (text, verdict) => {
    expect(readReview(text).verdict).toBe(verdict);
  });

  it.each([
    ["Finding: the check is empty", ["the check is empty"]],
    ["Finding 1: a\nFinding 2: b", ["a", "b"]],
    ["- **Finding:** the check is empty **", ["the check is empty"]],
    ["> Finding 12: x", ["x"]],
    ["Finding: none", []],
    ["Finding: None.", []],
    ["Finding: n/a", []],
    ["Finding: nothing!", []],
    ["Finding: -", []],
    ["Finding: none of the tests run", ["none of the tests run"]],
    ["Finding: there is none", ["there is none"]],
    ["Finding:\nnext line", []],
    ["Findings are below", []],
    ["A finding: x", []],
    ["Finding: **", []],
  ])("%j finds %j", (text, findings) => {
    expect(readReview(text).findings).toEqual(findings);
  });

  it("finds fault with a finding, or with any verdict but a pass", () => {
    const fault = (text: string): boolean => findsFault(readReview(text));
    expect(fault("Verdict: pass")).toBe(false);
    expect(fault("It is fine.")).toBe(false);
    expect(fault("Verdict: fail")).toBe(true);
    expect(fault("Verdict: blocked")).toBe(true);
    expect(fault("Finding: x\nVerdict: pass")).toBe(true);
  });
});

describe("open findings", () => {
  it("are those of reviews, audits and security jobs", () => {
    const tasks = ["review", "audit", "security", "scout", "implement", "architecture"] as const;
    expect(tasks.filter((task) => isReview({ task }))).toEqual(["review", "audit", "security"]);
  });

  it("belong to what the review depends on, while its work is current and in success", () => {
    const jobs = [
      planJob("work"),
      planJob("other"),
      planJob("look", { task: "review", dependsOn: ["work", "other"] }),
      planJob("deep", { task: "audit", dependsOn: ["work"] }),
      planJob("calm", { task: "security", dependsOn: ["other"] }),
      planJob("broken", { task: "review", dependsOn: ["other"] }),
      planJob("scout", { dependsOn: ["other"] }),
      planJob("waits", { task: "review", dependsOn: ["other"] }),
    ];
    const found = attemptOf({ flags: ["review-finding"] });
    const state = {
      work: jobOf([attemptOf()]),
      other: jobOf([attemptOf()]),
      look: jobOf([found]),
      deep: jobOf([found]),
      calm: jobOf([attemptOf()]),
      broken: jobOf([{ ...found, status: "failed" }], { status: "failed" }),
      scout: jobOf([found]),
      waits: jobOf([]),
    };
    expect([...openFindings({ jobs }, { jobs: state })]).toEqual([
      ["work", ["look", "deep"]],
      ["other", ["look"]],
    ]);
  });
});
