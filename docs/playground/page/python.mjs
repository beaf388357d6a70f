// The lines of Python that give what the page shows.

import { fanouts_of } from "./runs.mjs";
import { BOARDS } from "./settings.mjs";

export function python_of(state, values) {
  const body = { neighbours: neighbours_lines, cache: cache_lines }[state.run] ?? sampler_lines;
  return [
    "import numpy as np",
    "import refimpl as gnn",
    "",
    graph_line(state.graph),
    ...body(state, values),
  ].join("\n");
}

function graph_line({ n, edges }) {
  const list = edges.length
    ? `[${edges.map(([u, v]) => `(${u}, ${v})`).join(", ")}]`
    : "np.zeros((0, 2), int)";
  return `graph = gnn.as_graph(${list}, n=${n}, symmetrize=True)`;
}

function python(value) {
  return typeof value === "string" ? `"${value}"` : String(value ?? "None");
}

function sampler_lines(state, values) {
  const names = [
    "m",
    "n",
    "deg_cap",
    "include",
    ...(BOARDS.includes(state.run) ? ["eta", "lanes", "probe_range", "overflow"] : []),
  ];
  const options = names.map((name) => `${name}=${python(values[name])}`);
  return [
    `main, probe = (gnn.streams.key(${values.seed}, 0, ${values.sample}, stream) for stream in (0, 1))`,
    `sample = gnn.${state.run}(`,
    `    graph, main, probe, ${options.slice(0, 4).join(", ")},`,
    ...(options.length > 4 ? [`    ${options.slice(4).join(", ")},`] : []),
    ")",
    "print(sample.nodes, sample.popped, sample.pushed)",
    "print(sample.counters)",
  ];
}

function tuple(numbers) {
  return numbers.length === 1 ? `(${numbers[0]},)` : `(${numbers.join(", ")})`;
}

function neighbours_lines(state, values) {
  const name = `seed=${values.seed}, epoch=0, batch=${values.sample}, mode="${values.mode}"`;
  return [
    `roots = np.array([${values.roots.join(", ")}], int)`,
    `mfg = gnn.sample_mfg(graph, roots, ${tuple(fanouts_of(values))}, ${name})`,
    "for nodes in mfg.nodes:",
    "    print(nodes)",
  ];
}

function cache_lines(state, values) {
  const { scores, t_stale, header, full, train, batch_size, seed, mode, p_grad, floats } = values;
  const given = scores.length > 0;
  const norms = given
    ? [`scores = np.array([${scores.map((row) => `[${row.join(", ")}]`).join(", ")}], float)`]
    : [];
  const score = given ? `scores[min(i, len(scores) - 1), ids]` : "np.zeros(len(ids))";
  const control = given ? "" : `, control="random", key=gnn.streams.key(${seed}, 7, i, 1)`;
  return [
    "cache = gnn.BidirectionalCache(",
    `    ${state.graph.n}, 2, 2, 1, ${floats}, t_stale=${python(t_stale)}, dtype="float64", header="${header}", overflow="${full}"`,
    ")",
    "cache.fill(np.zeros((graph.n, 2)), graph.degrees())",
    `train, batches = np.array([${train.join(", ")}]), ${Math.ceil(train.length / Number(batch_size))}`,
    ...norms,
    `for i in range(${values.iterations}):`,
    "    epoch, batch = divmod(i, batches)",
    `    roots = gnn.samplers.epoch_batches(train, ${batch_size}, ${seed}, epoch)[batch]`,
    `    name = dict(seed=${seed}, epoch=epoch, batch=batch, mode="${mode}")`,
    `    mfg = gnn.sample_mfg(graph, roots, (${values.fanout_roots}, ${values.fanout_below}), **name)`,
    "    slots = cache.lookup(1, mfg.nodes[1], i)",
    "    live = gnn.history.prune_layers(mfg, [slots >= 0, np.zeros(len(roots), bool)])",
    "    ids, computed = mfg.nodes[1][live.order[1]], live.computed[0]",
    "    cache.begin_update(i)",
    "    rows = np.full((len(ids), 2), float(i))",
    `    norms = ${score}`,
    `    done = gnn.policy_update(cache, 1, ids, norms, computed, rows, i, p=${p_grad}${control})`,
    "    print(i, ids[~computed], len(live.order[0]), done.admitted, done.evicted)",
    "print(cache.entries.back, cache.entries.stamp, cache.head, cache.feature_rows)",
  ];
}
