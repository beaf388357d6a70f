// The reader's graph: edges as text, places of nodes, and some graphs to begin with.

import { from_edges } from "../kernels/graph.mjs";

export const MOST_NODES = 200;
export const MOST_EDGES = 2000;
export const WIDTH = 1000;
export const HEIGHT = 640;

// An undirected graph as the page keeps it: `n` nodes, `edges` [u, v] with u <= v, each once, and
// `at`, where the nodes are drawn. Nothing in it is ever changed: a new one is made.
export function drawn_graph(n, edges, at = null) {
  const once = new Map(
    edges.map(([u, v]) => [u <= v ? [u, v] : [v, u]]).map(([edge]) => [edge.join("-"), edge]),
  );
  const sorted = [...once.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { n, edges: sorted, at: at ?? places(n, sorted), csr: from_edges(sorted, n) };
}

export const OPENING_GRAPH = drawn_graph(
  6,
  [
    [0, 1],
    [0, 2],
    [0, 3],
    [1, 2],
    [3, 4],
    [4, 5],
  ],
  [
    [300, 320],
    [110, 130],
    [110, 510],
    [500, 320],
    [690, 320],
    [880, 320],
  ],
);

function star(n) {
  return drawn_graph(
    n,
    Array.from({ length: n - 1 }, (_, i) => [0, i + 1]),
  );
}

function ring(n) {
  return drawn_graph(
    n,
    Array.from({ length: n }, (_, i) => [i, (i + 1) % n]),
  );
}

function grid(wide, tall) {
  const edges = [],
    at = [];
  for (let y = 0; y < tall; y++) {
    for (let x = 0; x < wide; x++) {
      const v = y * wide + x;
      if (x + 1 < wide) edges.push([v, v + 1]);
      if (y + 1 < tall) edges.push([v, v + wide]);
      at.push([
        Math.round((WIDTH * (x + 1)) / (wide + 1)),
        Math.round((HEIGHT * (y + 1)) / (tall + 1)),
      ]);
    }
  }
  return drawn_graph(wide * tall, edges, at);
}

// Two groups, all of whose nodes know each other, with a bridge.
function two_groups(size) {
  const edges = [[size - 1, size]];
  for (const first of [0, size]) {
    for (let u = 0; u < size; u++)
      for (let v = u + 1; v < size; v++) edges.push([first + u, first + v]);
  }
  return drawn_graph(2 * size, edges);
}

export const EXAMPLES = {
  "the course's six nodes": () => OPENING_GRAPH,
  "a star of 8": () => star(8),
  "a ring of 8": () => ring(8),
  "a grid of 4 by 3": () => grid(4, 3),
  "two groups of 5": () => two_groups(5),
};

// What the reader did not mean, or the page cannot draw.
export class GraphError extends Error {}

export function edges_text(graph) {
  return graph.edges.map(([u, v]) => `${u}-${v}`).join(" ");
}

// Edges from text: "0-1 1-2", or two numbers on a line, or tuples as Python prints them.
export function parse_edges(text) {
  const edges = [];
  text.split("\n").forEach((line, i) => {
    line = line.replace(/[#%].*/, "").trim();
    if (!line) return;
    const wrong = () =>
      new GraphError(
        `Line ${i + 1} of the edges is not understood: write 0-1 1-2, or two node numbers on each line.`,
      );
    if (/[([]/.test(line))
      line = line.replace(/(\d)\s*,\s*(\d)/g, "$1-$2").replace(/[()[\]]/g, " ");
    line = line.replace(/\s*(?:->|--|[-–—])\s*/g, "-");
    const words = line.split(/[\s,;]+/).filter(Boolean);
    const pairs = words.some((word) => word.includes("-"))
      ? words
      : words.length === 2
        ? [words.join("-")]
        : [line];
    for (const pair of pairs) {
      if (!/^\d{1,9}-\d{1,9}$/.test(pair)) throw wrong();
      edges.push(pair.split("-").map(Number));
    }
  });
  return edges;
}

// The graph with these edges and at least `n` nodes.
export function graph_of(n, edges, at = null) {
  const largest = edges.reduce((most, edge) => Math.max(most, ...edge), -1);
  const all = Math.max(n, largest + 1);
  if (all < 1) throw new GraphError("A graph has at least one node.");
  if (all > MOST_NODES) {
    throw new GraphError(
      `This page draws at most ${MOST_NODES} nodes, numbered from 0: ${all} are too many.`,
    );
  }
  if (edges.length > MOST_EDGES) {
    throw new GraphError(
      `This page draws at most ${MOST_EDGES} edges: ${edges.length} are too many.`,
    );
  }
  return drawn_graph(all, edges, at && at.length === all ? at : null);
}

// Where nodes are drawn: on a circle, then moved by springs, some hundred times.
function places(n, edges) {
  const round = Array.from({ length: n }, (_, v) => {
    const angle = (2 * Math.PI * v) / Math.max(n, 1) - Math.PI / 2;
    return [Math.cos(angle), Math.sin(angle)];
  });
  const rest = 1.6 / Math.sqrt(n);
  for (let heat = 0.12; heat > 0.002; heat *= n > 60 ? 0.93 : 0.985) {
    const push = round.map(([x, y]) => [-x * 0.05, -y * 0.05]);
    for (let u = 0; u < n; u++) for (let v = 0; v < u; v++) repel(round, push, u, v, rest);
    for (const [u, v] of edges) if (u !== v) attract(round, push, u, v, rest);
    push.forEach(([x, y], v) => {
      const size = Math.hypot(x, y) || 1;
      const move = Math.min(size, heat) / size;
      round[v] = [round[v][0] + x * move, round[v][1] + y * move];
    });
  }
  return spread(round);
}

function repel(round, push, u, v, rest) {
  const dx = round[u][0] - round[v][0] || 1e-3 * (u - v),
    dy = round[u][1] - round[v][1];
  const force = (rest * rest) / (dx * dx + dy * dy + 1e-6);
  add_force(push, u, v, dx * force, dy * force);
}

function attract(round, push, u, v, rest) {
  const dx = round[u][0] - round[v][0],
    dy = round[u][1] - round[v][1];
  const force = -Math.hypot(dx, dy) / rest;
  add_force(push, u, v, dx * force, dy * force);
}

function add_force(push, u, v, x, y) {
  push[u][0] += x;
  push[u][1] += y;
  push[v][0] -= x;
  push[v][1] -= y;
}

// Stretch the places over the drawing.
function spread(round) {
  const fit = (axis, size) => {
    const values = round.map((place) => place[axis]);
    const least = Math.min(...values),
      most = Math.max(...values),
      margin = 70;
    return (value) =>
      Math.round(
        most - least < 1e-9
          ? size / 2
          : margin + ((value - least) / (most - least)) * (size - 2 * margin),
      );
  };
  const [x, y] = [fit(0, WIDTH), fit(1, HEIGHT)];
  return round.map((place) => [x(place[0]), y(place[1])]);
}
