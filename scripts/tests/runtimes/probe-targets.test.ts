import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROBE_TARGETS, recognize } from "../../src/runtimes/probe-targets.ts";
import { SHIPPED } from "../../src/runtimes/registry.ts";

const target = (id: string) => PROBE_TARGETS.find((entry) => entry.id === id)!;

describe("probe targets", () => {
  it("are no shipped runtimes, and no run of any is recorded", () => {
    const shipped = SHIPPED.map((adapter) => adapter.id);
    const streams = readdirSync(new URL("../fixtures/streams/", import.meta.url));
    expect(
      PROBE_TARGETS.map(({ id }) => [
        id,
        shipped.includes(id),
        streams.filter((name) => name.startsWith(`${id}-`)).length,
      ]),
    ).toEqual([
      ["omp", false, 0],
      ["agy", false, 0],
      ["grok", false, 0],
      ["aider", false, 0],
    ]);
  });

  it("tell the two programs of one name apart by their help", () => {
    const grok = target("grok");
    expect(recognize(grok, "  --prompt-file <F>\n  --output-format <plain|json|streaming-json>\n")).toBe(
      "xAI Grok Build",
    );
    expect(recognize(grok, "  -p, --prompt <prompt>\n  --max-tool-rounds <rounds>\n")).toBe(
      "community grok-cli",
    );
    expect(recognize(grok, "  --help\n")).toBeNull();
    // Both at once is neither.
    expect(recognize(grok, "--prompt-file --output-format --max-tool-rounds")).toBeNull();
  });

  it.each([
    ["omp", "  --approval-mode <mode>\n  --no-lsp\n"],
    ["agy", "  --print-timeout 5m\n  --conversation ID\n"],
    ["aider", "  --message-file F\n  --auto-commits, --no-auto-commits\n"],
  ])("know %s by its help", (id, help) => {
    expect(recognize(target(id), help)).toBe(target(id).programs[0]?.name);
  });
});
