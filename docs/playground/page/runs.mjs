// What the page shows of a run at one of its steps, and samples by the thousand.

import { bucket } from "../kernels/bucket.mjs";
import { integer } from "../kernels/check.mjs";
import { dashboard } from "../kernels/dashboard.mjs";
import { frontier } from "../kernels/frontier.mjs";
import { induced_subgraph } from "../kernels/graph.mjs";
import { frontier_law, neighbours_law, set_of } from "../kernels/laws.mjs";
import { sample_mfg } from "../kernels/neighbor.mjs";
import { pin_tile } from "../kernels/pin_tile.mjs";
import { SAMPLE, Stream, Word, key } from "../kernels/streams.mjs";
import { cache_run } from "./cache_runs.mjs";
import { BOARDS, values_of } from "./settings.mjs";

const KERNELS = { frontier, dashboard, pin_tile, bucket };

// The run of a state at its step: what was sampled, and what stood there before and after the step.
export function run_of(state) {
  const values = values_of(state);
  if (state.run === "cache") return cache_run(state.graph.csr, values, state.step);
  if (state.run === "neighbours") return neighbours_run(state.graph.csr, values, state.step);
  return sampler_run(state.run, state.graph.csr, values, state.step);
}

function keys_of({ seed, sample }) {
  const name = [Word.of("seed", seed), SAMPLE, Word.of("sample", sample)];
  return [key(...name, 0), key(...name, 1)];
}

function sampler_run(run, graph, values, step) {
  const [main, probe] = keys_of(values);
  let made = 0,
    roots,
    before = null,
    now = null;
  const sample = KERNELS[run](graph, main, probe, values, (board, Vs, more) => {
    roots ??= [...Vs];
    if (made <= step) [before, now] = [now, snapshot(run, board, Vs, more)];
    made += 1;
  });
  const last = made - 1;
  const at = Math.min(step, last);
  const walk = frontiers(run, {
    roots,
    before,
    now,
    probe,
    sample,
    at,
    weight: graph.weights(values.deg_cap),
  });
  const weight = graph.weights(values.deg_cap);
  return {
    kind: "sampler",
    run,
    values,
    sample,
    last,
    step: at,
    before,
    now,
    probe,
    weight,
    ...walk,
    edges: edges_between(graph, sample.nodes),
  };
}

// A copy of what stands in a sampler's arrays.
function snapshot(run, board, Vs, more) {
  const sample = [...Vs];
  if (run === "frontier") return { sample, frontier: [...board] };
  if (run === "bucket") {
    return {
      sample,
      frontier: [...board],
      classes: more.members.map((slots) => [...slots]),
      probes: more.probes,
      sums: [...more.sums],
    };
  }
  const state = run === "dashboard" ? board.state(more) : board.state();
  const capacity = run === "dashboard" ? board.capacity : board.DB.length;
  return {
    sample,
    frontier: state.start ? [...state.node] : null,
    board: state,
    counts: { ...board.counts },
    capacity,
  };
}

// The nodes of the frontier before and after step `at`, slot by slot, and the slot that changes. The
// Dashboard of IPDPS'19 has no slots: there its nodes stand in any order.
function frontiers(run, { roots, before, now, probe, sample, at, weight }) {
  const { popped, pushed } = sample;
  const [u, u_new] = at ? [popped[at - 1], pushed[at - 1]] : [null, null];
  if (run === "dashboard") return { roots, ...replayed(roots, popped, pushed, at), u, u_new };
  const frontier_before = at ? before.frontier : null;
  const slot = at
    ? changed_slot(run, frontier_before, now, u, new Stream(probe, at - 1), weight)
    : null;
  return { roots, frontier: now.frontier, frontier_before, slot, u, u_new };
}

function replayed(roots, popped, pushed, at) {
  const FS = [...roots];
  let slot = null,
    frontier_before = null;
  for (let i = 0; i < at; i++) {
    slot = FS.indexOf(popped[i]);
    frontier_before = [...FS];
    FS[slot] = pushed[i];
  }
  return { frontier: FS, frontier_before, slot };
}

