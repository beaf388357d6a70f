// Iterations of FreshGNN's Algorithm 1 with two layers, without a model: the norms of the gradients
// are given, or drawn at random as by control="random".

import { KindError, Table, ValueError, integer } from "../kernels/check.mjs";
import { BidirectionalCache } from "../kernels/cache.mjs";
import { epoch_batches, sample_mfg } from "../kernels/neighbor.mjs";
import { policy_update } from "../kernels/policy.mjs";
import { prune_layers } from "../kernels/pruning.mjs";
import { CONTROL, key } from "../kernels/streams.mjs";

const WIDTH = 2; // numbers of a feature, and of an embedding

// All iterations as rows of a table, and the cache after number `step`.
export function cache_run(graph, values, step) {
  const cache = filled_cache(graph, values);
  const scores = checked_scores(graph, values.scores);
  const batches = Math.ceil(values.train.length / integer("batch_size", values.batch_size, 1));
  if (!batches) throw new ValueError("train must have at least one node");
  const last = integer("iterations", values.iterations, 1) - 1;
  const rows = [];
  let now = null;
  for (let i = 0; i <= last; i++) {
    const [epoch, batch] = [Math.floor(i / batches), i % batches];
    const roots = epoch_batches(values.train, values.batch_size, values.seed, epoch)[batch];
    rows.push(iteration(graph, cache, values, scores, { i, epoch, batch, roots }));
    if (i === Math.min(step, last)) now = picture(cache);
  }
  return { kind: "cache", values, rows, now, last, step: Math.min(step, last), graph };
}

function filled_cache(graph, values) {
  const { floats, t_stale, header, full } = values;
  const options = { t_stale, header, overflow: full, dtype: "float64" };
  const cache = new BidirectionalCache(graph.n, WIDTH, WIDTH, 1, floats, options);
  cache.fill(new Table(new Float64Array(graph.n * WIDTH), [graph.n, WIDTH]), graph.weights());
  return cache;
}

function checked_scores(graph, scores) {
  for (const row of scores) {
    if (row.length !== graph.n) {
      throw new ValueError(
        `scores must have ${graph.n} numbers in each row, one for each node, got ${row.length}`,
      );
    }
    if (row.some(Number.isNaN)) throw new KindError("scores must be numbers");
  }
  return scores;
}

// One iteration; returns what it did. The steps are those of refimpl's fresh_iteration.
function iteration(graph, cache, values, scores, { i, epoch, batch, roots }) {
  const { p_grad, seed, mode, fanout_roots, fanout_below } = values;
  const mfg = sample_mfg(graph, roots, [fanout_roots, fanout_below], { seed, epoch, batch, mode }); // 5
  const slots = cache.lookup(1, mfg.nodes[1], i); // 6-7
  const hit = [Array.from(slots, (s) => s >= 0), Array(roots.length).fill(false)];
  const live = prune_layers(mfg, hit); // 8-9
  const inputs = live.order[0].map((row) => mfg.nodes[0][row]);
  const held = inputs.filter((v) => cache.feature_mask([v])[0]); // 11
  const ids = live.order[1].map((row) => mfg.nodes[1][row]);
  const computed = live.computed[0];
  cache.begin_update(i); // 18
  const lost = cache.lost;
  const embeddings = new Table(new Float64Array(ids.length * WIDTH).fill(i), [ids.length, WIDTH]);
  const given = scores.length ? scores[Math.min(i, scores.length - 1)] : null;
  const score = Float64Array.from(ids, (v) => (given ? given[v] : 0));
  const control = given
    ? { control: "gradient" }
    : { control: "random", key: key(seed, CONTROL, i, 1) };
  const done = policy_update(cache, 1, ids, score, computed, embeddings, i, {
    p: p_grad,
    ...control,
  }); // 19-20
  return {
    i,
    roots: [...roots],
    layers: [
      layer_states(mfg, 0, live).map(([v, state]) => [v, held.includes(v) ? "held" : state]),
      layer_states(mfg, 1, live),
      layer_states(mfg, 2, live),
    ],
    sampled: mfg.nodes[0].length,
    loaded: inputs.length - held.length,
    held: held.length,
    read: ids.filter((_, row) => !computed[row]),
    computed: ids.filter((_, row) => computed[row]),
    admitted: done.admitted,
    evicted: done.evicted,
    lost: cache.lost - lost,
  };
}

// Each node of a layer and what became of it.
function layer_states(mfg, l, live) {
  const place = new Map(live.order[l].map((row, k) => [row, k]));
  return Array.from(mfg.nodes[l], (v, row) => {
    if (!place.has(row)) return [v, "dead"];
    if (l === 0) return [v, "loaded"];
    return [v, live.computed[l - 1][place.get(row)] ? "computed" : "cached"];
  });
}

// What stands in the buffer: the node and the stamp of each slot, and the node of each feature.
function picture(cache) {
  const { back, stamp } = cache.entries;
  const features = Array(back.length).fill(null);
  cache.rank.forEach((rank, v) => {
    if (rank < cache.feature_rows) features[back.length - 1 - rank] = v;
  });
  const slots = Array.from(back, (node, s) =>
    node < 0n ? null : { node: Number(node), stamp: stamp[s] },
  );
  return { slots, features, head: cache.head, used: cache.ring.used };
}
