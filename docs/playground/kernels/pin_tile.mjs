// Frontier sampling on the pin-and-tile Dashboard of JPDC'21. See refimpl/samplers/pin_tile.py.

import { ValueError, choice, integer, real } from "./check.mjs";
import { frontier_options, node_sample, random_neighbour } from "./nodes.mjs";
import { Stream, Word } from "./streams.mjs";

const NULL = -1;
const MOST_ENTRIES = 2 ** 32;

// JPDC'21 Algorithm 3; "// n" marks line n. `watch` is called before the first step and after
// each, with the Dashboard and the sample.
export function pin_tile(graph, main, probe, options, watch = null) {
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
  const board = new Dashboard(capacity, FS, weights); // 2-3 7-19 E-B2: the roots stay in the sample
  watch?.(board, Vs);
  for (let step = m; step < n; step++) { // 20 E-B4: n - m steps, not n nodes
    if (board.valid === 0) break; // only isolated nodes are left (E-B26)
    const [v_pop, pin] = board.pop_frontier(probe, lanes, probe_range); // 21
    const v_new = random_neighbour(graph, main, v_pop); // 22
    if (weight[v_new] > board.free()) board.cleanup(); // 23-25 E-B8: without the printed "+ 1"
    board.add_to_frontier(v_new, pin, weight[v_new], overflow); // 27 29
    Vs.add(include === "pushed" ? v_new : v_pop); // 28 E-B1: pushed or popped
    popped.push(v_pop);
    pushed.push(v_new);
    watch?.(board, Vs);
  }

  return node_sample(graph, Vs, popped, pushed, main.c, { ...board.counts, capacity: board.DB.length });
}

// The frontier as one array of pins, m tiles, and an index of the columns in use: DB[k] is the
// tile that entry k is pinned to, or NULL. Tile t is node[t], start[t], end[t], slot[t]. Column i
// begins at IA_start[i], is in the frontier if IA_live[i], and belongs to tile IA_tile[i]. `cnt`
// columns are in use; `valid` counts the pins in use.
export class Dashboard {
  constructor(capacity, FS, weights) {
    const m = FS.length;
    this.DB = new Int32Array(capacity).fill(NULL); // J3:2 E-B20: NULL is -1 everywhere
    this.IA_start = [0]; // J3:3 7 E-B10: n + 1 columns are enough
    this.IA_live = []; // J3:3 12
    this.IA_tile = [];
    this.node = Int32Array.from(FS);
    this.start = [];
    this.end = [];
    this.slot = [];
    for (let i = 0; i < m; i++) { // J3:8
      this.IA_start[i + 1] = this.IA_start[i] + weights[i]; // J3:9
      this.IA_live[i] = true; // J3:7 10
      this.IA_tile[i] = this.slot[i] = i;
      this.start[i] = this.IA_start[i];
      this.end[i] = this.IA_start[i + 1];
    }
    for (let i = 0; i < m; i++) { // J3:13
      const pin = i; // J3:14
      this.DB.fill(pin, this.start[i], this.end[i]); // J3:15-16
    }
    this.cnt = m; // J3:19 E-B2: the roots stay in the sample
    this.valid = this.IA_start[m];
    this.counts = { probes: 0, rounds: 0, cleanups: 0, moved: 0, truncated: 0 };
  }

  // How many entries stand behind the last column.
  free() {
    return this.DB.length - this.IA_start[this.cnt];
  }

