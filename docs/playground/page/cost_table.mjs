// What a sample cost beside IPDPS'19 Equation 2 and JPDC'21 Equation 9.

import {
  expected_rounds,
  predicted_cleanups,
  predicted_moves,
  sample_cost,
  size_biased_degree,
} from "../kernels/costs.mjs";
import { h, table } from "./dom.mjs";
import { costs_of } from "./runs.mjs";
import { BOARDS } from "./settings.mjs";

const NAMES = {
  pops: "steps (pops)",
  probes: "probes",
  draws: "draws of main",
  rounds: "rounds of probes",
  cleanups: "clean-ups",
  moved: "entries moved by clean-ups",
  cleared: "entries cleared by pops",
  added: "entries written by additions",
  truncated: "nodes truncated",
  total: "cost, all in memory operations",
};

// `sums` are the costs of `drawn` samples, added up; null if none were drawn.
export function cost_table(state, result, sums, drawn) {
  const costs = costs_of(state, result.values, result.sample);
  const board = BOARDS.includes(state.run);
  const [printed, corrected] = board ? predictions(state, result.values) : [{}, {}];
  const heads = [
    "",
    "this sample",
    ...(sums ? [`mean of ${drawn.toLocaleString("en")}`] : []),
    ...(board ? ["as printed", "with d_e"] : []),
  ];
  const rows = Object.keys(costs).map((name) => {
    const shown = [NAMES[name], number(costs[name])];
    if (sums) shown.push(number(sums[name] / drawn));
    if (board) shown.push(number(printed[name]), number(corrected[name]));
    return shown;
  });
  const found = table("Costs", heads, rows, { class: "pg-table pg-numbers" });
  if (board) found.tBodies[0].rows[Object.keys(costs).indexOf("total")].className = "pg-total";
  return [found, h("p", { class: "pg-soft" }, notes(state, result.values))];
}

function predictions(state, { m, n, eta, lanes, deg_cap }) {
  const graph = state.graph.csr;
  const d = graph.weight_sum(deg_cap) / graph.n;
  if (!graph.e) return [{}, {}];
  return [d, size_biased_degree(graph, deg_cap)].map((degree) => ({
    pops: n - m,
    probes: expected_rounds(1, eta) * (n - m),
    rounds: expected_rounds(lanes, eta) * (n - m),
    cleanups: predicted_cleanups(eta, d, n, m, degree),
    moved: predicted_moves(eta, degree) * (n - m),
    cleared: degree * (n - m),
    added: degree * (n - m),
    total: sample_cost(lanes, eta, degree, n, m, state.run === "dashboard" ? "ipdps" : "jpdc"),
  }));
}

function number(value) {
  if (value === undefined || !Number.isFinite(value)) return "–";
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(3);
}

function notes(state, { eta, lanes, deg_cap, probe_range }) {
  if (!BOARDS.includes(state.run)) {
    const each = {
      frontier: "Each step adds up the weights of the whole frontier, m numbers.",
      bucket: "A step makes two tries or fewer, on average.",
    };
    return each[state.run];
  }
  const graph = state.graph.csr;
  if (!graph.e) return "The formulas need a graph with an edge.";
  const [paper, numbers, factor] =
    state.run === "dashboard"
      ? ["IPDPS'19 Equation 2", 3, "4 + 3/(η − 1)"]
      : ["JPDC'21 Equation 9", 1, "2 + 1/(η − 1)"];
  const d = graph.weight_sum(deg_cap) / graph.n,
    d_e = size_biased_degree(graph, deg_cap);
  const used =
    probe_range === "used"
      ? " Probes of the used part alone hit more often than the formula says."
      : "";
  return (
    `${paper}: (1/(1 − (1 − 1/η)^p) + (${factor}) d/p) (n − m), where a probe and a number written cost 1 each, p = ${lanes}, η = ${eta}; ` +
    `an entry is ${numbers === 1 ? "one number" : "three numbers"}. As printed d is the mean weight, ${d.toFixed(3)}; a node popped or added has weight d_e = ${d_e.toFixed(3)} on average in the long run (E-C1). Both are for long runs of large frontiers.${used}`
  );
}