// The same node may be in several slots, and may be its own neighbour.
function changed_slot(run, FS, now, u, stream, weight) {
  if (run === "pin_tile") return now.board.IA_tile.at(-1);
  const differs = FS.findIndex((v, i) => v !== now.frontier[i]);
  if (differs >= 0 || run === "bucket") return differs >= 0 ? differs : FS.indexOf(u);
  const drawn = stream.below(FS.reduce((sum, v) => sum + weight[v], 0));
  let sum = 0;
  return FS.findIndex((v) => (sum += weight[v]) > drawn);
}

function edges_between(graph, nodes) {
  const sub = induced_subgraph(graph, nodes);
  return sub.graph
    .rows()
    .flatMap((row, i) => row.filter((j) => i <= j).map((j) => [nodes[i], nodes[j]]));
}

// The entries that the probes of a step looked at: draws of the stream `probe`, in order.
export function probes_of({ probe, before, now, values, run }) {
  const first = before.counts.probes,
    count = now.counts.probes - first;
  const { IA_start } = before.board;
  const limit = values.probe_range === "capacity" ? before.capacity : IA_start[IA_start.length - 1];
  const stream = new Stream(probe, first);
  const owner = run === "dashboard" ? before.board.node : before.board.DB;
  return Array.from({ length: count }, () => {
    const entry = stream.below(limit);
    return { entry, owner: owner[entry] };
  });
}

export function fanouts_of(values) {
  return [values.fanout1, values.fanout2, values.fanout3].slice(
    0,
    integer("layers", values.layers, 1, 3),
  );
}

function neighbours_run(graph, values, step) {
  const fanouts = fanouts_of(values);
  const name = { seed: values.seed, epoch: 0, batch: values.sample, mode: values.mode };
  const mfg = sample_mfg(graph, values.roots, fanouts, name);
  const L = fanouts.length;
  const at = Math.min(step, L);
  return {
    kind: "neighbours",
    values,
    fanouts,
    mfg,
    last: L,
    step: at,
    drawn: at ? drawn_edges(mfg, L - at) : [],
  };
}

// The edges [node, neighbour that it draws] of a block.
export function drawn_edges(mfg, l) {
  const block = mfg.blocks[l];
  return Array.from({ length: block.n_dst }, (_, i) =>
    [...block.row(i)].map((j) => [mfg.nodes[l + 1][i], mfg.nodes[l][j]]),
  ).flat();
}

// The exact law of the nodes that are sampled; throws TooMany.
export function law_of(state) {
  const values = values_of(state);
  if (state.run !== "neighbours") return frontier_law(state.graph.csr, values);
  return neighbours_law(state.graph.csr, values.roots, fanouts_of(values), values.mode);
}

// A function of q: sample number q, its nodes as a set and its counters, null of neighbours.
export function sampler_of(state) {
  const values = values_of(state);
  const graph = state.graph.csr;
  if (state.run === "neighbours") {
    const fanouts = fanouts_of(values);
    return (q) => {
      const mfg = sample_mfg(graph, values.roots, fanouts, {
        seed: values.seed,
        epoch: 0,
        batch: q,
        mode: values.mode,
      });
      return { set: set_of(mfg.nodes[0].sort()), sample: null };
    };
  }
  return (q) => {
    const sample = KERNELS[state.run](graph, ...keys_of({ seed: values.seed, sample: q }), values);
    return { set: set_of(sample.nodes), sample };
  };
}

// What one sample cost, as the Equations count it: each row of the table by its name.
export function costs_of(state, values, sample) {
  const { counters, popped, pushed } = sample;
  const weight = (nodes) =>
    nodes.reduce(
      (sum, v) => sum + Math.min(state.graph.csr.degree(v), values.deg_cap ?? Infinity),
      0,
    );
  const costs = { pops: counters.pops, probes: counters.probes };
  if (!BOARDS.includes(state.run)) return { ...costs, draws: counters.draws };
  const [cleared, added] = [weight(popped), weight(pushed)];
  const numbers = state.run === "dashboard" ? 3 : 1; // written for an entry
  const { rounds, cleanups, moved, truncated } = counters;
  const total = rounds + (cleared + numbers * (added + moved)) / values.lanes;
  return { ...costs, rounds, cleanups, moved, cleared, added, total, truncated };
}
