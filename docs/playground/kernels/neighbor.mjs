// Neighbour sampling: GraphSAGE's, one draw after another, and FreshGNN's, with a key for every
// node of every batch. See refimpl/samplers/layer.py, neighbor.py and typed_neighbor.py.

import { Block, MFG, sources } from "./block.mjs";
import { ValueError, choice, ids, integer, wrong_kind } from "./check.mjs";
import { TypedGraph, a_graph } from "./graph.mjs";
import { ROUNDS, draw_by_importance, draw_shared_rows, variates_of_hop } from "./labor.mjs";
import { NEIGHBOR, NODES, RELATION, SHARED, Stream, Word, key, permutation } from "./streams.mjs";

const MOST = 2 ** 31 - 1;
const LABOR_MODES = ["labor", "labor_exact", ...Object.keys(ROUNDS)];

// The message-flow graph of one batch: what a node draws depends on its own key alone.
export function sample_mfg(
  graph,
  roots,
  fanouts,
  { seed, epoch, batch, mode = "layered", batch_dependency = 1 },
) {
  roots = neighbor_roots(graph, roots, mode);
  fanouts = fanouts_arguments(graph, fanouts, mode);
  const name = [Word.of("seed", seed), Word.of("epoch", epoch), Word.of("batch", batch)];
  const kappa = dependency_argument(mode, batch_dependency);
  const nodes = [roots],
    hops = [];
  const drawn = []; // "shared": the rows of all nodes so far, in their order
  fanouts.forEach((fanout, hop) => {
    const layer = fanouts.length - hop;
    const dst = mode === "shared" ? nodes[0].subarray(drawn.length) : nodes[0];
    if (mode in ROUNDS) {
      const shared = variates_of_hop(name, layer, mode, kappa);
      add_hop(graph, nodes, hops, ...draw_by_importance(graph, dst, fanout, shared));
      return;
    }
    const rows = Array.isArray(fanout)
      ? rows_by_relation(graph, dst, fanout, [...name, layer])
      : LABOR_MODES.includes(mode)
        ? draw_shared_rows(graph, dst, fanout, variates_of_hop(name, layer, mode, kappa))
        : draw_rows(graph, dst, fanout, key_of_hop(name, layer, mode));
    if (mode === "shared") drawn.push(...rows);
    add_hop(graph, nodes, hops, mode === "shared" ? drawn : rows);
  });
  return as_mfg(nodes, hops);
}

// The key of a hop; that of a node in it has one part more, the node.
function key_of_hop([seed, epoch, batch], layer, mode) {
  return mode === "shared"
    ? key(seed, SHARED, epoch, batch)
    : key(seed, NEIGHBOR, epoch, batch, layer);
}

// For each of the nodes `dst`, where the neighbours that it draws stand in `graph.indices`.
function draw_rows(graph, dst, fanout, hop_key) {
  const hop = new Stream(hop_key);
  return Array.from(dst, (v) => {
    const [start, degree] = [graph.indptr[v], graph.degree(v)];
    if (takes_all(fanout, degree)) return positions(start, degree);
    return hop
      .of(v)
      .floyd(degree, fanout)
      .map((i) => start + i);
  });
}

// The same in a typed graph, with a fan-out for each relation.
function rows_by_relation(graph, dst, fanouts, [seed, epoch, batch, layer]) {
  const parts = graph.relation_graphs().map(([part, where], r) => {
    const hop_key = key(seed, RELATION, epoch, batch, layer, r);
    return draw_rows(part, dst, fanouts[r], hop_key).map((row) => row.map((j) => where[j]));
  });
  return Array.from(dst, (_, i) => parts.flatMap((rows) => rows[i]).sort((a, b) => a - b));
}

function takes_all(fanout, degree) {
  return fanout < 0 || degree <= fanout;
}

function positions(start, count) {
  return Array.from({ length: count }, (_, i) => start + i);
}

// Put the sources of nodes[0] in front of it, and the hop [row bounds, indices, edge ids, weights] in a list.
function add_hop(graph, nodes, hops, rows, weights = null) {
  const edge_ids = rows.flat();
  const bounds = [0];
  for (const row of rows) bounds.push(bounds[bounds.length - 1] + row.length);
  const [src, indices] = sources(
    nodes[0],
    edge_ids.map((j) => graph.indices[j]),
  );
  nodes.unshift(src);
  hops.push([bounds, indices, edge_ids, weights]);
}

function as_mfg(nodes, hops) {
  const blocks = hops
    .reverse()
    .map(
      ([bounds, indices, ...of_entries], i) =>
        new Block(bounds.slice(0, -1), bounds.slice(1), indices, nodes[i].length, ...of_entries),
    );
  return new MFG(nodes, blocks);
}

// VLDB'24 Algorithm 1, line 3: the nodes in a random order, cut in pieces.
export function epoch_batches(nodes, batch_size, seed, epoch) {
  nodes = ids("ids", nodes, 0, MOST);
  const size = integer("batch_size", batch_size, 1);
  const order = permutation(
    key(Word.of("seed", seed), NODES, Word.of("epoch", epoch)),
    nodes.length,
  );
  const shuffled = Int32Array.from(order, (i) => nodes[i]);
  const batches = [];
  for (let i = 0; i < nodes.length; i += size) batches.push(shuffled.slice(i, i + size));
  return batches;
}

function neighbor_roots(graph, roots, mode) {
  a_graph(graph);
  choice("mode", mode, ["layered", "shared", ...LABOR_MODES]);
  roots = ids("roots", roots, 0, graph.n);
  if (new Set(roots).size < roots.length) throw new ValueError("roots must be distinct");
  return Int32Array.from(roots);
}

function dependency_argument(mode, batch_dependency) {
  return integer("batch_dependency", batch_dependency, 1, LABOR_MODES.includes(mode) ? MOST : 1);
}

function fanouts_arguments(graph, fanouts, mode) {
  const number = (f) => integer("fanouts", f, -1, MOST);
  if (!is_list(fanouts)) throw wrong_kind("fanouts", "a sequence of integers", fanouts);
  fanouts = Array.from(fanouts, (f) => (is_list(f) ? Array.from(f, number) : number(f)));
  for (const fanout of fanouts.filter(Array.isArray)) {
    const relations = graph instanceof TypedGraph ? graph.relations : "no";
    if (fanout.length !== relations) {
      throw new ValueError(
        `fanouts must have a number for each of ${relations} relations, got ${fanout.length}`,
      );
    }
    if (mode !== "layered") {
      throw new ValueError(`mode must be "layered" for fanouts by relation, got "${mode}"`);
    }
  }
  return fanouts;
}

function is_list(value) {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}
