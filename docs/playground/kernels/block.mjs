// Blocks: the rectangular patterns of layer sampling, and message-flow graphs made of them.
// See refimpl/block.py.

// The sources of destination i are indices[start[i]] to indices[end[i] - 1]. What stands between
// rows is dead.
export class Block {
  constructor(start, end, indices, n_src, edge_ids = null, weights = null) {
    this.type = "Block";
    Object.assign(this, { start, end, indices, n_src, edge_ids });
    if (weights) this.weights = weights; // of all entries; without them a row is a plain mean
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
