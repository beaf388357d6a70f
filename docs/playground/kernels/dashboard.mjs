// Frontier sampling on the Dashboard of IPDPS'19, with three slots an entry.
// See refimpl/samplers/dashboard.py.

import { frontier_options, node_sample, random_neighbour } from "./nodes.mjs";
import { dashboard_options, planned_capacity, twice_as_long } from "./pin_tile.mjs";
import { Stream, Word } from "./streams.mjs";

const INV = -1;

// IPDPS'19 Algorithm 3; "// n" marks line n. `watch` as in `pin_tile`.
export function dashboard(graph, main, probe, options, watch = null) {
  const { include = "pushed", probe_range = "capacity", overflow = "truncate" } = options;
  const { m, n, deg_cap } = frontier_options(graph, options.m, options.n, options.deg_cap ?? null, include);
  const { eta, lanes } = dashboard_options(options.eta, options.lanes, probe_range, overflow);
  const weight = graph.weights(deg_cap);
  const popped = [], pushed = [];

  const d = graph.weight_sum(deg_cap) / graph.n; // 1 E-B6: entries over nodes
  let capacity = planned_capacity(eta, m, d); // 2
  main = new Stream(Word.of("main", main));
  probe = new Stream(Word.of("probe", probe));
  const FS = main.pick_without_replacement(graph.n, m); // 4 6 E-B5: without replacement
  const weights = Array.from(FS, (v) => weight[v]);
  capacity = Math.max(capacity, weights.reduce((a, b) => a + b)); // 2 E-B9: room for roots
  const Vs = new Set(FS); // 5
  const board = first_dashboard(capacity, FS, weights);
  let s = m; // 16
  watch?.(board, Vs, s);
  for (let step = m; step < n; step++) { // 17 E-B4: n - m steps, not n nodes
    if (board.valid === 0) break; // only isolated nodes are left (E-B26)
    const limit = probe_range === "capacity" ? board.capacity : board.IA_start[s];
    const v_pop = board.pop_frontier(probe, lanes, limit); // 18
    const v_new = random_neighbour(graph, main, v_pop); // 19
    if (weight[v_new] > board.free(s)) { // 20 E-B8: without the printed "+ 1"
      board.cleanup(s); // 21
      s = m - 1; // 22
    }
    board.add_to_frontier(v_new, s, weight[v_new], overflow); // 23
    Vs.add(include === "pushed" ? v_new : v_pop); // 24 E-B1: pushed or popped
    s += 1; // 25
    popped.push(v_pop);
    pushed.push(v_new);
    watch?.(board, Vs, s);
  }

  return node_sample(graph, Vs, popped, pushed, main.c, { ...board.counts, capacity: board.capacity }); // 27
}

// The Dashboard of the first frontier (Algorithm 3, lines 2-15).
function first_dashboard(capacity, FS, weights) {
  const m = FS.length;
  const board = new SlotDashboard(capacity); // 2-3 E-B10: n + 1 columns are enough
  board.IA_start[0] = 0; // 7
  board.IA_live[0] = true; // 7
  for (let i = 1; i <= m; i++) { // 8
    board.IA_start[i] = board.IA_start[i - 1] + weights[i - 1]; // 9
    board.IA_live[i] = i !== m; // 10
  }
  for (let i = 0; i < m; i++) { // 11
    for (let k = board.IA_start[i]; k < board.IA_start[i + 1]; k++) { // 12 E-B18: IA's first row
      board.node[k] = FS[i]; // 13
      // E-B18: the index array's first row
      board.offset[k] = k !== board.IA_start[i] ? k - board.IA_start[i] : -weights[i]; // 14
      board.column[k] = i; // 15
    }
  }
  board.valid = board.IA_start[m];
  return board;
}

// The frontier as one array of entries with three slots, and an index of the columns in use.
// Entry k is node[k] (INV where nobody owns it), offset[k] and column[k]. The entries of a node
// stand in a row; the offset is how far back the first one is, and in the first one minus how many
// there are. Column i begins at IA_start[i] and is in the frontier if IA_live[i].
class SlotDashboard {
  constructor(capacity) {
    this.node = new Int32Array(capacity).fill(INV);
    this.offset = new Int32Array(capacity).fill(INV);
    this.column = new Int32Array(capacity).fill(INV);
    this.IA_start = [];
    this.IA_live = [];
    this.valid = 0;
    this.counts = { probes: 0, rounds: 0, cleanups: 0, moved: 0, truncated: 0 };
  }

