import { describe, expect, it } from "vitest";
import type { Candidate, RuntimeRecord } from "../../src/core/runtime.ts";
import { routeArbiter, unjudgeable } from "../../src/plan/route-arbiter.ts";
import type { Route } from "../../src/plan/route-words.ts";
import {
  declaredAgent,
  internalRecord,
  member,
  mockRecord,
  planJob,
  program,
  record,
  world,
} from "./plan-support.ts";

const ANY = { runtime: null, fallbackRuntime: [], model: null, effort: null };
const leads = (...chain: Candidate[]) => planJob({}, chain);
const claude = record({ id: "claude" });
const codex = record({ id: "codex" });

describe("who judges a run", () => {
  const route = (jobs: Parameters<typeof routeArbiter>[1], records: readonly RuntimeRecord[]): Route =>
    routeArbiter(ANY, jobs, world(records));
  const names = ({ chain }: Route) => chain.map(({ runtime, independence }) => `${runtime} ${independence}`);
  const byClaude = member({ runtime: "claude", family: "claude-vendor" });
  const byCodex = member({ runtime: "codex", family: "codex-vendor" });

  it("is of another family than those who lead its jobs", () => {
    expect(names(route([leads(byClaude)], [claude, codex]))).toEqual([
      "codex independent",
      expect.stringMatching(/^claude /),
    ]);
    expect(names(route([leads(byCodex)], [claude, codex]))[0]).toBe("claude independent");
  });

  it("is measured by the leaders alone, not by who might follow them", () => {
    expect(names(route([leads(byClaude, byCodex)], [claude, codex]))[0]).toBe("codex independent");
  });

  it("counts no family of a program", () => {
    const tool = { ...byClaude, runtime: "tool", kind: "program" } as const;
    expect(names(route([leads(tool)], [claude]))).toEqual(["claude independent"]);
    expect(names(route([leads(byClaude)], [claude]))).not.toEqual(["claude independent"]);
  });

  it("is of capability C3: an agent that only its operator vouches for does not judge", () => {
    expect(names(route([leads(byClaude)], [declaredAgent({ id: "pi" })]))).toEqual([]);
  });

  it("is the same whatever order the jobs have", () => {
    const unknown = member({ runtime: "pi", family: null });
    const jobs = [leads(byCodex), leads(unknown), leads(byClaude), planJob({}, [])];
    const third = record({ id: "third" });
    expect(route(jobs, [claude, codex, third])).toEqual(route([...jobs].reverse(), [third, codex, claude]));
  });

  it("is nobody but the harness where nobody else may, and the script player for scripts alone", () => {
    const native = {
      code: "needs-arbiter",
      detail: "verdicts are asked from the harness by `arbitrate_native`, in a session of its own",
    };
    expect(route([leads(byClaude)], []).blocked).toEqual(native);
    expect(route([], []).blocked).toEqual(native);
    const scripted = leads(member({ runtime: "mock", family: "mock-a" }));
    expect(names(route([scripted], [mockRecord()]))).toEqual(["mock independent"]);
    expect(route([scripted], []).blocked).not.toEqual(native);
    expect(route([scripted, leads(byClaude)], [mockRecord()]).blocked).toEqual(native);
  });

  it("only reads: who cannot be kept from writing is passed over", () => {
    const loose = record({ id: "loose", toolGating: { value: "none", evidence: "verified" } });
    expect(names(route([leads(byClaude)], [loose, codex]))[0]).toBe("codex independent");
  });
});

