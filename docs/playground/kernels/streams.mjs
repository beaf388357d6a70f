// Random numbers by key and counter: SplitMix64 as a function. See refimpl/streams.py.
//
// A word of 64 bits is a pair of 32-bit halves. Arithmetic is done in the two variables below:
// an object for each product would be slow, and BigInts are slower still.

import { KindError, Table, ValueError, dtype_of, integer, shown, wrong_kind } from "./check.mjs";

let high = 0;
let low = 0;

// What draws are for: the second part of a key.
export const SAMPLE = 0;
export const CONTROL = 7;
export const NODES = 9;
export const NEIGHBOR = 10;
export const SHARED = 11;
export const RELATION = 12;
export const LABOR = 22;

const MOST_NODES = 2 ** 31 - 1;

// An integer modulo 2**64.
export class Word {
  constructor(hi, lo) {
    this.hi = hi;
    this.lo = lo;
  }

  static of(name, value) {
    if (value instanceof Word) return value;
    if (typeof value !== "bigint" && !(typeof value === "number" && Number.isInteger(value))) {
      throw wrong_kind(name, "an integer", value);
    }
    const big = BigInt(value);
    if (big < 0n || big >> 64n) {
      throw new ValueError(`${name} must be in [0, ${2n ** 64n - 1n}], got ${shown(value)}`);
    }
    return new Word(Number(big >> 32n) | 0, Number(big & 0xffffffffn) | 0);
  }

  big() {
    return (BigInt(this.hi >>> 0) << 32n) | BigInt(this.lo >>> 0);
  }

  toString() {
    return this.big().toString();
  }
}

function load(word) {
  high = word.hi;
  low = word.lo;
}

function add(hi, lo) {
  const sum = (low >>> 0) + (lo >>> 0);
  low = sum | 0;
  high = (high + hi + (sum > 0xffffffff ? 1 : 0)) | 0;
}

function multiply(hi, lo) {
  const a0 = low & 0xffff, a1 = low >>> 16, b0 = lo & 0xffff, b1 = lo >>> 16;
  const p01 = a0 * b1, p10 = a1 * b0;
  const middle = ((a0 * b0) >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
  const carried = a1 * b1 + (p01 >>> 16) + (p10 >>> 16) + (middle >>> 16);
  high = (carried + Math.imul(low, hi) + Math.imul(high, lo)) | 0;
  low = Math.imul(low, lo);
}

function shift_xor(bits) {
  low ^= (low >>> bits) | (high << (32 - bits));
  high ^= high >>> bits;
}

function add_gold() {
  add(0x9e3779b9, 0x7f4a7c15);
}

function mix_loaded() {
  shift_xor(30);
  multiply(0xbf58476d, 0x1ce4e5b9);
  shift_xor(27);
  multiply(0x94d049bb, 0x133111eb);
  shift_xor(31);
}

// The word that is loaded as a multiple of 2**-53 in [0, 1).
function as_uniform() {
  return ((high >>> 0) * 0x200000 + (low >>> 11)) * 2 ** -53;
}

// The draws of one key in order; `c` is how many were made. Nothing is checked.
export class Stream {
  constructor(k, c = 0) {
    this.k = k;
    this.c = 0;
    load(k);
    if (c !== 0) {
      const start = Word.of("c", c);
      load(start);
      multiply(0x9e3779b9, 0x7f4a7c15);
      add(k.hi, k.lo);
    }
    this.hi = high;
    this.lo = low;
  }

  // The Stream whose key has one part more, a number.
  of(part) {
    return new Stream(absorb(this.k, new Word(0, part | 0)));
  }

  uniform() {
    high = this.hi;
    low = this.lo;
    add_gold();
    this.hi = high;
    this.lo = low;
    this.c += 1;
    mix_loaded();
    return as_uniform();
  }

  below(n) {
    return Math.floor(this.uniform() * n);
  }

  pick_without_replacement(N, m) {
    const moved = new Map(); // position -> value where they differ; an array would take O(N)
    const picked = new Int32Array(m);
    for (let i = 0; i < m; i++) {
      const j = i + this.below(N - i);
      picked[i] = moved.get(j) ?? j;
      moved.set(j, moved.get(i) ?? i);
    }
    return picked;
  }

  floyd(n, f) {
    const chosen = new Set();
    for (let c = 0; c < f; c++) {
      const last = n - f + c;
      const t = this.below(last + 1);
      chosen.add(chosen.has(t) ? last : t);
    }
    return [...chosen].sort((a, b) => a - b);
  }
}

// What `of_word` makes of `value`, or of each element of an array of uint64.
function each_word(name, value, of_word) {
  if (value instanceof Table) return new Table(each_word(name, value.data, of_word), value.shape);
  if (value instanceof BigUint64Array) return Array.from(value, (x) => of_word(Word.of(name, x)));
  if (dtype_of(value) !== null) {
    throw new KindError(`${name} must be an int or a uint64 array, got ${dtype_of(value)}`);
  }
  return of_word(Word.of(name, value));
}

export function mix(x) {
  return each_word("x", x, (word) => {
    load(word);
    mix_loaded();
    return new Word(high, low);
  });
}

function absorb(a, part) {
  load(a);
  add_gold();
  add(part.hi, part.lo);
  mix_loaded();
  return new Word(high, low);
}

export function key(...parts) {
  return parts.reduce((a, part) => absorb(a, Word.of("parts", part)), new Word(0, 0));
}

export function uniform(k, c) {
  k = Word.of("k", k);
  return each_word("c", c, (word) => new Stream(k, word).uniform());
}

export function below(k, c, n) {
  n = integer("n", n, 1, 2 ** 53 - 1);
  k = Word.of("k", k);
  return each_word("c", c, (word) => new Stream(k, word).below(n));
}

export function pick_without_replacement(k, c, N, m) {
  k = Word.of("k", k);
  c = Word.of("c", c);
  N = integer("N", N, 0, MOST_NODES);
  return new Stream(k, c).pick_without_replacement(N, integer("m", m, 0, N));
}

export function floyd(key, n, f) {
  key = Word.of("key", key);
  n = integer("n", n, 0, MOST_NODES);
  return Int32Array.from(new Stream(key).floyd(n, integer("f", f, 0, n)));
}

export function permutation(key, n) {
  key = Word.of("key", key);
  n = integer("n", n, 0, MOST_NODES);
  return new Stream(key).pick_without_replacement(n, n);
}
