/** The job graph as a static SVG figure. */
import { Graph as LayoutGraph, layout } from "@dagrejs/dagre";
import { h, s } from "hastscript";
import type { Graph, Job, State } from "../core/runtime.ts";
import { plainText } from "./report-text.ts";

export type Element = ReturnType<typeof h>;

/** A larger graph is a tangle to the eye; the table of jobs has it all. */
export const GRAPH_MAX_JOBS = 200;
const NODE = { width: 196, height: 52 } as const;
const MARGIN = 12;
const FIT_MAX_WIDTH = 1_500;

/** Null for a run without edges to show or with more than GRAPH_MAX_JOBS jobs. */
export async function figureOfGraph(graph: Graph, state: State): Promise<Element | null> {
  if (graph.jobs.length < 2 || graph.jobs.length > GRAPH_MAX_JOBS) return null;
  const plan = new LayoutGraph();
  plan.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56, marginx: MARGIN, marginy: MARGIN });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const job of graph.jobs) plan.setNode(job.id, { ...NODE });
  for (const job of graph.jobs) for (const id of job.dependsOn) plan.setEdge(id, job.id);
  layout(plan);
  const { width = 0, height = 0 } = plan.graph();
  const edges = plan.edges().map((edge: { v: string; w: string }) => edgePath(plan.edge(edge).points ?? []));
  const critical = new Set(graph.criticalPath);
  const nodes = graph.jobs.map((job) => {
    const { x = 0, y = 0 } = plan.node(job.id);
    return nodeOf({
      id: job.id,
      tier: job.riskTier,
      job: state.jobs[job.id],
      x,
      y,
      critical: critical.has(job.id),
    });
  });
  return h("figure.graph", [
    h("div.scroll", { tabIndex: 0, role: "region", ariaLabel: "Job graph, scrollable" }, [
      s(
        "svg",
        {
          // A moderately wide graph shrinks to its frame; a very wide one would become unreadable, so it scrolls.
          className: width <= FIT_MAX_WIDTH ? ["fit"] : [],
          viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
          width: Math.ceil(width),
          height: Math.ceil(height),
          role: "img",
          ariaLabelledBy: "graph-title",
        },
        [
          s(
            "title",
            { id: "graph-title" },
            `Graph of ${graph.jobs.length} jobs; the table of jobs states the same.`,
          ),
          s("defs", arrow()),
          s("g.edges", edges),
          s("g.nodes", nodes),
        ],
      ),
    ]),
    h("figcaption", "Arrows run from a job to what depends on it. A heavier frame marks the critical path."),
  ]);
}

function arrow(): Element {
  return s(
    "marker#arrow",
    { viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    s("path", { d: "M0 0 8 4 0 8Z" }),
  ) as unknown as Element;
}

function edgePath(points: readonly { readonly x: number; readonly y: number }[]): ReturnType<typeof s> {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return s("path");
  const at = (point: { readonly x: number; readonly y: number }): string =>
    `${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
  // A curve through the middle of each leg bends softly where the layout bends sharply.
  const curves = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    return `Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`;
  });
  return s("path.edge", { d: `M${at(first)}${curves.join("")}L${at(last)}`, markerEnd: "url(#arrow)" });
}

const NODE_TONE: Readonly<Record<string, string>> = {
  accepted: "good",
  rejected: "bad",
  failed: "bad",
  blocked: "bad",
};

function nodeOf(node: {
  readonly id: string;
  readonly tier: string;
  readonly job: Job | undefined;
  readonly x: number;
  readonly y: number;
  readonly critical: boolean;
}): ReturnType<typeof s> {
  const status = node.job?.status ?? "queued";
  const outcome = node.job?.outcome ?? "pending";
  const tone = NODE_TONE[outcome] ?? NODE_TONE[status] ?? (status === "queued" ? "neutral" : "waiting");
  const words = outcome === "pending" || outcome === status ? status : `${status}, ${outcome}`;
  const left = node.x - NODE.width / 2;
  const top = node.y - NODE.height / 2;
  return s(
    "g",
    {
      className: ["node", `tone-${tone}`, ...(node.critical ? ["critical"] : [])],
      transform: `translate(${left.toFixed(1)} ${top.toFixed(1)})`,
    },
    [
      s("title", `${node.id}: ${words}, ${node.tier}`),
      s("rect.card", { width: NODE.width, height: NODE.height, rx: 8 }),
      s("rect.bar", { x: 0, y: 8, width: 4, height: NODE.height - 16, rx: 2 }),
      s("text.id", { x: 16, y: 22 }, plainText(node.id, 24)),
      s("text.state", { x: 16, y: 40 }, `${words} · ${node.tier}`),
    ],
  );
}
