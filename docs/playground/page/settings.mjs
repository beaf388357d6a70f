// What can be run and set, and where the course begins. A setting is kept as it was typed; its
// value is read when it is used, so that what is wrong with it can be said.

import { KindError, Real, ValueError } from "../kernels/check.mjs";
import { OPENING_GRAPH } from "./graphs.mjs";

export const RUNS = {
  frontier: {
    title: "Frontier",
    about:
      "Frontier sampling as defined: of m nodes one is chosen by degree, and a random neighbour takes its place.",
  },
  dashboard: {
    title: "Dashboard",
    about:
      "The same law with the Dashboard of IPDPS'19: a node of degree k owns k entries of three numbers; a random entry chooses.",
  },
  pin_tile: {
    title: "Pins and tiles",
    about:
      "The same law with the Dashboard of JPDC'21: an entry is a pin, one number that names a tile.",
  },
  bucket: {
    title: "Buckets",
    about:
      "The same law without a Dashboard: nodes of similar degree share a bucket. In none of the papers.",
  },
  neighbours: {
    title: "Neighbours",
    about:
      "Neighbour sampling: from the roots down, each node draws some neighbours for each layer.",
  },
  cache: {
    title: "FreshGNN's cache",
    about:
      "Iterations of FreshGNN with two layers: embeddings of layer 1 are read, pruned below, kept or thrown out.",
  },
};

export const SAMPLERS = ["frontier", "dashboard", "pin_tile", "bucket"];
export const BOARDS = ["dashboard", "pin_tile"];
const MFGS = ["neighbours", "cache"];

// kind: "integer", "integer or none", "real", "nodes", "scores", or a list of choices.
// slider: lowest and highest value, and the step if it is not 1. most: what this page draws.
export const SETTINGS = {
  m: {
    label: "m, nodes in the frontier",
    runs: SAMPLERS,
    kind: "integer",
    slider: [1, 10],
    opening: "2",
  },
  n: {
    label: "n, budget of nodes",
    runs: SAMPLERS,
    kind: "integer",
    slider: [1, 40],
    most: 2000,
    opening: "6",
  },
  eta: {
    label: "eta (η), length of the Dashboard",
    runs: BOARDS,
    kind: "real",
    slider: [1.05, 4, 0.05],
    most: 100,
    opening: "2",
  },
  deg_cap: {
    label: "deg_cap, highest weight",
    runs: SAMPLERS,
    kind: "integer or none",
    slider: [0, 10],
    opening: "",
  },
  lanes: {
    label: "lanes, probes in a round",
    runs: BOARDS,
    kind: "integer",
    slider: [1, 16],
    opening: "8",
  },
  include: {
    label: "include: who joins",
    runs: SAMPLERS,
    kind: ["pushed", "popped"],
    opening: "pushed",
  },
  probe_range: {
    label: "probe_range",
    runs: BOARDS,
    kind: ["capacity", "used"],
    opening: "capacity",
  },
  overflow: { label: "overflow", runs: BOARDS, kind: ["truncate", "grow"], opening: "truncate" },
  roots: { label: "roots", runs: ["neighbours"], kind: "nodes", opening: "0" },
  train: { label: "training nodes", runs: ["cache"], kind: "nodes", opening: "0" },
  batch_size: {
    label: "batch_size, roots in a batch",
    runs: ["cache"],
    kind: "integer",
    slider: [1, 10],
    opening: "1",
  },
  layers: {
    label: "layers",
    runs: ["neighbours"],
    kind: "integer",
    slider: [1, 3],
    low: 1,
    most: 3,
    opening: "2",
  },
  fanout1: {
    label: "fan-out of the roots (-1: all)",
    runs: ["neighbours"],
    kind: "integer",
    slider: [-1, 6],
    opening: "2",
  },
  fanout2: {
    label: "fan-out one hop on",
    runs: ["neighbours"],
    kind: "integer",
    slider: [-1, 6],
    opening: "2",
  },
  fanout3: {
    label: "fan-out two hops on",
    runs: ["neighbours"],
    kind: "integer",
    slider: [-1, 6],
    opening: "2",
  },
  fanout_roots: {
    label: "fan-out of the roots (-1: all)",
    runs: ["cache"],
    kind: "integer",
    slider: [-1, 6],
    opening: "-1",
  },
  fanout_below: {
    label: "fan-out one hop on",
    runs: ["cache"],
    kind: "integer",
    slider: [-1, 6],
    opening: "-1",
  },
  mode: { label: "draws", runs: MFGS, kind: ["layered", "shared"], opening: "layered" },
  p_grad: {
    label: "p_grad, share that is stable",
    runs: ["cache"],
    kind: "real",
    slider: [0, 1, 0.05],
    opening: "0.5",
  },
  t_stale: {
    label: "t_stale, highest age",
    runs: ["cache"],
    kind: "integer or none",
    slider: [0, 10],
    zero: true,
    opening: "2",
  },
  floats: {
    label: "numbers in the buffer",
    runs: ["cache"],
    kind: "integer",
    slider: [0, 60],
    most: 400,
    opening: "10",
  },
  header: { label: "header", runs: ["cache"], kind: ["continue", "cycle"], opening: "continue" },
  full: { label: "a full buffer", runs: ["cache"], kind: ["wrap", "drop"], opening: "wrap" },
  iterations: {
    label: "iterations",
    runs: ["cache"],
    kind: "integer",
    slider: [1, 40],
    low: 1,
    most: 200,
    opening: "5",
  },
  scores: {
    label: "norms of gradients",
    runs: ["cache"],
    kind: "scores",
    opening: "0.9 0.5 0.2 0.1 0 0; 0.9 0.1 0.2 0.5 0 0",
  },
  seed: { label: "seed", runs: Object.keys(RUNS), kind: "integer", opening: "7" },
  sample: {
    label: "number of the sample",
    runs: [...SAMPLERS, "neighbours"],
    kind: "integer",
    opening: "0",
  },
};

