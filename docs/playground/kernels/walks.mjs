// The samplers without a frontier: random edges, random walks, and forest fire.
// See refimpl/samplers/edge.py, random_walk.py, multiple_walks.py and forest_fire.py.

import { alias_build, outcome } from "./alias.mjs";
import { choice, integer, real } from "./check.mjs";
import { undirected } from "./graph.mjs";
import { node_sample, random_neighbour, root_count, walk_budget } from "./nodes.mjs";
import { Stream, Word } from "./streams.mjs";

const MOST = 2 ** 31 - 1;

// JPDC'21 Algorithm 5, "Edge"; "// n" marks line n.
export function edge(graph, main, { b, method = "direct" }) { // 1 E-B27: b, not m
  undirected(graph);
  b = integer("b", b, 1, MOST);
  choice("method", method, ["direct", "alias"]);
  main = new Stream(Word.of("main", main));
  const draw = (method === "direct" ? uniform_node_law : alias_law)(graph); // 2
  const Es = Array.from({ length: graph.e ? b : 0 }, () => draw(main)); // 3 E-B27: b edges, with replacement
  const Vs = new Set(Es.flat()); // 4
  return node_sample(graph, Vs, Es.map(([u]) => u), Es.map(([, v]) => v), main.c);
}

// A function that draws [node, neighbour].
function uniform_node_law(graph) {
  const nodes = Array.from({ length: graph.n }, (_, v) => v).filter((v) => graph.degree(v));
  return (main) => {
    const u = nodes[main.below(nodes.length)];
    return [u, random_neighbour(graph, main, u)];
  };
}

// A function that draws [lower end, higher end] from a table of all edges, the weight of each being
// 1 / deg(u) + 1 / deg(v), and that of a loop 1 / deg(u).
function alias_law(graph) {
  const edges = graph.rows().flatMap((row, u) => row.filter((v) => u <= v).map((v) => [u, v]));
  const weight = ([u, v]) => 1 / graph.degree(u) + (u < v ? 1 / graph.degree(v) : 0);
  const table = edges.length ? alias_build(Float64Array.from(edges, weight)) : null;
  return (main) => edges[outcome(table, main)];
}

// JPDC'21 Algorithm 5, "RW"; "// n" marks line n.
export function random_walk(graph, main, { r, h }) { // 7
  undirected(graph);
  r = root_count(graph, "r", r);
  h = integer("h", h, 0, Math.floor(MOST / r) - 1);
  main = new Stream(Word.of("main", main));
  const popped = [], pushed = [];

  const roots = main.pick_without_replacement(graph.n, r); // 8
  const Vs = new Set(roots); // 9
  for (const v of roots) { // 10
    let u = v; // 11
    for (let k = 0; k < (graph.degree(v) ? h : 0); k++) { // 12 E-B27: the counter is not d
      popped.push(u);
      u = random_neighbour(graph, main, u); // 13
      pushed.push(u);
      Vs.add(u); // 14
    }
  }

  return node_sample(graph, Vs, popped, pushed, main.c);
}

// m walks of n - m steps in all: the first (n - m) % m have one more than the others.
export function multiple_walks(graph, main, options) {
  undirected(graph);
  const { m, n } = walk_budget(graph, options.m, options.n);
  main = new Stream(Word.of("main", main));
  const popped = [], pushed = [];
  const roots = main.pick_without_replacement(graph.n, m);
  const each = Math.floor((n - m) / m), extra = (n - m) % m;
  roots.forEach((root, i) => {
    let u = root;
    const steps = each + (i < extra ? 1 : 0);
    for (let k = 0; k < (graph.degree(u) ? steps : 0); k++) {
      popped.push(u);
      u = random_neighbour(graph, main, u);
      pushed.push(u);
    }
  });
  return node_sample(graph, new Set([...roots, ...pushed]), popped, pushed, main.c);
}

// A burning node sets fire to a geometric number of its unburned neighbours; when a fire is out too
// early, another begins at a random unburned node.
export function forest_fire(graph, main, { n, p_f = 0.7 }) {
  undirected(graph);
  n = Math.min(integer("n", n, 1, MOST), graph.n);
  p_f = real("p_f", p_f, 0, { high: 1 });
  main = new Stream(Word.of("main", main));
  const unburned = new Unburned(graph.n);
  const Vs = new Set();
  const popped = [], pushed = [];
  while (Vs.size < n) {
    const start = unburned.nodes[main.below(unburned.nodes.length)];
    unburned.remove(start);
    Vs.add(start);
    const queue = [start];
    while (queue.length && Vs.size < n) {
      const u = queue.shift();
      const U = [...graph.neighbours(u)].filter((v) => !Vs.has(v));
      const k = geometric(main, p_f, U.length);
      for (const i of main.pick_without_replacement(U.length, Math.min(k, n - Vs.size))) {
        unburned.remove(U[i]);
        Vs.add(U[i]);
        queue.push(U[i]);
        popped.push(u);
        pushed.push(U[i]);
      }
    }
  }
  return node_sample(graph, Vs, popped, pushed, main.c);
}

// How many successes come before the first failure, at most `most`.
function geometric(main, p_f, most) {
  let k = 0;
  while (k < most && main.uniform() < p_f) k += 1;
  return k;
}

// The nodes that have not burned, as a list; the last one takes the place of one removed.
class Unburned {
  constructor(n) {
    this.nodes = Array.from({ length: n }, (_, v) => v);
    this.place = [...this.nodes];
  }

  remove(v) {
    const last = this.nodes.pop();
    if (last === v) return;
    this.nodes[this.place[v]] = last;
    this.place[last] = this.place[v];
  }
}
