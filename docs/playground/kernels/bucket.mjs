// Frontier sampling with the frontier in classes of similar weight. See refimpl/samplers/bucket.py.

import { ValueError } from "./check.mjs";
import { frontier_options, node_sample, random_neighbour } from "./nodes.mjs";
import { Stream, Word } from "./streams.mjs";

// Slots of weight 2**j to 2**(j + 1) - 1 form class j. `watch` is called before the first step and
// after each, with the frontier, the sample and the classes.
export function bucket(graph, main, probe, options, watch = null) {
  const { include = "pushed" } = options;
  const { m, n, deg_cap } = frontier_options(graph, options.m, options.n, options.deg_cap ?? null, include);
  const weight = graph.weights(deg_cap);
  const classes = new WeightClasses(m, class_count(m, Math.max(...weight)));
  main = new Stream(Word.of("main", main));
  probe = new Stream(Word.of("probe", probe));
  const popped = [], pushed = [];

  const FS = main.pick_without_replacement(graph.n, m);
  const Vs = new Set(FS);
  FS.forEach((v, slot) => classes.join(slot, weight[v]));
  watch?.(FS, Vs, classes);
  for (let step = m; step < n; step++) {
    if (classes.total === 0) break; // only isolated nodes are left (E-B26)
    const slot = classes.pop(probe);
    const u = FS[slot];
    const u_new = random_neighbour(graph, main, u);
    FS[slot] = u_new;
    classes.join(slot, weight[u_new]);
    Vs.add(include === "pushed" ? u_new : u);
    popped.push(u);
    pushed.push(u_new);
    watch?.(FS, Vs, classes);
  }

  const counts = { probes: classes.probes, rounds: popped.length };
  return node_sample(graph, Vs, popped, pushed, main.c, counts);
}

// Slots with weights, a list for each class; place[slot] is where a slot stands in its list. Slots
// of weight 0 are in none.
class WeightClasses {
  constructor(slots, classes) {
    this.members = Array.from({ length: classes }, () => []);
    this.sums = Array(classes).fill(0);
    this.total = 0;
    this.weight = Array(slots).fill(0);
    this.place = Array(slots).fill(0);
    this.probes = 0;
  }

  // Put `slot` at the end of its class.
  join(slot, weight) {
    if (weight === 0) return;
    const j = class_of(weight);
    this.weight[slot] = weight;
    this.place[slot] = this.members[j].length;
    this.members[j].push(slot);
    this.sums[j] += weight;
    this.total += weight;
  }

  // Take `slot` out of its class; the last slot of the class takes its place.
  leave(slot) {
    const weight = this.weight[slot], place = this.place[slot], j = class_of(weight);
    const last = this.members[j].pop();
    if (last !== slot) {
      this.members[j][place] = last;
      this.place[last] = place;
    }
    this.sums[j] -= weight;
    this.total -= weight;
  }

  // Draw a slot in proportion to its weight, take it out and return it.
  pop(probe) {
    const slot = this.draw(this.draw_class(probe), probe);
    this.leave(slot);
    return slot;
  }

  draw_class(probe) {
    let t = probe.below(this.total);
    let j = this.sums.length - 1; // heaviest first: that is where most of the weight stands
    while (t >= this.sums[j]) t -= this.sums[j--];
    return j;
  }

  draw(j, probe) {
    const bound = 2 ** (j + 1);
    for (;;) {
      const drawn = probe.below(this.members[j].length * bound);
      this.probes += 1;
      const slot = this.members[j][Math.floor(drawn / bound)];
      if (drawn % bound < this.weight[slot]) return slot;
    }
  }
}

function class_of(weight) {
  return 31 - Math.clz32(weight);
}

function class_count(m, heaviest) {
  const bits = 32 - Math.clz32(heaviest);
  if (m * 2 ** bits >= 2 ** 53) {
    throw new ValueError(
      `m must be below 2**${53 - bits} where the largest weight is ${heaviest}, got ${m}: ` +
        "take a smaller m, or a deg_cap",
    );
  }
  return bits;
}
