// Which embeddings are stable enough to be kept. See refimpl/history/policy.py.

import {
  BrokenError,
  ValueError,
  choice,
  dtype_of,
  floats,
  ids,
  integer,
  mask,
  real,
  truth,
} from "./check.mjs";
import { MOST, rows_taken } from "./entries.mjs";
import { uniform } from "./streams.mjs";

// Which rows are among the floor(p m + 1e-9) smallest by (score, id).
export function select_stable(score, nodes, p) {
  [score, nodes, p] = stable_arguments(score, nodes, p);
  const k = Math.floor(p * score.length + 1e-9);
  const order = score.map((_, row) => row);
  order.sort((a, b) => compare(score[a], score[b]) || compare(nodes[a], nodes[b]) || a - b);
  const low = Array(score.length).fill(false);
  for (const row of order.slice(0, k)) low[row] = true;
  return low;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// FreshGNN section 4.1.1: admit the stable new embeddings of a layer to the cache, evict the
// unstable cached ones. Options: p, rank_base, gradient_evict, control, key, allow.
export function policy_update(cache, layer, nodes, score, comp, values, i, options) {
  const { control = "gradient", key = null, ...rest } = options;
  choice("control", control, ["gradient", "random", "anti"]);
  if (control !== "gradient") {
    [score, nodes] = stable_arguments(score, nodes, options.p);
    score = Float64Array.from(score, (s, row) =>
      control === "anti" ? -s : uniform(key, nodes[row]),
    );
  }
  return cache_update(cache, layer, nodes, score, comp, values, i, rest);
}

// What `policy_update` does, whoever made the scores.
export function cache_update(cache, layer, nodes, score, comp, values, i, options) {
  const { p, rank_base = "all", gradient_evict = true, allow = null } = options;
  choice("rank_base", rank_base, ["all", "new"]);
  [score, nodes] = stable_arguments(score, nodes, p, cache.n);
  comp = mask("comp", comp, nodes.length);
  truth("gradient_evict", gradient_evict);
  layer = integer("layer", layer, 1, cache.layers);
  rows_taken(values, [nodes.length, cache.h], dtype_of(cache.arena), null);
  i = integer("i", i, 0, MOST);
  const allowed = allow === null ? comp : mask("allow", allow, nodes.length);
  const low = low_rows(score, nodes, comp, p, rank_base);
  const evicted = gradient_evict
    ? cache.evict(
        layer,
        nodes.filter((_, row) => !low[row]),
        i,
      )
    : 0;
  const take = low.flatMap((yes, row) => (yes && comp[row] && allowed[row] ? [row] : []));
  const admitted = cache.admit(
    layer,
    take.map((row) => nodes[row]),
    values,
    i,
    { take },
  );
  return { type: "PolicyCounts", low: low.filter(Boolean).length, admitted, evicted };
}

// Which rows are stable.
function low_rows(score, nodes, comp, p, rank_base) {
  if (rank_base === "all") return select_stable(Float64Array.from(score), nodes, p);
  const low = Array(nodes.length).fill(false);
  const computed = nodes.flatMap((_, row) => (comp[row] ? [row] : []));
  const new_score = Float64Array.from(computed, (row) => score[row]);
  select_stable(
    new_score,
    computed.map((row) => nodes[row]),
    p,
  ).forEach((yes, k) => (low[computed[k]] = yes));
  if (p === 1 || !computed.length) return low.map((yes, row) => (comp[row] ? yes : p > 0));
  const admitted = computed.filter((row) => low[row]);
  if (!admitted.length) return low;
  const behind = (a, b) => compare(score[a], score[b]) || compare(nodes[a], nodes[b]);
  const last = admitted.reduce((a, b) => (behind(a, b) > 0 ? a : b));
  return low.map((yes, row) => yes || (!comp[row] && behind(row, last) < 0));
}

function stable_arguments(score, nodes, p, n = 2 ** 63) {
  score = Array.from(floats("score", score, [null]));
  nodes = ids("ids", nodes, 0, n);
  if (nodes.length !== score.length) {
    throw new ValueError(
      `ids must have shape (${score.length},) like score, got (${nodes.length},)`,
    );
  }
  if (score.some(Number.isNaN))
    throw new BrokenError("score must not be NaN: the gradient is broken");
  return [score, nodes, real("p", p, 0, { high: 1 })];
}
