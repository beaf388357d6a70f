// Samples by the thousand against the exact law, drawn in pieces so that the page stays awake.

import { TooMany, chi_square, inclusion, nodes_of } from "../kernels/laws.mjs";
import { bar_of, count, h, nodes_text, table } from "./dom.mjs";
import { costs_of, law_of, sampler_of } from "./runs.mjs";
import { values_of } from "./settings.mjs";

const MOST_ROWS = 24;
const PIECE = 12; // milliseconds between two looks at the page

// The law of a state: {law} or, where it is too long to find, {why}.
export function exact_law(state) {
  try {
    return { law: law_of(state), why: null };
  } catch (error) {
    if (!(error instanceof TooMany)) throw error;
    return {
      law: null,
      why: `The exact law is not worked out: there are ${error.message}. Fewer nodes, steps or roots have one.`,
    };
  }
}

// Counts of samples 0, 1, .., drawn a piece at a time: `progress` is called after each, with true at
// the end. Returns a function that stops it.
export function draw_samples(state, wanted, progress) {
  const draw = sampler_of(state);
  const values = values_of(state);
  const tally = {
    drawn: 0,
    counts: new Map(),
    sums: state.run === "neighbours" ? null : {},
    truncated: 0,
    milliseconds: 0,
  };
  const channel = new MessageChannel();
  channel.port1.onmessage = () => {
    const begin = performance.now();
    do one_more(state, values, draw, tally);
    while (tally.drawn < wanted && performance.now() - begin < PIECE);
    tally.milliseconds += performance.now() - begin;
    const over = tally.drawn >= wanted;
    if (over) channel.port1.close();
    else channel.port2.postMessage(0);
    progress(tally, over);
  };
  channel.port2.postMessage(0);
  return () => channel.port1.close();
}

function one_more(state, values, draw, tally) {
  const { set, sample } = draw(tally.drawn);
  tally.drawn += 1;
  tally.counts.set(set, (tally.counts.get(set) ?? 0) + 1);
  if (!sample) return;
  tally.truncated += sample.counters.truncated > 0 ? 1 : 0;
  for (const [name, value] of Object.entries(costs_of(state, values, sample))) {
    tally.sums[name] = (tally.sums[name] ?? 0) + value;
  }
}

// The table of a tally, or of the law alone, and what can be said of it.
export function histogram(state, { law, why }, tally) {
  const rows = state.show === "nodes" ? node_rows(state, law, tally) : set_rows(law, tally);
  const heads = [state.show === "nodes" ? "node" : "nodes sampled", "", "counted", "exact"];
  const single = rows.filter(({ many }) => !many);
  const longest = Math.max(...single.flatMap(({ seen, due }) => [seen ?? 0, due ?? 0]), 1e-9);
  const body = rows.map(({ name, seen, due, many }) => [
    name,
    h("td", { class: "pg-plot" }, many ? null : plot(seen, due, longest)),
    share(seen),
    share(due),
  ]);
  const verdict = [
    why,
    tally ? said_of(law, tally) : "Nothing is drawn yet: the ticks are the exact law.",
    truncation(tally),
  ].filter(Boolean);
  return [
    table(
      state.show === "nodes"
        ? "How often each node is sampled"
        : "How often each set of nodes is sampled",
      heads,
      body,
      { class: "pg-table pg-histogram" },
    ),
    ...verdict.map((text) => h("p", {}, text)),
  ];
}

function plot(seen, due, longest) {
  return bar_of((seen ?? 0) / longest, due === null ? 0 : due / longest);
}

function share(x) {
  return x === null ? "–" : x.toFixed(4);
}

function node_rows({ graph, run }, law, tally) {
  const due = law ? inclusion(law, graph.n) : null;
  const seen = Array(graph.n).fill(0);
  if (tally)
    for (const [set, times] of tally.counts)
      for (const v of nodes_of(set)) seen[v] += times / tally.drawn;
  const label = run === "neighbours" ? "input node" : "node";
  return seen.map((x, v) => ({
    name: `${label} ${v}`,
    seen: tally ? x : null,
    due: due ? due[v] : null,
  }));
}

// The likeliest sets, and all others in one row.
function set_rows(law, tally) {
  const weight = law ?? tally?.counts ?? new Map();
  const sets = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a) || (a < b ? -1 : 1));
  const seen = (set) => (tally ? (tally.counts.get(set) ?? 0) / tally.drawn : null);
  const rows = sets
    .slice(0, MOST_ROWS)
    .map((set) => ({
      name: nodes_text(nodes_of(set)),
      seen: seen(set),
      due: law ? law.get(set) : null,
    }));
  if (sets.length > MOST_ROWS) {
    const rest = sets.slice(MOST_ROWS);
    const sum = (of) => rest.reduce((total, set) => total + of(set), 0);
    rows.push({
      name: count(rest.length, "other set"),
      many: true,
      seen: tally ? sum(seen) : null,
      due: law ? sum((set) => law.get(set)) : null,
    });
  }
  return rows;
}

function said_of(law, tally) {
  const time = `${count(tally.drawn, "sample")} in ${(tally.milliseconds / 1000).toFixed(2)} s, ${count(tally.counts.size, "different set")}.`;
  if (!law) return time;
  const { statistic, freedom, p } = chi_square(tally.counts, law);
  if (!freedom) return `${time} Sets that are expected 5 times or more: too few for a test.`;
  return (
    `${time} Chi-square over sets, those expected fewer than 5 times taken together: ${statistic.toFixed(2)} with ${freedom} degrees of freedom, p = ${p.toFixed(3)}. ` +
    `Of 1,000 sets of draws with this very law, ${Math.round(1000 * p)} would be further from it.`
  );
}

function truncation(tally) {
  if (!tally?.truncated) return null;
  return `In ${count(tally.truncated, "sample")} a node did not get all its entries (E-B22): such a Dashboard has not quite the law of frontier sampling. With "grow" it has.`;
}
