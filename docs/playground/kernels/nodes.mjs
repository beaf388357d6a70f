// What every sampler takes and gives. See refimpl/samplers/nodes.py.

import { ValueError, choice, integer, shown } from "./check.mjs";
import { NO_COUNTERS } from "./counters.mjs";
import { undirected } from "./graph.mjs";

const MOST = 2 ** 31 - 1;

export function ascending(nodes) {
  return Int32Array.from(nodes).sort();
}

export function node_sample(graph, nodes, popped, pushed, draws, counts = {}) {
  const degree_sum = (list) => list.reduce((sum, v) => sum + graph.degree(v), 0);
  const counters = {
    ...NO_COUNTERS,
    pops: popped.length,
    popped_degree_sum: degree_sum(popped),
    added_degree_sum: degree_sum(pushed),
    draws,
    ...counts,
  };
  const log = { popped: Int32Array.from(popped), pushed: Int32Array.from(pushed) };
  return { type: "NodeSample", nodes: ascending(nodes), ...log, counters };
}

// A neighbour of u, each with the same probability: one draw of the Stream `main`.
export function random_neighbour(graph, main, u) {
  const start = graph.indptr[u];
  return graph.indices[start + main.below(graph.indptr[u + 1] - start)];
}

function root_count(graph, name, value) {
  value = integer(name, value, 1);
  if (value > graph.n) {
    throw new ValueError(`${name} must be at most the number of nodes (${graph.n}), got ${shown(value)}`);
  }
  return value;
}

function walk_budget(graph, m, n) {
  m = root_count(graph, "m", m);
  n = integer("n", n, 1, MOST);
  if (n < m) throw new ValueError(`n must be at least m (${m}), got ${n}`);
  return { m, n };
}

export function frontier_options(graph, m, n, deg_cap, include) {
  undirected(graph);
  ({ m, n } = walk_budget(graph, m, n));
  deg_cap = deg_cap === null ? null : integer("deg_cap", deg_cap, 1, MOST);
  choice("include", include, ["pushed", "popped"]);
  return { m, n, deg_cap };
}
