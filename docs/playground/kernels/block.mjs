// Blocks: the rectangular patterns of layer sampling, and message-flow graphs made of them.
// See refimpl/block.py.

import { KindError } from "./check.mjs";

// The sources of destination i are indices[start[i]] to indices[end[i] - 1]. What stands between
// rows is dead.
export class Block {
  constructor(start, end, indices, n_src, edge_ids = null) {
    this.type = "Block";
    Object.assign(this, { start, end, indices, n_src, edge_ids });
  }

  get n_dst() {
    return this.start.length;
  }

  row(i) {
    return this.indices.slice(this.start[i], this.end[i]);
  }
}

// nodes[0] are the nodes whose features are read, the last are the roots; blocks[l - 1] is layer l.
export class MFG {
  constructor(nodes, blocks) {
    this.type = "MFG";
    Object.assign(this, { nodes, blocks });
  }
}

// The destinations, then the new nodes of `picked`, ascending; and where each of `picked` stands.
export function sources(dst, picked) {
  const place = new Map(Array.from(dst, (v, i) => [v, i]));
  const fresh = [...new Set(picked)].filter((v) => !place.has(v)).sort((a, b) => a - b);
  fresh.forEach((v, i) => place.set(v, dst.length + i));
  return [Int32Array.from([...dst, ...fresh]), Int32Array.from(picked, (v) => place.get(v))];
}

// The transpose of a block and the permutation of its values: a counting sort.
export function transpose_block(block) {
  if (!(block instanceof Block)) throw new KindError("block must be a Block");
  const rows = Array.from({ length: block.n_src }, () => []);
  for (let i = 0; i < block.n_dst; i++) {
    for (let j = block.start[i]; j < block.end[i]; j++) rows[block.indices[j]].push([i, j]);
  }
  const bounds = [0];
  for (const row of rows) bounds.push(bounds[bounds.length - 1] + row.length);
  const entries = rows.flat();
  const destinations = Int32Array.from(entries, ([i]) => i);
  const transpose = new Block(bounds.slice(0, -1), bounds.slice(1), destinations, block.n_dst);
  return [transpose, entries.map(([, j]) => j)];
}
