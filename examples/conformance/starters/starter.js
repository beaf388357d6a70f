// The beginning of a port in JavaScript: answers mix, key, uniform and below, and skips the rest.
//
//     minibatch-gnn conformance --cmd 'node starter.js'
//
// To add a kernel, write a function of its arguments by their names, as `below`, which throws
// `refuse(..)` for what the kernel's page says and returns a function that computes the result, and
// name it in KERNELS. What computes is apart from what reads, since it alone is timed.

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

const KERNELS = new Map(Object.entries({ mix, key, uniform, below }));

// ---- Questions ----

function answer(question) {
  if ("hello" in question) return { name: "starter.js", version: "1" };
  const kernel = KERNELS.get(question.call);
  if (!kernel) return { skip: "not implemented" };
  const compute = kernel(question.args);
  const result = compute();
  return question.time ? { result, nanoseconds: timed(compute, question.time) } : { result };
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