export function opening() {
  const texts = Object.entries(SETTINGS).map(([name, { opening }]) => [name, opening]);
  return {
    run: "frontier",
    graph: OPENING_GRAPH,
    set: Object.fromEntries(texts),
    step: 0,
    show: "sets",
    drawn: 0,
  };
}

export function settings_of(run) {
  return Object.keys(SETTINGS).filter((name) => SETTINGS[name].runs.includes(run));
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A number as it was typed: an integer, a BigInt where it is large, or a Real.
export function number_of(name, text) {
  text = text.trim();
  if (/^[+-]?\d+$/.test(text)) {
    const big = BigInt(text.replace(/^\+/, ""));
    return Number.isSafeInteger(Number(big)) ? Number(big) : big;
  }
  if (!NUMBER.test(text)) throw new KindError(`${name} must be a number, got '${text}'`);
  return new Real(Number(text));
}

export function value_of(name, text) {
  const { kind, low, most } = SETTINGS[name];
  if (Array.isArray(kind)) return text;
  if (kind === "nodes") return nodes_of(name, text);
  if (kind === "scores") return scores_of(name, text);
  if (kind === "integer or none" && text.trim() === "") return null;
  const value = number_of(name, text);
  const size = value instanceof Real ? value.value : value;
  if (size > most)
    throw new ValueError(`${name} must be at most ${most} on this page, got ${text}`);
  if (size < low) throw new ValueError(`${name} must be at least ${low}, got ${text}`);
  return kind === "real" ? Number(size) : value;
}

function nodes_of(name, text) {
  const words = text.split(/[\s,]+/).filter(Boolean);
  return words.map((word) => {
    if (!/^-?\d{1,9}$/.test(word))
      throw new KindError(`${name} must be node numbers, such as 0, 3, got '${word}'`);
    return Number(word);
  });
}

// A row of norms for each iteration, a number for each node; the last row is used again. None: they
// are drawn at random.
function scores_of(name, text) {
  const rows = text.split(/[;\n]/).map((row) => row.split(/[\s,]+/).filter(Boolean));
  return rows
    .filter((row) => row.length)
    .map((row) =>
      row.map((word) => {
        if (!NUMBER.test(word)) throw new KindError(`scores must be numbers, got '${word}'`);
        return Number(word);
      }),
    );
}

// All values of a run by name; raises for the first that cannot be read.
export function values_of({ run, set }) {
  return Object.fromEntries(settings_of(run).map((name) => [name, value_of(name, set[name])]));
}
