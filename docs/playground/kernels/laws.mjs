// The exact law of a sample: each set of nodes that can come, with its probability, found by going
// through all that can happen. A set is a string, a character for each node, ascending.

// More cases than are gone through.
export class TooMany extends Error {}

const MOST_CASES = 200_000;
const BAR = "\uffff"; // no node

class Budget {
  constructor() {
    this.left = MOST_CASES;
  }

  spend(cases) {
    this.left -= cases;
    if (this.left < 0) throw new TooMany(`more than ${MOST_CASES.toLocaleString("en")} cases`);
  }
}

export function set_of(nodes) {
  return String.fromCharCode(...nodes);
}

export function nodes_of(set) {
  return Array.from(set, (one) => one.charCodeAt(0));
}

function with_node(set, v) {
  return set.includes(String.fromCharCode(v))
    ? set
    : set_of([...nodes_of(set), v].sort((a, b) => a - b));
}

function add_up(law, outcome, p) {
  law.set(outcome, (law.get(outcome) ?? 0) + p);
}

// The law of the nodes that `frontier` draws, and so every Dashboard that truncates nothing. Of a
// frontier only the nodes matter, not their order: a state is its nodes, ascending, and the sample.
export function frontier_law(graph, { m, n, deg_cap = null, include = "pushed" }) {
  const budget = new Budget();
  const weight = graph.weights(deg_cap);
  let states = new Map();
  const roots = subsets(
    Array.from({ length: graph.n }, (_, v) => v),
    m,
    budget,
  );
  for (const set of roots) states.set(set_of(set) + set_of(set), 1 / roots.length);
  for (let step = m; step < n; step++) {
    const next = new Map();
    for (const [state, p] of states) {
      const FS = nodes_of(state.slice(0, m)),
        sample = state.slice(m);
      const total = FS.reduce((sum, v) => sum + weight[v], 0);
      if (total === 0) add_up(next, state, p);
      for (const [slot, u] of FS.entries()) {
        if (!weight[u] || FS.indexOf(u) !== slot) continue;
        const here = FS.filter((v) => v === u).length;
        budget.spend(graph.degree(u));
        for (const v of graph.neighbours(u)) {
          const after = [...FS.slice(0, slot), v, ...FS.slice(slot + 1)].sort((a, b) => a - b);
          const chance = (here * weight[u]) / total / graph.degree(u);
          add_up(next, set_of(after) + with_node(sample, include === "pushed" ? v : u), p * chance);
        }
      }
    }
    states = next;
  }
  const law = new Map();
  for (const [state, p] of states) add_up(law, state.slice(m), p);
  return law;
}

// The law of the input nodes that `sample_mfg` draws.
export function neighbours_law(graph, roots, fanouts, mode) {
  const budget = new Budget();
  const first = set_of([...roots].sort((a, b) => a - b));
  let states = new Map([[first + BAR + first, 1]]); // all nodes so far, and those that draw next
  for (const fanout of fanouts) {
    const next = new Map();
    for (const [state, p] of states) {
      const [met, drawing] = state.split(BAR);
      let after = new Map([[met, p]]);
      for (const v of nodes_of(drawing)) after = drawn(after, graph, v, fanout, budget);
      for (const [all, chance] of after) {
        const draws =
          mode === "shared"
            ? nodes_of(all).filter((v) => !met.includes(String.fromCharCode(v)))
            : nodes_of(all);
        add_up(next, all + BAR + set_of(draws), chance);
      }
    }
    states = next;
  }
  const law = new Map();
  for (const [state, p] of states) add_up(law, state.split(BAR)[0], p);
  return law;
}

// The law of the nodes met, when node v has drawn too.
function drawn(law, graph, v, fanout, budget) {
  const near = [...graph.neighbours(v)];
  const take = fanout < 0 ? near.length : Math.min(fanout, near.length);
  const choices = subsets(near, take, budget);
  const after = new Map();
  for (const [met, p] of law) {
    budget.spend(choices.length);
    for (const chosen of choices) add_up(after, chosen.reduce(with_node, met), p / choices.length);
  }
  return after;
}

// All subsets of `count` of the items, in their order.
function subsets(items, count, budget) {
  let found = [[]];
  items.forEach((item, i) => {
    const longer = found.filter((set) => set.length < count).map((set) => [...set, item]);
    const rest = items.length - i - 1;
    found = [...found, ...longer].filter((set) => set.length + rest >= count);
    budget.spend(found.length);
  });
  return found;
}

// How likely each node is in the sample.
export function inclusion(law, n) {
  const chance = Array(n).fill(0);
  for (const [set, p] of law) for (const v of nodes_of(set)) chance[v] += p;
  return chance;
}

// Pearson's test of counts, by set, against a law. Sets that are expected fewer than 5 times are
// counted together.
export function chi_square(counts, law) {
  const draws = [...counts.values()].reduce((a, b) => a + b, 0);
  const cells = [];
  let rare = [0, 0];
  for (const [set, p] of law) {
    const cell = [counts.get(set) ?? 0, p * draws];
    if (cell[1] >= 5) cells.push(cell);
    else rare = [rare[0] + cell[0], rare[1] + cell[1]];
  }
  if (rare[1] > 0) cells.push(rare);
  const statistic = cells.reduce((sum, [seen, due]) => sum + (seen - due) ** 2 / due, 0);
  const freedom = cells.length - 1;
  return { statistic, freedom, p: freedom ? upper_gamma(freedom / 2, statistic / 2) : 1 };
}

// The regularised upper incomplete gamma function: its series below a + 1, its continued fraction
// (by Lentz's method) above.
function upper_gamma(a, x) {
  if (x <= 0) return 1;
  const scale = Math.exp(a * Math.log(x) - x - log_gamma(a));
  if (x < a + 1) {
    let term = 1 / a,
      sum = term;
    for (let k = 1; k < 1000 && term > sum * 1e-16; k++) sum += term *= x / (a + k);
    return 1 - scale * sum;
  }
  let b = x + 1 - a,
    c = 1e300,
    d = 1 / b,
    fraction = d;
  for (let k = 1; k < 1000; k++) {
    const factor = k * (a - k);
    b += 2;
    d = 1 / (factor * d + b);
    c = b + factor / c;
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return scale * fraction;
}

// By Stirling's series, of a number made larger first.
function log_gamma(a) {
  let shift = 0;
  for (; a < 10; a++) shift += Math.log(a);
  const series = 1 / (12 * a) - 1 / (360 * a ** 3) + 1 / (1260 * a ** 5) - 1 / (1680 * a ** 7);
  return (a - 0.5) * Math.log(a) - a + 0.5 * Math.log(2 * Math.PI) + series - shift;
}
