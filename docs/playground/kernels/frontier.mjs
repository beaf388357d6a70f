// Frontier sampling as the papers state it. See refimpl/samplers/frontier.py.

import { frontier_options, node_sample, random_neighbour } from "./nodes.mjs";
import { Stream, Word } from "./streams.mjs";

// IPDPS'19 and JPDC'21 Algorithm 2; "// n" marks line n. `watch` is called before the first step
// and after each, with what stands in the frontier and in the sample.
export function frontier(graph, main, probe, options, watch = null) {
  const { include = "pushed" } = options;
  const { m, n, deg_cap } = frontier_options(graph, options.m, options.n, options.deg_cap ?? null, include);
  main = new Stream(Word.of("main", main));
  probe = new Stream(Word.of("probe", probe));
  const weight = graph.weights(deg_cap);
  const popped = [], pushed = [];

  const FS = main.pick_without_replacement(graph.n, m); // 1 E-B5: without replacement
  const Vs = new Set(FS); // 2
  watch?.(FS, Vs);
  for (let step = 0; step < n - m; step++) { // 3 E-B4: n - m steps, not n nodes
    let total = 0;
    for (const v of FS) total += weight[v];
    if (total === 0) break; // only isolated nodes are left (E-B26)
    const slot = slot_of(FS, weight, probe.below(total)); // 4
    const u = FS[slot]; // 4
    const u_new = random_neighbour(graph, main, u); // 5
    FS[slot] = u_new; // 6 E-B3: a list of m slots, not a set
    Vs.add(include === "pushed" ? u_new : u); // 7 E-B1: pushed or popped
    popped.push(u);
    pushed.push(u_new);
    watch?.(FS, Vs);
  }

  const counts = { probes: popped.length, rounds: popped.length };
  return node_sample(graph, Vs, popped, pushed, main.c, counts);
}

// The first slot up to which the weights add up to more than `drawn`.
function slot_of(FS, weight, drawn) {
  let slot = 0;
  let sum = weight[FS[0]];
  while (sum <= drawn) sum += weight[FS[++slot]];
  return slot;
}
