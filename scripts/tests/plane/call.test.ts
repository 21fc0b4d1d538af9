/** Questions to real processes: the reference classifier, and programs that do not keep the protocol. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import validateEnvelope from "../../src/core/generated/plane-envelope.validate.js";
import { askClassifier } from "../../src/plane/call.ts";
import { buildEnvelope } from "../../src/plane/envelope.ts";
import { PLANE_TASKS, type PlaneTask } from "../../src/plane/tasks.ts";
import { RULES } from "../support/plane.ts";

const TASKS = Object.keys(PLANE_TASKS) as PlaneTask[];
const env = { PATH: process.env["PATH"] ?? "" };

const envelopeOf = (task: PlaneTask, text = "all of it is there") =>
  buildEnvelope({
    task,
    pieces: [{ label: "claims", provenance: "job", contentClass: "result", text }],
    allowed: new Set(["result"]),
    redact: (value) => value,
  });

const ask = (script: string, o: { timeoutMs?: number } = {}) =>
  askClassifier({
    task: "graph_relation",
    envelope: envelopeOf("graph_relation"),
    argv: ["sh", "-c", script],
    cwd: "/",
    env,
    ...o,
  });

const ANSWER = JSON.stringify({
  schemaVersion: 1,
  task: "graph_relation",
  answers: { relation: { choice: "same_work", probabilities: { same_work: 1 } } },
});

describe("the reference classifier", () => {
  it.each(TASKS)("gets an envelope of the schema about %s and answers by the schema", async (task) => {
    const envelope = envelopeOf(task);
    expect(validateEnvelope(JSON.parse(envelope.text))).toBe(true);
    const asked = await askClassifier({ task, envelope, argv: [process.execPath, RULES], cwd: "/", env });
    expect(asked.reason).toBe("ok");
  });

  it("tells finished work from work that says it is not", async () => {
    const signals = async (text: string) => {
      const asked = await askClassifier({
        task: "micro_arbiter",
        envelope: envelopeOf("micro_arbiter", text),
        argv: [process.execPath, RULES],
        cwd: "/",
        env,
      });
      return asked.answers?.artifact_matches_expected_output;
    };
    expect(await signals("the report")).toBeGreaterThan(0.9);
    expect(await signals("placeholder: the report")).toBeLessThan(0.9);
  });
});

describe("a question", () => {
  it("is answered once, by what is printed", async () => {
    expect(await ask(`cat > /dev/null; echo '${ANSWER}'`)).toEqual({
      reason: "ok",
      answers: { relation: { choice: "same_work", probabilities: { same_work: 1 } } },
    });
  });

  it("reaches the classifier whole, with the environment it was given and no other", async () => {
    const check = `test "$(wc -c)" -gt 100 && test -z "$HOME" && echo '${ANSWER}'`;
    expect((await ask(check)).reason).toBe("ok");
  });

  it("is malformed when the program fails, cannot be started, or says more or less than an answer", async () => {
    for (const script of ["exit 0", `echo '${ANSWER}'; exit 1`, `echo note; echo '${ANSWER}'`, "kill -9 $$"])
      expect([script, (await ask(script)).reason]).toEqual([script, "malformed"]);
    const gone = await askClassifier({
      task: "router",
      envelope: envelopeOf("router"),
      argv: [join("/", "gone", "classifier")],
      cwd: "/",
      env,
    });
    expect(gone).toEqual({ reason: "malformed", answers: null });
  });

  it("is not waited for past its deadline", async () => {
    expect(await ask(`sleep 60; echo '${ANSWER}'`, { timeoutMs: 200 })).toEqual({
      reason: "timeout",
      answers: null,
    });
  });
});
