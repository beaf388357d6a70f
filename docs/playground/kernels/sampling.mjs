// From a seed and a number to a subgraph, whatever the sampler. See refimpl/samplers/sampling.py.

import { bucket } from "./bucket.mjs";
import { integer, node_set, wrong_kind } from "./check.mjs";
import { dashboard } from "./dashboard.mjs";
import { frontier } from "./frontier.mjs";
import { induced_subgraph, undirected } from "./graph.mjs";
import { pin_tile } from "./pin_tile.mjs";
import { SAINT, SAMPLE, Stream, Word, key } from "./streams.mjs";
import { edge, forest_fire, multiple_walks, random_walk } from "./walks.mjs";

const TWO_STREAMS = { frontier, dashboard, pin_tile, bucket };
const ONE_STREAM = { edge, random_walk, multiple_walks, forest_fire };

// A sampler's name and options, and the number that a sample's size is clipped to, or null.
export class Sampler {
  constructor(name, clip, options) {
    Object.assign(this, { name, clip, options });
  }
}

// JPDC'21 Algorithm 8, lines 4-8: subgraphs first, first + 1, .., first + count - 1 of a run.
export function sample_many(graph, sampler, rng, first, count, domain = SAMPLE) {
  undirected(graph);
  if (!(sampler instanceof Sampler)) throw wrong_kind("sampler", "a Sampler", sampler);
  first = integer("first", first, 0, 2 ** 63 - 1);
  integer("domain", domain, SAMPLE, SAINT);
  const seed = Word.of("rng", rng);
  count = integer("count", count, 0, 2 ** 31 - 1);
  const subgraphs = [];
  for (let q = first; q < first + count; q++) { // 4
    subgraphs.push(sample_one(graph, sampler, seed, domain, q)); // 5-7 E-F6: each has its own place
  }
  return subgraphs;
}

function sample_one(graph, sampler, seed, domain, q) {
  const main = key(seed, domain, q, 0);
  const sample = sampler.name in TWO_STREAMS
    ? TWO_STREAMS[sampler.name](graph, main, key(seed, domain, q, 1), sampler.options)
    : ONE_STREAM[sampler.name](graph, main, sampler.options); // J8:5
  let nodes = sample.nodes;
  if (sampler.clip !== null) nodes = clip_nodes(nodes, sampler.clip, main, sample.counters.draws);
  return induced_subgraph(graph, nodes, sample.counters); // J2:9-10
}

// Leave out so many random nodes that what is left is a multiple of `unit`, if there are as many.
export function clip_nodes(nodes, unit, k, c) {
  nodes = node_set("nodes", nodes, 2 ** 31 - 1);
  unit = integer("unit", unit, 1, 2 ** 31 - 1);
  const s = nodes.length;
  const over = s >= unit ? s % unit : 0;
  const left_out = new Set(new Stream(Word.of("k", k), c).pick_without_replacement(s, over));
  return Int32Array.from(nodes.filter((_, i) => !left_out.has(i)));
}
