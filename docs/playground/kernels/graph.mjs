// Graphs in CSR form, subgraphs, and the permutation that transposes. See refimpl/graph.

import { ValueError, node_set, wrong_kind } from "./check.mjs";
import { NO_COUNTERS } from "./counters.mjs";

// The neighbours of node v are indices[indptr[v]] to indices[indptr[v + 1] - 1], ascending.
export class Graph {
  constructor(indptr, indices) {
    this.indptr = indptr;
    this.indices = indices;
  }

  get n() {
    return this.indptr.length - 1;
  }

  get e() {
    return this.indices.length;
  }

  degree(v) {
    return this.indptr[v + 1] - this.indptr[v];
  }

  neighbours(v) {
    return this.indices.subarray(this.indptr[v], this.indptr[v + 1]);
  }

  // Degrees, each at most `deg_cap` if that is not null.
  weights(deg_cap = null) {
    const weight = new Float64Array(this.n);
    for (let v = 0; v < this.n; v++) weight[v] = Math.min(this.degree(v), deg_cap ?? Infinity);
    return weight;
  }

  weight_sum(deg_cap = null) {
    return this.weights(deg_cap).reduce((a, b) => a + b, 0);
  }

  // Whether every (u, v) stands beside a (v, u).
  get symmetric() {
    this.known_symmetric ??= this.rows().every((row, u) => row.every((v) => this.neighbours(v).includes(u)));
    return this.known_symmetric;
  }

  rows() {
    return Array.from({ length: this.n }, (_, v) => [...this.neighbours(v)]);
  }
}

// The Graph of n nodes with each of the `edges` [u, v] in both directions, once.
export function from_edges(edges, n) {
  const rows = Array.from({ length: n }, () => new Set());
  for (const [u, v] of edges) {
    rows[u].add(v);
    rows[v].add(u);
  }
  const indptr = [0];
  for (const row of rows) indptr.push(indptr[indptr.length - 1] + row.size);
  return new Graph(indptr, Int32Array.from(rows.flatMap((row) => [...row].sort((a, b) => a - b))));
}

export function a_graph(graph) {
  if (!(graph instanceof Graph)) throw wrong_kind("graph", "a Graph (see as_graph)", graph);
  return graph;
}

export function undirected(graph) {
  if (!a_graph(graph).symmetric) {
    throw new ValueError("graph must be undirected: build it with as_graph(..., symmetrize=True)");
  }
  return graph;
}

// JPDC'21 Algorithm 2 line 9 and Algorithm 3 line 31: the edges between some nodes.
export function induced_subgraph(graph, nodes, counters = NO_COUNTERS) {
  undirected(graph);
  nodes = node_set("nodes", nodes, graph.n);
  const local = new Map(nodes.map((v, i) => [v, i]));
  const indptr = [0], indices = [], edge_ids = [];
  for (const v of nodes) {
    for (let j = graph.indptr[v]; j < graph.indptr[v + 1]; j++) {
      const u = graph.indices[j];
      if (local.has(u)) {
        indices.push(local.get(u));
        edge_ids.push(j);
      }
    }
    indptr.push(indices.length);
  }
  const induced = new Graph(indptr, Int32Array.from(indices));
  return {
    type: "Subgraph",
    nodes: Int32Array.from(nodes),
    graph: induced,
    edge_ids,
    transpose_perm: transpose_perm(induced),
    counters,
  };
}

// JPDC'21 Algorithm 6; "// n" marks its line n. The values of the transpose are data[perm].
export function transpose_perm(graph) {
  const { indptr, indices } = undirected(graph); // 1
  const perm = new Int32Array(graph.e).fill(-1); // 2
  const ptr = indptr.slice(0, graph.n); // 3
  for (let v = 0; v < graph.n; v++) { // 4
    for (let j = indptr[v]; j < indptr[v + 1]; j++) { // 5 E-A2: half open
      const u = indices[j]; // 6
      perm[ptr[u]] = j; // 7 E-A3: the permutation, not values
      ptr[u] += 1; // 8
    }
  }
  return perm; // 11
}

// A Graph whose entries have types, in [0, relations). See refimpl/typed.py.
export class TypedGraph extends Graph {
  constructor(graph, edge_types, relations, node_types) {
    super(graph.indptr, graph.indices);
    Object.assign(this, { edge_types, relations, node_types });
  }

  // For each relation a Graph of its entries alone, and where they stand in `indices`.
  relation_graphs() {
    return Array.from({ length: this.relations }, (_, r) => {
      const indptr = [0], where = [];
      for (let v = 0; v < this.n; v++) {
        for (let j = this.indptr[v]; j < this.indptr[v + 1]; j++) {
          if (Number(this.edge_types[j]) === r) where.push(j);
        }
        indptr.push(where.length);
      }
      return [new Graph(indptr, Int32Array.from(where, (j) => this.indices[j])), where];
    });
  }
}
