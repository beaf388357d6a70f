// Pruning: a message-flow graph without what only cached embeddings would have needed.
// See refimpl/history/pruning.py and compaction.py.

import { Block, MFG } from "./block.mjs";
import { KindError, ValueError, listed, mask, truth, wrong_kind } from "./check.mjs";

const DEAD = "pruned must be what prune_mfg returns with uses_self=True";

// Numbers compared or stored, and their size in bytes.
export function work(ops, touched_bytes) {
  return { ops, touched_bytes };
}

// Row bounds in two arrays: an empty row ends where it starts, and nothing moves.
export class Csr2 {
  constructor(block) {
    this.source = block;
    this.end = [...block.end];
  }

  empty(rows) {
    for (const i of rows) this.end[i] = this.source.start[i];
    return work(rows.length, 8 * rows.length);
  }

  block() {
    const { start, indices, n_src, edge_ids } = this.source;
    return new Block(start, this.end, indices, n_src, edge_ids);
  }
}

// FreshGNN, Algorithm 1 lines 6-9, and section 5. From the roots down: a node that is live and not
// cached is computed, and needs its sources. `Layout` is how entries are removed; the answer is the same.
export function prune_mfg(mfg, hit, { uses_self = true, Layout = Csr2 } = {}) {
  hit = prune_arguments(mfg, hit, uses_self);
  const live = [Array(mfg.nodes.at(-1).length).fill(true)];
  const comp = [],
    blocks = [];
  let ops = 0,
    touched_bytes = 0;
  for (let l = mfg.blocks.length; l > 0; l--) {
    const block = mfg.blocks[l - 1];
    const computed = live[0].map((needed, i) => needed && !hit[l - 1][i]);
    const edges = new Layout(block);
    const done = edges.empty(
      places_of(computed.map((stays, i) => !stays && block.start[i] < block.end[i])),
    );
    const pruned = edges.block();
    const needed = Array(block.n_src).fill(false);
    if (uses_self) computed.forEach((stays, i) => (needed[i] = stays));
    for (let i = 0; i < pruned.n_dst; i++) {
      for (const u of pruned.row(i)) needed[u] = true;
    }
    live.unshift(needed);
    comp.unshift(computed);
    blocks.unshift(pruned);
    ops += done.ops;
    touched_bytes += done.touched_bytes;
  }
  return new PruneResult(new MFG([...mfg.nodes], blocks), live, comp, ops, touched_bytes);
}

// live[l][i]: something computed, or a root, needs mfg.nodes[l][i] at layer l; comp[l - 1]: nodes of
// layer l that are live and not cached.
export class PruneResult {
  constructor(mfg, live, comp, ops, touched_bytes) {
    this.type = "PruneResult";
    Object.assign(this, { mfg, live, comp, ops, touched_bytes });
  }
}

// The live rows of every layer, those that the layer above computes first; which of them are
// computed; and blocks on these rows alone.
export function live_layers(pruned) {
  const { mfg, live, comp } = live_arguments(pruned);
  const L = mfg.blocks.length;
  const order = Array(L).fill(null),
    computed = Array(L),
    blocks = Array(L);
  order.push(places_of(live[L]));
  for (let l = L; l > 0; l--) {
    computed[l - 1] = order[l].map((i) => comp[l - 1][i]);
    const rows = order[l].filter((i) => comp[l - 1][i]);
    if (!rows.every((i) => live[l - 1][i])) throw new ValueError(DEAD);
    const first = new Set(rows);
    order[l - 1] = [...rows, ...places_of(live[l - 1]).filter((i) => !first.has(i))];
    blocks[l - 1] = rows_of(mfg.blocks[l - 1], rows, order[l - 1]);
  }
  return { type: "LiveRows", order, computed, blocks };
}

// Algorithm 1 lines 8 and 9.
export function prune_layers(mfg, hit) {
  return live_layers(prune_mfg(mfg, hit));
}

function places_of(truths) {
  return truths.flatMap((yes, i) => (yes ? [i] : []));
}

// Some rows of a block, its columns numbered by their place in `sources`.
function rows_of(block, rows, sources) {
  const place = new Map(sources.map((i, k) => [i, k]));
  const start = [],
    end = [],
    indices = [],
    edge_ids = [];
  for (const i of rows) {
    start.push(indices.length);
    for (let j = block.start[i]; j < block.end[i]; j++) {
      if (!place.has(block.indices[j])) throw new ValueError(DEAD);
      indices.push(place.get(block.indices[j]));
      edge_ids.push(block.edge_ids?.[j]);
    }
    end.push(indices.length);
  }
  return new Block(
    start,
    end,
    Int32Array.from(indices),
    sources.length,
    block.edge_ids === null ? null : edge_ids,
  );
}

function prune_arguments(mfg, hit, uses_self) {
  checked_mfg(mfg);
  truth("uses_self", uses_self);
  const L = mfg.blocks.length;
  if (listed("hit", hit, "bool arrays").length !== L) {
    throw new ValueError(`hit must have an array for each of the ${L} layers, got ${hit.length}`);
  }
  hit = hit.map((array, l) => mask(`hit of layer ${l + 1}`, array, mfg.nodes[l + 1].length));
  if (L && hit[L - 1].some(Boolean)) {
    throw new ValueError("hit must be all False for the last layer: roots are never cached");
  }
  return hit;
}

export function checked_mfg(mfg) {
  if (!(mfg instanceof MFG)) throw wrong_kind("mfg", "an MFG", mfg);
  const sizes = listed("mfg.nodes", mfg.nodes, "arrays").map((nodes) => nodes.length);
  const blocks = listed("mfg.blocks", mfg.blocks, "Blocks");
  if (sizes.length !== blocks.length + 1) {
    throw new ValueError("mfg must have one array of nodes more than blocks");
  }
  blocks.forEach((block, l) => {
    if (!(block instanceof Block)) throw new KindError("mfg.blocks must be Blocks");
    const [n_src, n_dst] = [sizes[l], sizes[l + 1]];
    if (block.n_dst !== n_dst || block.n_src !== n_src || n_dst > n_src) {
      throw new ValueError(
        `mfg must have ${n_dst} destinations and ${n_src} sources, no fewer, in the block of layer ${l + 1}`,
      );
    }
  });
  return mfg;
}

function live_arguments(pruned) {
  if (!(pruned instanceof PruneResult)) throw wrong_kind("pruned", "a PruneResult", pruned);
  const { mfg, live, comp } = pruned;
  checked_mfg(mfg);
  if (live.length !== mfg.nodes.length || comp.length !== mfg.blocks.length) {
    throw new ValueError(`pruned must have live and comp for ${mfg.blocks.length} layers`);
  }
  return {
    mfg,
    live: live.map((part, l) => mask("pruned.live", part, mfg.nodes[l].length)),
    comp: comp.map((part, l) => mask("pruned.comp", part, mfg.nodes[l + 1].length)),
  };
}