  get capacity() {
    return this.node.length;
  }

  // How many entries stand behind the first s columns.
  free(s) {
    return this.capacity - this.IA_start[s];
  }

  // Free the entries of a random frontier node and return it (Algorithm 4).
  pop_frontier(probe, lanes, limit) { // I4:1
    let tries = 0, idx_pop = INV; // I4:2
    while (idx_pop === INV) { // I4:3-4 E-B12: the first that hits wins
      const idx_p = probe.below(limit); // I4:5
      if (this.node[idx_p] !== INV) idx_pop = idx_p; // I4:6-7
      tries += 1;
    }
    const v_pop = this.node[idx_pop]; // I4:9
    const offset = this.offset[idx_pop]; // I4:10
    const idx_start = offset > 0 ? idx_pop - offset : idx_pop; // I4:11 E-B14: from idx_pop
    const deg = -this.offset[idx_start]; // I4:12 E-B15: minus what is stored
    this.node.fill(INV, idx_start, idx_start + deg); // I4:13-14 E-B19: all at once, not in p parts
    this.IA_live[this.column[idx_pop]] = false; // I4:16
    this.valid -= deg;
    this.counts.probes += tries;
    this.counts.rounds += Math.ceil(tries / lanes); // the lowest lane of a round that hits wins
    return v_pop; // I4:17
  }

  // Move the live ones of the first s columns to the front, in order (Algorithm 4).
  cleanup(s) { // I4:18
    const cleaned = new SlotDashboard(this.capacity); // I4:19
    let k = 0, j = 0; // I4:20 E-B7: sums of lengths, not starts
    for (let i = 0; i < s; i++) { // I4:21
      if (!this.IA_live[i]) continue;
      const start = this.IA_start[i], end = this.IA_start[i + 1];
      cleaned.node.set(this.node.subarray(start, end), k); // I4:22
      cleaned.offset.set(this.offset.subarray(start, end), k); // I4:22
      cleaned.column.fill(j, k, k + end - start); // I4:22 E-B11: columns are numbered anew
      [this.IA_start[j], this.IA_live[j]] = [k, true]; // I4:23-24
      k += end - start;
      j += 1;
    }
    this.IA_start[j] = k; // I4:23-24
    this.IA_live.fill(false, j); // I4:24
    [this.node, this.offset, this.column] = [cleaned.node, cleaned.offset, cleaned.column]; // I4:25
    this.counts.cleanups += 1;
    this.counts.moved += k;
  }

  // Append the entries of `v_new` as column i (Algorithm 4).
  add_to_frontier(v_new, i, weight, overflow) { // I4:26
    while (overflow === "grow" && weight > this.free(i)) {
      [this.node, this.offset, this.column] = [this.node, this.offset, this.column].map(twice_as_long);
    }
    const d = Math.min(weight, this.free(i)); // I4:29 E-B16: d is needed in line 27; E-B22: at least one
    [this.IA_start[i + 1], this.IA_live[i]] = [this.IA_start[i] + d, true]; // I4:27
    this.IA_live[i + 1] = false; // E-B10: column n is never live
    const idx = this.IA_start[i]; // I4:28
    for (let k = idx; k < idx + d; k++) { // I4:30-31 E-B19: all at once, not in p parts
      this.node[k] = v_new; // I4:32 E-B17: v_new, not n
      this.offset[k] = k !== idx ? k - idx : -d; // I4:33
      this.column[k] = i; // I4:34
    }
    this.valid += d;
    this.counts.truncated += d < weight ? 1 : 0;
  }

  // A copy of all that can be seen, of the first s columns.
  state(s) {
    const owned = (values, none) => values.map((value, k) => (this.node[k] === INV ? none : value));
    return {
      node: this.node.slice(),
      offset: owned(this.offset, 0),
      column: owned(this.column, -1),
      IA_start: this.IA_start.slice(0, s + 1),
      IA_live: this.IA_live.slice(0, s),
    };
  }
}
