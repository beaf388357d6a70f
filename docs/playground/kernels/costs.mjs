// The papers' cost models of sampling on a Dashboard. See refimpl/cost_models/sampling.py and
// cleanups.py for their premises.

// Expected rounds of a pop: the first term of IPDPS'19 Equation 2 and JPDC'21 Equation 9.
export function expected_rounds(p, eta) {
  return 1 / (1 - (1 - 1 / eta) ** p);
}

// Entries written for a pop over the degree. A pop clears 1 slot an entry, an addition writes 3 with
// the Dashboard of IPDPS'19 and 1 with that of JPDC'21, and so do clean-ups, over eta - 1.
function memory_factor(eta, version) {
  return version === "ipdps" ? 4 + 3 / (eta - 1) : 2 + 1 / (eta - 1);
}

// IPDPS'19 Equation 2 and JPDC'21 Equation 9, where a probe and an entry cost 1 each.
export function sample_cost(p, eta, d, n, m, version) {
  return (expected_rounds(p, eta) + memory_factor(eta, version) * (d / p)) * (n - m);
}

export function predicted_cleanups(eta, d, n, m, d_e = d) {
  return ((n - m) * d_e) / ((eta - 1) * m * d);
}

// Entries that clean-ups move for each pop.
export function predicted_moves(eta, d_e) {
  return d_e / (eta - 1);
}

// The expected weight of a node popped or added (E-C1).
export function size_biased_degree(graph, deg_cap = null) {
  const total = graph.weights(deg_cap).reduce((sum, w, v) => sum + w * graph.degree(v), 0);
  return total / graph.e;
}
