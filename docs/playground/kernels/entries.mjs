// Embeddings in slots: finding, reading and writing them. See refimpl/history/entries.py.

import {
  KindError,
  Table,
  ValueError,
  dtype_of,
  floats,
  ids,
  integer,
  shape_of,
  wrong_kind,
} from "./check.mjs";

export const MOST = 2 ** 31 - 1; // iterations, slots and nodes are counted in 32 bits

// The key of node v in layer l is (l - 1) n + v. Its entry is in slot s = slot_of[l - 1, v] only if
// back[s] is the key; stamp[s] is the iteration in which it was written.
export class Entries {
  constructor(rows, slot_of, back, stamp) {
    this.type = "Entries";
    Object.assign(this, { rows, slot_of, back, stamp });
  }

  get n() {
    return this.slot_of.shape[1];
  }

  copy() {
    const again = (table) => new Table(table.data.slice(), table.shape);
    return new Entries(
      again(this.rows),
      again(this.slot_of),
      this.back.slice(),
      this.stamp.slice(),
    );
  }
}

// FreshGNN Algorithm 1 line 7: the slots of the entries that are valid, -1 for the others.
export function cache_lookup(entries, layer, nodes, oldest) {
  [layer, nodes] = layer_ids(checked(entries), layer, nodes);
  oldest = integer("oldest", oldest, -(2 ** 63), 2 ** 63);
  const first_key = (layer - 1) * entries.n;
  return Int32Array.from(nodes, (node) => {
    const s = entries.slot_of.data[first_key + node];
    const known = s >= 0 && s < entries.back.length && entries.back[s] === BigInt(first_key + node);
    return known && entries.stamp[s] >= oldest ? s : -1;
  });
}

// FreshGNN Algorithm 1 line 13: some rows of a matrix, copied; -1: the next of the computed rows.
export function cache_read(rows, slots, computed = null) {
  floats("rows", rows, [null, null]);
  slots = ids("slots", slots, computed === null ? 0 : -1, Math.min(rows.shape[0], MOST));
  if (computed !== null) {
    const missing = slots.filter((s) => s < 0).length;
    floats("computed", computed, [missing, rows.shape[1]], dtype_of(rows));
  }
  const read = new Table(new rows.data.constructor(slots.length * rows.shape[1]), [
    slots.length,
    rows.shape[1],
  ]);
  let next = 0; // of the computed rows
  slots.forEach((s, j) => read.row(j).set(s < 0 ? computed.row(next++) : rows.row(s)));
  return read;
}

// FreshGNN Algorithm 1 line 20: write entry j of a list to slot slots[j]. `watch` is called after
// each node that is written.
export function cache_admit(
  entries,
  layer,
  nodes,
  values,
  slots,
  i,
  { take = null } = {},
  watch = null,
) {
  [layer, nodes] = layer_ids(checked(entries), layer, nodes);
  const [places, h] = entries.rows.shape;
  take = rows_taken(values, [nodes.length, h], dtype_of(entries.rows), take);
  slots = ids("slots", slots, 0, places);
  if (slots.length !== nodes.length) {
    throw new ValueError(
      `slots must have shape (${nodes.length},) like ids, got (${slots.length},)`,
    );
  }
  if (new Set(slots).size < slots.length) throw new ValueError("slots must be distinct");
  i = integer("i", i, 0, MOST);
  const first_key = (layer - 1) * entries.n;
  nodes.forEach((node, j) => {
    const s = slots[j];
    entries.rows.row(s).set(values.row(take ? take[j] : j));
    entries.back[s] = BigInt(first_key + node);
    entries.stamp[s] = i;
    entries.slot_of.data[first_key + node] = s;
    watch?.(entries);
  });
}

// FreshGNN Algorithm 1 line 11: the features of some nodes as far as they are held, zeros else. The
// row of rank r is the r-th from the end.
export function cache_fetch(features, rank, nodes, held) {
  const [most, d] = floats("features", features, [null, null]).shape;
  if (!(rank instanceof Int32Array)) throw new KindError("rank must be a 1-D int32 array");
  nodes = ids("ids", nodes, 0, rank.length);
  held = integer("held", held, 0, most);
  const hit = nodes.map((v) => rank[v] >= 0 && rank[v] < held);
  const rows = new Table(new features.data.constructor(nodes.length * d), [nodes.length, d]);
  nodes.forEach((v, j) => hit[j] && rows.row(j).set(features.row(most - 1 - rank[v])));
  return [rows, hit];
}

// Which of some slots hold an entry with a stamp of at least `oldest`.
export function is_valid(entries, slots, oldest) {
  return Array.from(slots, (s) => entries.back[s] >= 0n && entries.stamp[s] >= oldest);
}

export function layer_ids(entries, layer, nodes) {
  const [layers, n] = entries.slot_of.shape;
  return [integer("layer", layer, 1, layers), ids("ids", nodes, 0, n)];
}

// The row of `values` for each id, or null where it is the id's own place.
export function rows_taken(values, [count, h], dtype, take) {
  floats("values", values, [take === null ? count : null, h], dtype);
  if (take === null) return null;
  take = ids("take", take, 0, values.shape[0]);
  if (take.length !== count)
    throw new ValueError(`take must have shape (${count},) like ids, got (${take.length},)`);
  return take;
}

function checked(entries) {
  if (!(entries instanceof Entries)) throw wrong_kind("entries", "Entries", entries);
  const kinds = {
    rows: [["float32", "float64"], 2],
    slot_of: [["int32"], 2],
    back: [["int64"], 1],
    stamp: [["int32"], 1],
  };
  for (const [name, [dtypes, ndim]] of Object.entries(kinds)) {
    const array = entries[name];
    if (!dtypes.includes(dtype_of(array)) || shape_of(array).length !== ndim) {
      throw new KindError(`entries.${name} is no array of the kind that Entries says`);
    }
  }
  const slots = entries.rows.shape[0];
  if (slots !== entries.back.length || slots !== entries.stamp.length) {
    throw new ValueError("entries must have a row, a key and a stamp for each slot");
  }
  return entries;
}
