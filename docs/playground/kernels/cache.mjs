// Embeddings and features in one buffer, from both ends: FreshGNN's cache, section 4.2.
// See refimpl/history/cache.py.

import {
  KindError,
  Table,
  ValueError,
  choice,
  dtype_of,
  ids,
  integer,
  shape_of,
} from "./check.mjs";
import {
  Entries,
  MOST,
  cache_admit,
  cache_fetch,
  cache_lookup,
  cache_read,
  is_valid,
  layer_ids,
  rows_taken,
} from "./entries.mjs";
import { Ring } from "./ring.mjs";

const ANY_AGE = 0; // no stamp is lower

export class BidirectionalCache {
  constructor(n, d, h, layers, size, options) {
    const { t_stale, dtype = "float32", header = "continue", overflow = "wrap" } = options;
    const { staleness = "stamp", start_iter = 0, refill = false } = options;
    this.n = integer("n", n, 0, MOST);
    this.d = integer("d", d, 1, MOST);
    this.h = integer("h", h, 1, MOST);
    this.layers = integer("layers", layers, 0, 2 ** 10);
    size = integer("floats", size, 0, 2 ** 48);
    this.t_stale = t_stale === null ? null : integer("t_stale", t_stale, 0, MOST);
    this.staleness = choice("staleness", staleness, ["stamp", "header_only"]);
    const first = integer("start_iter", start_iter, 0, MOST);
    if (typeof refill !== "boolean") throw new KindError("refill must be True or False");
    this.refill = refill;
    if (dtype !== "float32" && dtype !== "float64")
      throw new KindError("dtype must be float32 or float64");
    this.allocate(size, dtype === "float32" ? Float32Array : Float64Array);
    this.ring = new Ring(this.entries.back.length, header, overflow, this.t_stale, first);
    this.admitted = this.evicted = this.lost = this.dropped = this.refilled = 0;
  }

  allocate(size, Floats) {
    const slots = Math.floor(size / this.h),
      most = Math.min(this.n, Math.floor(size / this.d));
    this.arena = new Floats(size);
    this.rank = new Int32Array(this.n).fill(MOST); // no features yet
    const rows = new Table(this.arena.subarray(0, slots * this.h), [slots, this.h]);
    const slot_of = new Table(new Int32Array(this.layers * this.n).fill(-1), [this.layers, this.n]);
    this.entries = new Entries(
      rows,
      slot_of,
      new BigInt64Array(slots).fill(-1n),
      new Int32Array(slots),
    );
    this.features = new Table(this.arena.subarray(size - most * this.d), [most, this.d]);
  }

  get head() {
    return this.ring.head;
  }

  // How many features are in the buffer, the hottest ones, once it was filled.
  get feature_rows() {
    return this.features_beside(this.ring.used);
  }

  features_beside(used) {
    return Math.min(
      this.features.shape[0],
      Math.floor((this.arena.length - used * this.h) / this.d),
    );
  }

  slots_beside(rows) {
    return Math.min(
      this.entries.back.length,
      Math.floor((this.arena.length - rows * this.d) / this.h),
    );
  }

  // Copy the features of the hottest nodes, and rank all nodes: of two equally hot, the lower first.
  fill(X, hotness) {
    if (!(X instanceof Table) || String(shape_of(X)) !== `${this.n},${this.d}`) {
      throw new ValueError(`X must be (${this.n}, ${this.d}) floats`);
    }
    if (dtype_of(hotness) === null || hotness.length !== this.n) {
      throw new ValueError(`hotness must be (${this.n},) numbers`);
    }
    const heat = Array.from(hotness, Number);
    if (heat.some(Number.isNaN)) throw new ValueError("hotness must not be NaN");
    const order = heat.map((_, v) => v).sort((a, b) => heat[b] - heat[a] || a - b);
    order.forEach((v, rank) => (this.rank[v] = rank));
    this.copy_features(X, 0, this.feature_rows);
    this.X = this.refill ? X : null;
  }

  copy_features(X, first, last) {
    this.rank.forEach((rank, v) => {
      if (first <= rank && rank < last)
        this.features.row(this.features.shape[0] - 1 - rank).set(X.row(v));
    });
  }

  feature_mask(nodes) {
    return ids("ids", nodes, 0, this.n).map((v) => this.rank[v] < this.feature_rows);
  }

  fetch_features(nodes) {
    return cache_fetch(this.features, this.rank, nodes, this.feature_rows);
  }

  // The slots of the entries valid in iteration i, -1 for the others.
  lookup(layer, nodes, i) {
    return cache_lookup(this.entries, layer, nodes, this.oldest(integer("i", i, 0, MOST)));
  }

