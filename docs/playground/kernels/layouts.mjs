// How the entries of rows are removed from a block in other layouts than CSR2, for comparison.
// See refimpl/history/layouts.py.

import { Block } from "./block.mjs";
import { choice } from "./check.mjs";
import { Csr2, work } from "./pruning.mjs";

// Row pointers in one array: entries behind a removed one move up, row after row.
class Csr {
  constructor(block) {
    const at = [];
    this.n_src = block.n_src;
    this.indptr = [0];
    for (let i = 0; i < block.n_dst; i++) {
      for (let j = block.start[i]; j < block.end[i]; j++) at.push(j);
      this.indptr.push(at.length);
    }
    this.indices = at.map((j) => block.indices[j]);
    this.edge_ids = block.edge_ids === null ? null : at.map((j) => block.edge_ids[j]);
  }

  // Bytes that move with an entry.
  get entry_bytes() {
    return this.edge_ids === null ? 4 : 12;
  }

  empty(rows) {
    let pointers = 0,
      moved = 0;
    for (const i of rows) {
      const start = this.indptr[i],
        removed = this.indptr[i + 1] - start;
      this.indices.splice(start, removed);
      this.edge_ids?.splice(start, removed);
      for (let k = i + 1; k < this.indptr.length; k++) this.indptr[k] -= removed;
      moved += this.indices.length - start;
      pointers += this.indptr.length - 1 - i;
    }
    return work(pointers + moved, 8 * pointers + this.entry_bytes * moved);
  }

  keep(wanted) {
    this.indices = this.indices.filter((_, j) => wanted[j]);
    this.edge_ids = this.edge_ids?.filter((_, j) => wanted[j]) ?? null;
  }

  block() {
    const { indptr, n_src, edge_ids } = this;
    return new Block(
      indptr.slice(0, -1),
      indptr.slice(1),
      Int32Array.from(this.indices),
      n_src,
      edge_ids,
    );
  }
}

// Row pointers in one array, rewritten once with all entries that stay.
class CsrBatched extends Csr {
  empty(rows) {
    const gone = new Set(rows),
      wanted = [],
      indptr = [0];
    for (let i = 0; i + 1 < this.indptr.length; i++) {
      const length = this.indptr[i + 1] - this.indptr[i];
      wanted.push(...Array(length).fill(!gone.has(i)));
      indptr.push(indptr[i] + (gone.has(i) ? 0 : length));
    }
    this.indptr = indptr;
    this.keep(wanted);
    const n = indptr.length - 1,
      e = this.indices.length;
    return work(n + e, 8 * n + this.entry_bytes * e);
  }
}

// Pairs sorted by row: the entries of a row are searched for, and marked as gone.
class Coo extends Csr {
  constructor(block) {
    super(block);
    this.n_dst = block.n_dst;
    this.rows = this.indices.map((_, j) => this.indptr.findLastIndex((first) => first <= j));
    this.stays = this.rows.map(() => true);
  }

  empty(rows) {
    let compared = 0,
      marked = 0;
    for (const i of rows) {
      const [first, steps] = this.search(i);
      const [last, more_steps] = this.search(i + 1);
      this.stays.fill(false, first, last);
      compared += steps + more_steps;
      marked += last - first;
    }
    return work(compared + marked, 4 * compared + marked);
  }

  // Where the rows from `row` on begin, and how many numbers were compared.
  search(row) {
    let lower = 0,
      upper = this.rows.length,
      compared = 0;
    while (lower < upper) {
      const middle = Math.floor((lower + upper) / 2);
      compared += 1;
      if (this.rows[middle] < row) lower = middle + 1;
      else upper = middle;
    }
    return [lower, compared];
  }

  block() {
    const rows = this.rows.filter((_, j) => this.stays[j]);
    this.indptr = Array.from(
      { length: this.n_dst + 1 },
      (_, i) => rows.filter((row) => row < i).length,
    );
    this.keep(this.stays);
    return super.block();
  }
}

// The same; then the entries that stay move together.
class CooCompact extends Coo {
  empty(rows) {
    const marking = super.empty(rows);
    const e = this.rows.length,
      left = this.stays.filter(Boolean).length;
    this.rows = this.rows.filter((_, j) => this.stays[j]);
    this.keep(this.stays);
    this.stays = this.rows.map(() => true);
    const entry_bytes = this.edge_ids === null ? 8 : 16;
    return work(marking.ops + e + left, marking.touched_bytes + e + entry_bytes * left);
  }
}

const LAYOUTS = {
  csr2: Csr2,
  csr: Csr,
  csr_batched: CsrBatched,
  coo: Coo,
  coo_compact: CooCompact,
};

export function layout_of(name) {
  return LAYOUTS[choice("layout", name, Object.keys(LAYOUTS))];
}