  // Unpin a random frontier node; return it and its tile (Algorithm 4).
  pop_frontier(probe, lanes, probe_range) { // J4:1
    const limit = probe_range === "capacity" ? this.DB.length : this.IA_start[this.cnt];
    let tries = 0, idx_pop = NULL; // J4:2
    while (idx_pop === NULL) { // J4:3-4 E-B12: the first that hits wins
      const idx = probe.below(limit); // J4:5
      if (this.DB[idx] !== NULL) idx_pop = idx; // J4:6-7
      tries += 1;
    }
    const pin = this.DB[idx_pop]; // J4:11
    const v_pop = this.node[pin], start = this.start[pin], end = this.end[pin]; // J4:12
    this.DB.fill(NULL, start, end); // J4:13-14
    this.IA_live[this.slot[pin]] = false; // J4:16
    this.valid -= end - start;
    this.counts.probes += tries;
    this.counts.rounds += Math.ceil(tries / lanes); // the lowest lane of a round that hits wins
    return [v_pop, pin]; // J4:17
  }

  // Move the columns of the frontier to the front, in order (Algorithm 4).
  cleanup() { // J4:19
    const DB_new = new Int32Array(this.DB.length).fill(NULL); // J4:20
    let k = 0, j = 0;
    for (let i = 0; i < this.cnt; i++) { // J4:21-22 E-B7: k adds up lengths
      if (!this.IA_live[i]) continue;
      // E-B13: a column names its tile
      const t = this.IA_tile[i], length = this.IA_start[i + 1] - this.IA_start[i];
      DB_new.fill(t, k, k + length); // J4:23
      [this.start[t], this.end[t], this.slot[t]] = [k, k + length, j]; // E-B11: the tile, too
      [this.IA_start[j], this.IA_live[j], this.IA_tile[j]] = [k, true, t]; // J4:25-26
      k += length;
      j += 1;
    }
    this.IA_start[j] = k; // J4:26
    this.DB = DB_new; // J4:28
    this.cnt = j; // J4:28
    this.counts.cleanups += 1;
    this.counts.moved += k;
  }

  // Pin `v_new` behind the last column, on the tile that was popped (Algorithm 4).
  add_to_frontier(v_new, pin, weight, overflow) { // J4:30
    while (overflow === "grow" && weight > this.free()) this.DB = twice_as_long(this.DB);
    const i = this.cnt, start = this.IA_start[i];
    const end = start + Math.min(weight, this.free()); // at least start + 1: see E-B22
    [this.IA_start[i + 1], this.IA_live[i]] = [end, true]; // J4:31
    this.IA_tile[i] = pin; // E-B13: a column names its tile
    [this.node[pin], this.start[pin], this.end[pin], this.slot[pin]] = [v_new, start, end, i]; // J4:32
    this.DB.fill(pin, start, end); // J4:33-34
    this.cnt = i + 1;
    this.valid += end - start;
    this.counts.truncated += end - start < weight ? 1 : 0;
  }

  // A copy of all that can be seen.
  state() {
    const live = this.IA_live.slice(0, this.cnt);
    return {
      DB: this.DB.slice(),
      IA_start: this.IA_start.slice(0, this.cnt + 1),
      IA_live: live,
      IA_tile: live.map((used, i) => (used ? this.IA_tile[i] : NULL)),
      node: this.node.slice(),
      start: this.start.slice(),
      end: this.end.slice(),
      slot: this.slot.slice(),
    };
  }
}

export function twice_as_long(DB) {
  const longer = new Int32Array(2 * DB.length).fill(NULL);
  longer.set(DB);
  return longer;
}

// The length of the Dashboard for m nodes of mean weight d.
export function planned_capacity(eta, m, d) {
  const entries = eta * m * d;
  if (!(entries < MOST_ENTRIES)) {
    throw new ValueError(`eta must give the Dashboard less than 2**32 entries, got ${entries.toPrecision(3)}`);
  }
  return Math.ceil(entries);
}

export function dashboard_options(eta = 2, lanes = 8, probe_range, overflow) {
  eta = real("eta", eta, 1, { strict: true });
  lanes = integer("lanes", lanes, 1, 2 ** 31 - 1);
  choice("probe_range", probe_range, ["capacity", "used"]);
  choice("overflow", overflow, ["truncate", "grow"]);
  return { eta, lanes };
}
