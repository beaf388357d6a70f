// The beginning of a port in JavaScript: answers the streams (mix, key, uniform, below) and one
// sampler (pick_without_replacement, frontier), and skips the rest.
//
//     minibatch-gnn conformance --cmd 'node starter.js'
//
// To add a kernel, write a function of its arguments by their names, as `below`, which throws
// `refuse(..)` for what the kernel's page says and returns a function that computes the result, and
// name it in KERNELS. What computes is apart from what reads, since it alone is timed. `frontier`
// shows how to read a graph and how to return named values and states.

"use strict";
const readline = require("node:readline");

const WORD = 2n ** 64n;
const GOLD = 0x9e3779b97f4a7c15n;

class Refused extends Error {}
const refuse = (kind) => { throw new Refused(kind); };

// ---- Arguments ----

// JSON.parse makes one of 2 and 2.0, and rounds above 2**53: keep numbers as they are written.
class Written {
  constructor(text) { this.text = text; }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

function parse(line) {
  const kept = line.replace(TOKEN, (t) => (t[0] === '"' ? t : `{"written number":"${t}"}`));
  return JSON.parse(kept, (name, value) => {
    const text = value === null ? undefined : value["written number"];
    return typeof text === "string" ? new Written(text) : value;
  });
}

// Return an integer in [low, high] as a BigInt: a decimal string is one, 2.0 and true are not.
function integer(value, low, high) {
  const text = value instanceof Written ? value.text : value;
  if (typeof text !== "string" || !/^-?\d+$/.test(text)) refuse("type");
  const whole = BigInt(text);
  if (whole < low || whole > high) refuse("value");
  return whole;
}

const word = (value) => integer(value, 0n, WORD - 1n);

const INT32 = 2n ** 31n - 1n;

// Return a graph of n nodes: entries indptr[v] to indptr[v + 1], the end exclusive, of indices are
// the neighbours of v.
function readGraph(value) {
  if (!value?.graph) refuse("type");
  const list = (part) => (part.data ?? part).map((x) => Number(x.text)); // a long one is an array
  const indptr = list(value.graph.indptr);
  return { n: indptr.length - 1, indptr, indices: list(value.graph.indices) };
}

const degree = ({ indptr }, v) => indptr[v + 1] - indptr[v];

function refuseDirected({ n, indptr, indices }) {
  const ends = Array.from({ length: n }, (_, v) => indices.slice(indptr[v], indptr[v + 1]));
  const edges = new Set(ends.flatMap((near, v) => near.map((u) => v * n + u)));
  if (ends.some((near, v) => near.some((u) => !edges.has(u * n + v)))) refuse("value");
}

// Return what computes what a function gives for a counter, or for each of an array of uint64.
function each(counters, dtype, draw) {
  const isArray = counters !== null && Array.isArray(counters.data);
  if (!isArray) {
    const c = word(counters);
    return () => draw(c);
  }
  if (counters.dtype !== "uint64") refuse("type");
  const shape = counters.shape.map((size) => Number(size.text));
  const words = counters.data.map(word);
  return () => ({ dtype, shape, data: words.map((c) => draw(c)) });
}

// ---- Streams ----

const wrap = (x) => BigInt.asUintN(64, x);

function mixWord(x) {
  x = wrap((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n);
  x = wrap((x ^ (x >> 27n)) * 0x94d049bb133111ebn);
  return x ^ (x >> 31n);
}

const uniformNumber = (k, c) => Number(mixWord(wrap(k + GOLD * (c + 1n))) >> 11n) * 2 ** -53;

const mix = ({ x }) => each(x, "uint64", mixWord);

function key({ parts }) {
  const words = parts.map(word);
  return () => words.reduce((a, part) => mixWord(wrap(a + GOLD + part)), 0n);
}

function uniform({ k, c }) {
  const k_ = word(k);
  return each(c, "float64", (one) => uniformNumber(k_, one));
}

function below({ k, c, n }) {
  const k_ = word(k);
  const n_ = Number(integer(n, 1n, 2n ** 53n - 1n));
  return each(c, "int64", (one) => Math.floor(uniformNumber(k_, one) * n_));
}

// ---- A sampler ----

const ids = (list) => ({ dtype: "int32", shape: [list.length], data: list });
const drawBelow = (k, c, n) => Math.floor(uniformNumber(k, BigInt(c)) * n);

function pick(k, c, N, m) {
  const deck = new Map(); // the cards that are not in their own place
  return Array.from({ length: m }, (_, i) => {
    const j = i + Math.floor(uniformNumber(k, c + BigInt(i)) * (N - i));
    const picked = deck.get(j) ?? j;
    deck.set(j, deck.get(i) ?? i);
    return picked;
  });
}

function pick_without_replacement({ k, c, N, m }) {
  const [k_, c_, N_] = [word(k), word(c), integer(N, 0n, INT32)];
  const m_ = Number(integer(m, 0n, N_));
  return () => ids(pick(k_, c_, Number(N_), m_));
}

function frontier({ graph, main, probe, m, n, deg_cap, include }) {
  const g = readGraph(graph);
  refuseDirected(g);
  const [main_, probe_] = [word(main), word(probe)];
  const m_ = Number(integer(m, 1n, BigInt(g.n)));
  const steps = Number(integer(n, BigInt(m_), INT32)) - m_;
  const cap = deg_cap === null ? Infinity : Number(integer(deg_cap, 1n, INT32));
  if (include !== "pushed" && include !== "popped") refuse("value");
  const weight = (v) => Math.min(degree(g, v), cap);
  return (states) => {
    const FS = pick(main_, 0n, g.n, m_);
    const sample = new Set(FS);
    const nodes = () => [...sample].sort((a, b) => a - b);
    const popped = [];
    const pushed = [];
    const note = () => states?.push({ frontier: [...FS], sample: nodes() });
    note();
    while (popped.length < steps) {
      const total = FS.reduce((sum, v) => sum + weight(v), 0);
      if (total === 0) break; // only isolated nodes are left
      let left = drawBelow(probe_, popped.length, total);
      let slot = 0;
      while (left >= weight(FS[slot])) left -= weight(FS[slot++]);
      const u = FS[slot];
      const which = drawBelow(main_, m_ + popped.length, degree(g, u));
      FS[slot] = g.indices[g.indptr[u] + which];
      popped.push(u);
      pushed.push(FS[slot]);
      sample.add(include === "pushed" ? FS[slot] : u);
      note();
    }
    const degrees = (list) => list.reduce((sum, v) => sum + degree(g, v), 0);
    const counters = {
      pops: popped.length, probes: popped.length, rounds: popped.length,
      cleanups: 0, moved: 0, truncated: 0, capacity: 0, draws: m_ + popped.length,
      popped_degree_sum: degrees(popped), added_degree_sum: degrees(pushed),
    };
    const parts = { nodes: ids(nodes()), popped: ids(popped), pushed: ids(pushed) };
    return { fields: { ...parts, counters: { fields: counters } } };
  };
}

const KERNELS = new Map(
  Object.entries({ mix, key, uniform, below, pick_without_replacement, frontier }),
);

// ---- Questions ----

function answer(question) {
  if ("hello" in question) return { name: "starter.js", version: "1" };
  const kernel = KERNELS.get(question.call);
  if (!kernel) return { skip: "not implemented" };
  const compute = kernel(question.args);
  if (question.time) return { result: compute(), nanoseconds: timed(compute, question.time) };
  const states = []; // a kernel that works in steps adds them
  const result = compute(states);
  return states.length ? { result, states } : { result };
}

function timed(compute, rounds) {
  return Array.from({ length: Number(integer(rounds, 1n, 1_000_000n)) }, () => {
    const begin = process.hrtime.bigint();
    compute();
    return process.hrtime.bigint() - begin;
  });
}

// JSON has no BigInt: integers of any size may be written as text.
const write = (said) => JSON.stringify(said, (_, x) => (typeof x === "bigint" ? String(x) : x));

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  let id = {};
  let said;
  try {
    const question = parse(line);
    if (question.id instanceof Written) id = { id: Number(question.id.text) };
    said = answer(question);
  } catch (error) {
    said = error instanceof Refused ? { error: error.message } : { fault: String(error) };
  }
  process.stdout.write(`${write({ ...id, ...said })}\n`);
});
