import { describe, expect, it } from "vitest";
import { renderReportHtml } from "../../src/prove/report-html.ts";
import { GRAPH_MAX_JOBS } from "../../src/prove/report-html-graph.ts";
import { ATTACKS, runWith } from "./hostile-run.ts";
import { attemptOf, graphOf, jobOf, NOW, planJob, stateOf } from "./sample-run.ts";

const pageOf = (count: number): Promise<string> => {
  const plans = Array.from({ length: count }, (_, i) =>
    planJob(`j${i}`, { dependsOn: i === 0 ? [] : [`j${Math.floor((i - 1) / 2)}`] }),
  );
  return renderReportHtml({
    graph: graphOf(plans, { criticalPath: ["j0", "j1"] }),
    state: stateOf(
      Object.fromEntries(
        plans.map((plan, i) => [
          plan.id,
          jobOf([attemptOf()], { outcome: i === 0 ? "accepted" : "pending" }),
        ]),
      ),
    ),
    inventory: null,
    runDir: "/run",
    script: "/skill/orchestrate.mjs",
    trace: { status: "complete", records: 1, lost: 0, reason: null },
    now: NOW,
  });
};
/** Every tag with its attribute names, in order. */
const tags = (html: string): string[] =>
  [...html.matchAll(/<(\/?[a-z][a-z0-9-]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*\/?>/g)].map(
    ([, name, attributes]) =>
      `${name} ${[...(attributes ?? "").matchAll(/([a-zA-Z-]+)(?:=|$|\s)/g)].map(([, key]) => key).join(" ")}`,
  );

describe("report.html", () => {
  it("is one file that loads, runs and sends nothing", async () => {
    const html = await pageOf(7);
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(
      /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1]?.replaceAll("&#x27;", "'"),
    ).toBe("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'");
    expect(html).not.toMatch(
      /<script|<link|<img|<iframe|<object|\son[a-z]+=|url\((?!#)|@import|javascript:/i,
    );
    expect([...html.matchAll(/href="([^"]*)"/g)].every(([, href]) => href?.startsWith("#"))).toBe(true);
  });

  it("has a target for each of its links, one main heading and names for its regions", async () => {
    const html = await pageOf(7);
    const targets = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const [, id] of html.matchAll(/href="#([^"]+)"/g)) expect(targets).toContain(id);
    expect(html.match(/<h1>/g)).toHaveLength(1);
    for (const [region] of html.matchAll(/<div[^>]*role="region"[^>]*>/g))
      expect(region).toMatch(/aria-label="[^"]+"/);
    expect(html).toContain('<svg class="fit"');
    expect(html).toContain('role="img" aria-labelledby="graph-title"');
  });

  it("draws a node for each job and an edge for each dependency, and leaves very large graphs out", async () => {
    const html = await pageOf(31);
    expect(html.match(/<g class="node /g)).toHaveLength(31);
    expect(html.match(/<path class="edge"/g)).toHaveLength(30);
    expect(html).toContain("<title>j0: success, accepted, R0</title>");
    expect(await pageOf(GRAPH_MAX_JOBS + 1)).not.toContain("<svg");
    expect(await pageOf(1)).not.toContain("<svg");
  });

  it("is the same page around any text of others", async () => {
    const expected = tags(await renderReportHtml(runWith("harmless")));
    expect(expected.length).toBeGreaterThan(200);
    for (const attack of ATTACKS) {
      const found = tags(await renderReportHtml(runWith(attack)));
      // Back-quoted words become code, which is the one element that text may ask for.
      const rest = (list: readonly string[]): string[] => list.filter((tag) => !/^\/?code /.test(tag));
      expect(rest(found), JSON.stringify(attack)).toEqual(rest(expected));
    }
  });
});