  // The lowest stamp of an entry that iteration i may read (E-V6).
  oldest(i) {
    return this.t_stale === null || this.staleness === "header_only" ? ANY_AGE : i - this.t_stale;
  }

  // The lowest stamp of an entry that is worth its slot when iteration i updates.
  oldest_kept(i) {
    return Math.min(this.oldest(i + 1), i);
  }

  read(slots, computed = null) {
    return cache_read(this.entries.rows, slots, computed);
  }

  // Begin the update of iteration i, and with it a new cycle if it is the first of one.
  begin_update(i) {
    i = integer("i", i, this.ring.start_iter, MOST);
    if (this.ring.begins_cycle(i) && this.refill) this.bring_features_back(i);
  }

  bring_features_back(i) {
    const before = this.feature_rows;
    this.ring.shrink();
    const after = this.feature_rows;
    if (this.ring.header === "continue") this.retire(this.ring.used, i);
    else if (after > before) this.retire(this.slots_beside(after), i);
    if (after <= before) return;
    if (!this.X) throw new ValueError("refill needs the features: call fill");
    this.copy_features(this.X, before, after);
    this.refilled += after - before;
  }

  // Take out the entries in the slots from `first` on.
  retire(first, i) {
    for (let s = first; s < this.entries.back.length; s++) {
      if (is_valid(this.entries, [s], this.oldest_kept(i))[0]) this.lost += 1;
      this.entries.back[s] = -1n;
    }
  }

  // Take out a layer's entries of some nodes; return how many the next iteration could have read.
  evict(layer, nodes, i) {
    [layer, nodes] = layer_ids(this.entries, layer, nodes);
    i = integer("i", i, 0, MOST);
    const slots = this.vacate(layer, nodes);
    for (const v of nodes) this.entries.slot_of.data[(layer - 1) * this.n + v] = -1;
    const count = slots.filter((s) => this.entries.stamp[s] >= this.oldest_kept(i)).length;
    this.evicted += count;
    return count;
  }

  // Free the slots of a layer's entries, of any age; return them.
  vacate(layer, nodes) {
    const slots = Array.from(cache_lookup(this.entries, layer, nodes, ANY_AGE)).filter(
      (s) => s >= 0,
    );
    for (const s of slots) this.entries.back[s] = -1n;
    return slots;
  }

  // Write the entries of some nodes, in order; return how many were written. If there is not room
  // for all, the first ones are written with overflow "drop", the last ones with "wrap".
  admit(layer, nodes, values, i, { take = null } = {}) {
    [layer, nodes] = layer_ids(this.entries, layer, nodes);
    take =
      rows_taken(values, [nodes.length, this.h], dtype_of(this.arena), take) ??
      nodes.map((_, j) => j);
    i = integer("i", i, 0, MOST);
    const [first, last] = this.with_room(layer, nodes, i);
    const written = nodes.slice(first, last);
    const slots = this.make_room(layer, written, i, first);
    cache_admit(this.entries, layer, written, values, slots, i, { take: take.slice(first, last) });
    this.admitted += written.length;
    this.dropped += nodes.length - written.length;
    return written.length;
  }

  // Which of the nodes can be written: [first, last).
  with_room(layer, nodes, i) {
    if (this.ring.overflow === "wrap")
      return [Math.max(nodes.length - this.ring.slots, 0), nodes.length];
    let room = this.ring.room(nodes.length, this.is_free(i));
    const own = cache_lookup(this.entries, layer, nodes, this.oldest_kept(i));
    for (let j = 0; j < nodes.length; j++) {
      if (this.ring.header === "continue" && own[j] >= 0) room += 1; // its own entry makes room for its next
      if (j >= room) return [0, j];
    }
    return [0, nodes.length];
  }

  make_room(layer, nodes, i, passed) {
    this.vacate(layer, nodes);
    const slots = this.ring.advance(nodes.length, this.is_free(i), passed);
    this.lost += is_valid(this.entries, slots, this.oldest_kept(i)).filter(Boolean).length;
    return slots;
  }

  // A function: whether a slot holds nothing that is worth it.
  is_free(i) {
    const oldest = this.oldest_kept(i);
    return (s) => !is_valid(this.entries, [s], oldest)[0];
  }

  // A copy of all that can be seen.
  state() {
    const { slot_of, back, stamp } = this.entries;
    return {
      head: this.head,
      feature_rows: this.feature_rows,
      slot_of: new Table(slot_of.data.slice(), slot_of.shape),
      back: back.slice(),
      stamp: stamp.map((s, k) => (back[k] >= 0n ? s : -1)),
      admitted: this.admitted,
      dropped: this.dropped,
      lost: this.lost,
    };
  }
}
