// Pruning: a message-flow graph without what only cached embeddings would have needed.
// See refimpl/history/pruning.py and compaction.py.

import { Block, MFG } from "./block.mjs";
import { KindError, ValueError, listed, mask, wrong_kind } from "./check.mjs";

// FreshGNN, Algorithm 1 lines 6-9: the live rows of every layer, those that the layer above computes
// first, the others by their node; which of them are computed; and blocks on these rows alone.
export function prune_layers(mfg, hit) {
  const { live, comp } = needed_nodes(mfg, prune_arguments(mfg, hit));
  const L = mfg.blocks.length;
  const order = Array(L).fill(null),
    computed = Array(L),
    blocks = Array(L);
  order.push(places_of(live[L]));
  for (let l = L; l > 0; l--) {
    computed[l - 1] = order[l].map((i) => comp[l - 1][i]);
    const rows = order[l].filter((i) => comp[l - 1][i]);
    const first = new Set(rows);
    const nodes = mfg.nodes[l - 1];
    const rest = places_of(live[l - 1]).filter((i) => !first.has(i));
    order[l - 1] = [...rows, ...rest.sort((i, j) => nodes[i] - nodes[j])];
    blocks[l - 1] = rows_of(mfg.blocks[l - 1], rows, order[l - 1]);
  }
  return { type: "LiveRows", order, computed, blocks };
}

// From the roots down: a node that is live and not cached is computed, and needs itself and its
// sources. live[l][i]: something computed, or a root, needs mfg.nodes[l][i] at layer l; comp[l - 1]:
// nodes of layer l that are live and not cached.
function needed_nodes(mfg, hit) {
  const live = [Array(mfg.nodes.at(-1).length).fill(true)];
  const comp = [];
  for (let l = mfg.blocks.length; l > 0; l--) {
    const block = mfg.blocks[l - 1];
    const computed = live[0].map((needed, i) => needed && !hit[l - 1][i]);
    const needed = Array(block.n_src).fill(false);
    for (const i of places_of(computed)) {
      needed[i] = true;
      for (const u of block.row(i)) needed[u] = true;
    }
    live.unshift(needed);
    comp.unshift(computed);
  }
  return { live, comp };
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
    entries = [];
  for (const i of rows) {
    start.push(indices.length);
    for (let j = block.start[i]; j < block.end[i]; j++) {
      indices.push(place.get(block.indices[j]));
      entries.push(j);
    }
    end.push(indices.length);
  }
  return new Block(
    start,
    end,
    Int32Array.from(indices),
    sources.length,
    block.edge_ids && entries.map((j) => block.edge_ids[j]),
    block.weights && Float64Array.from(entries, (j) => block.weights[j]),
  );
}

function prune_arguments(mfg, hit) {
  checked_mfg(mfg);
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

function checked_mfg(mfg) {
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