describe("external work", () => {
  const judge = (o: Partial<Candidate> & { runtime: string }) => planJob({}, [member(o)]).route;
  const deploy = (o: Partial<Candidate> = {}, riskTier: "R2" | "R3" = "R3") =>
    planJob({ id: "deploy", riskTier }, [member({ runtime: "claude", family: "x", ...o })]);
  const nobody = planJob({}, []).route;
  const open = { value: "none", evidence: "verified" } as const;
  const ask = (job: ReturnType<typeof deploy>, arbiter: Route, ...records: RuntimeRecord[]): string | null =>
    unjudgeable(job, arbiter, { records })?.detail ?? null;

  it("does not start where nobody could accept it, and says what would help", () => {
    expect(unjudgeable(deploy(), nobody, { records: [] })).toEqual({
      code: "needs-arbiter",
      detail:
        "R3 work needs an arbiter of capability C3 of another model family than `x`, or one whose tools are provably withheld; none is at hand, so `deploy` does not start. To go on, name a harness of another family that dispatches subagents (`resume RUN --harness NAME --subagents`), or set up a CLI agent of capability C3 of another family (`doctor` says what is missing), or give one C3 in the home policy (`policy set`), then `resume RUN`",
    });
    expect(ask(deploy({ family: null }), nobody)).toBe(
      "R3 work needs an arbiter of capability C3 whose tools are provably withheld; none is at hand, so `deploy` does not start. To go on, set up a CLI agent of capability C3 (`doctor` says what is missing), or give one C3 in the home policy (`policy set`), then `resume RUN`",
    );
    expect(ask(deploy({ kind: "program", family: null }), nobody)).toBe(
      "R3 work needs an arbiter of capability C3; none is at hand, so `deploy` does not start. To go on, name a harness that dispatches subagents (`resume RUN --harness NAME --subagents`), or set up a CLI agent of capability C3 (`doctor` says what is missing), or give one C3 in the home policy (`policy set`), then `resume RUN`",
    );
  });

  it("is only R3 work, of somebody, and not a script", () => {
    expect(ask(deploy({}, "R2"), nobody)).toBeNull();
    expect(ask({ ...deploy(), route: nobody }, nobody)).toBeNull();
    expect(ask(deploy({ runtime: "mock" }), nobody)).toBeNull();
  });

  it("is accepted by an agent of another family, whatever its tools", () => {
    const loose = record({ id: "codex", toolGating: open });
    expect(ask(deploy(), judge({ runtime: "codex", family: "y" }), loose)).toBeNull();
    for (const family of ["x", null])
      expect(ask(deploy(), judge({ runtime: "codex", family }), loose)).not.toBeNull();
    expect(ask(deploy({ family: null }), judge({ runtime: "codex", family: "y" }), loose)).not.toBeNull();
    expect(ask(deploy({ kind: "program", family: null }), judge({ runtime: "codex" }), loose)).toBeNull();
  });

  it("is accepted by one of the same family whose tools are provably withheld", () => {
    expect(ask(deploy(), judge({ runtime: "codex", family: "x" }), codex)).toBeNull();
    expect(ask(deploy({ family: null }), judge({ runtime: "codex" }), codex)).toBeNull();
  });

  it("is accepted by any member of the chain, but no script, program or runtime that is gone", () => {
    const chain = [member({ runtime: "gone", family: "y" }), member({ runtime: "codex", family: "y" })];
    expect(ask(deploy(), { ...nobody, chain }, codex)).toBeNull();
    expect(ask(deploy(), { ...nobody, chain }, claude)).not.toBeNull();
    expect(ask(deploy(), judge({ runtime: "mock", family: "y" }), mockRecord())).not.toBeNull();
    const tool = program({ id: "tool", toolGating: { value: "granular", evidence: "verified" } });
    expect(ask(deploy(), judge({ runtime: "tool", kind: "program", family: "y" }), tool)).not.toBeNull();
  });

  it("is accepted by the harness when that is there and of another family", () => {
    const harness = (o: Partial<RuntimeRecord> = {}) => internalRecord({ family: "y", ...o });
    expect(ask(deploy(), nobody, harness())).toBeNull();
    expect(ask(deploy(), nobody, harness({ state: "unavailable" }))).not.toBeNull();
    expect(ask(deploy(), nobody, harness({ family: "x" }))).not.toBeNull();
    expect(ask(deploy(), nobody, harness({ family: null }))).not.toBeNull();
    expect(ask(deploy({ kind: "program", family: null }), nobody, harness({ family: null }))).toBeNull();
  });
});
