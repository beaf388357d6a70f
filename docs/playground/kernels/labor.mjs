// LABOR: a variate of each source node chooses the neighbours. See refimpl/samplers/labor.py.

import { LABOR, Stream, key } from "./streams.mjs";

export const ROUNDS = { labor_1: 1, labor_2: 2, labor_3: 3 }; // of LABOR-i, by mode

// Wichura 1988, Algorithm AS 241: numerators and denominators, from the constant on.
// prettier-ignore
const TABLE = [
  [3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
   45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227],
  [1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597,
   39307.89580009271, 28729.085735721943, 5226.495278852854],
  [1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
   1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414],
  [1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
   0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09],
  [6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
   0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07],
  [1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
   1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15],
];
const SERIES = Array.from({ length: 16 }, (_, k) => 1 / (2 * k + 1)); // of the logarithm

// For each of the nodes `dst`, where the neighbours that it keeps stand in `graph.indices`.
export function draw_shared_rows(graph, dst, fanout, variates) {
  return Array.from(dst, (v) => {
    const start = graph.indptr[v];
    const row = Array.from({ length: graph.degree(v) }, (_, i) => start + i);
    if (fanout < 0 || row.length <= fanout) return row;
    if (fanout === 0) return [];
    const r = new Map(row.map((j) => [j, variates.of(graph.indices[j])]));
    if (!variates.exact) {
      const bound = variates.bound(fanout / row.length);
      return row.filter((j) => r.get(j) < bound);
    }
    row.sort((a, b) => r.get(a) - r.get(b) || a - b);
    return row.slice(0, fanout).sort((a, b) => a - b);
  });
}

// The same for LABOR-i, and the weight of each entry: 1 over the chance that it is kept.
export function draw_by_importance(graph, dst, fanout, variates) {
  const rows = Array.from(dst, (v) => {
    const length = fanout === 0 ? 0 : graph.degree(v);
    return Array.from({ length }, (_, i) => graph.indptr[v] + i);
  });
  const pi = new Map(rows.flat().map((j) => [graph.indices[j], 1]));
  const pi_of = (j) => pi.get(graph.indices[j]);
  const scales = () => rows.map((row) => row_scale(row.map(pi_of), fanout));
  for (let round = 0; round < variates.rounds; round++) {
    const greatest = new Map();
    scales().forEach((c, i) => {
      for (const t of rows[i].map((j) => graph.indices[j]))
        greatest.set(t, Math.max(c, greatest.get(t) ?? 0));
    });
    for (const [t, c] of greatest) pi.set(t, pi.get(t) * c);
  }
  const weights = [];
  const c = scales();
  const kept = rows.map((row, i) =>
    row.filter((j) => {
      const chance = Math.min(c[i] * pi_of(j), 1);
      const stays = chance === 1 || variates.of(graph.indices[j]) < variates.bound(chance);
      if (stays) weights.push(1 / chance);
      return stays;
    }),
  );
  return [kept, Float64Array.from(weights)];
}

// c: the sum of 1 / min(1, c pi) over d neighbours is d * d / fanout.
function row_scale(pi, fanout) {
  const d = pi.length;
  if (fanout < 0 || d <= fanout) return 1;
  const inverse = pi.map((p) => 1 / p);
  for (let c = 0, certain = 0; ; ) {
    const sum = inverse.filter((x) => x >= c).reduce((a, b) => a + b, 0);
    c = sum / ((d * d) / fanout - certain);
    const found = inverse.filter((x) => x < c).length;
    if (found <= certain || found === d) return c;
    certain = found;
  }
}

// The variates of a layer in the batch that `name` names.
export function variates_of_hop([seed, epoch, batch], layer, mode, batch_dependency) {
  const kappa = BigInt(batch_dependency);
  const group = batch.big() / kappa;
  const place = Number(batch.big() % kappa);
  const now = key(seed, LABOR, epoch, group, layer);
  const later = place ? key(seed, LABOR, epoch, group + 1n, layer) : now;
  const [cos, sin] = cos_sin((place / Number(kappa)) * (Math.PI / 2));
  const drawn = (k, v) => new Stream(k, v).uniform();
  return {
    exact: mode === "labor_exact",
    rounds: ROUNDS[mode] ?? 0,
    of: (v) =>
      place
        ? cos * normal_quantile(drawn(now, v)) + sin * normal_quantile(drawn(later, v))
        : drawn(now, v),
    bound: (p) => (place ? normal_quantile(p) : p),
  };
}

function normal_quantile(p) {
  p = Math.max(p, 2 ** -54);
  const q = p - 0.5;
  const ratio = (i, x) => horner(TABLE[i], x) / horner(TABLE[i + 1], x);
  if (Math.abs(q) <= 0.425) return q * ratio(0, 0.180625 - q * q);
  const s = Math.sqrt(-logarithm(Math.min(p, 1 - p)));
  return Math.sign(q) * (s <= 5 ? ratio(2, s - 1.6) : ratio(4, s - 5));
}

// Of a number in (0, 1), by additions, products and quotients alone.
function logarithm(x) {
  let e = 0;
  for (; x < 0.5; x *= 2) e -= 1;
  if (x < Math.SQRT1_2) [x, e] = [2 * x, e - 1];
  const s = (x - 1) / (x + 1);
  return 2 * s * horner(SERIES, s * s) + e * Math.LN2;
}

function horner(coefficients, x) {
  return coefficients.reduceRight((y, c) => y * x + c);
}

function cos_sin(x) {
  const sums = [0, 0];
  let term = 1;
  for (let k = 0; k < 26; k++) {
    sums[k % 2] += k % 4 > 1 ? -term : term;
    term = (term * x) / (k + 1);
  }
  return sums;
}
