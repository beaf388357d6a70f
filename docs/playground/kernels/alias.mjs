// The alias method: draws from a fixed law in constant time. See refimpl/samplers/alias.py.

import { ValueError, floats } from "./check.mjs";

// Vose 1991. The order of operations is part of the result.
export function alias_build(weights) {
  const p = alias_parts(weights);
  const k = p.length;
  const prob = new Float64Array(k).fill(1);
  const alias = Array.from({ length: k }, (_, i) => i);
  const small = [], large = [];
  for (let i = 0; i < k; i++) (p[i] < 1 ? small : large).push(i);
  while (small.length && large.length) {
    const lower = small.pop(), higher = large.pop();
    prob[lower] = p[lower];
    alias[lower] = higher;
    p[higher] = p[higher] + p[lower] - 1;
    (p[higher] < 1 ? small : large).push(higher);
  }
  return { type: "AliasTable", prob, alias }; // what is left on a stack is a whole part
}

// An outcome of the table from the next two draws of a Stream.
export function outcome(table, stream) {
  const i = stream.below(table.prob.length);
  return stream.uniform() < table.prob[i] ? i : table.alias[i];
}

function alias_parts(weights) {
  const given = Array.from(floats("weights", weights, [null]));
  if (!given.length) throw new ValueError("weights must not be empty");
  if (given.some((w) => !Number.isFinite(w) || w < 0)) {
    throw new ValueError("weights must be finite and not negative");
  }
  const total = given.reduce((a, b) => a + b);
  if (!(total > 0 && total < Infinity)) {
    throw new ValueError(`weights must have a finite sum above 0, got ${total}`);
  }
  return given.map((w) => (w / total) * given.length);
}
