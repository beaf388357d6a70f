// How the graph is marked at a step: a role and a letter for each node, edges, arrows, a legend.

import { drawn_edges } from "./runs.mjs";

const NOTHING = { nodes: [], edges: [], arrows: [], legend: [] };

export function marks_of(result) {
  if (!result) return NOTHING;
  return { sampler: sampler_marks, neighbours: hop_marks, cache: cache_marks }[result.kind](result);
}

function sampler_marks({ frontier, now, u, u_new, step, last, edges }) {
  const nodes = [];
  for (const v of now.sample) nodes[v] = { role: "sample", note: "", said: "in the sample" };
  for (const v of frontier) {
    const times = frontier.filter((w) => w === v).length;
    nodes[v] = {
      role: "frontier",
      note: times > 1 ? `F ×${times}` : "F",
      said: `in the frontier${times > 1 ? ` ${times} times` : ""}`,
    };
  }
  return {
    nodes,
    edges: step === last ? edges : [],
    arrows: step ? [[u, u_new]] : [],
    legend: [
      ["frontier", "F", "in the frontier"],
      ["sample", " ", "in the sample"],
      ["", " ", "not met"],
    ],
  };
}

function hop_marks({ mfg, step, last, drawn }) {
  const nodes = [];
  for (let hop = step; hop >= 0; hop--) {
    for (const v of mfg.nodes[last - hop]) {
      nodes[v] = hop
        ? { role: `hop${hop}`, note: String(hop), said: `met at hop ${hop}` }
        : { role: "frontier", note: "R", said: "a root" };
    }
  }
  const hops = Array.from({ length: last }, (_, k) => [
    `hop${k + 1}`,
    String(k + 1),
    `met at hop ${k + 1}`,
  ]);
  const earlier = Array.from({ length: Math.max(step - 1, 0) }, (_, k) =>
    drawn_edges(mfg, last - 1 - k),
  ).flat();
  return {
    nodes,
    edges: earlier,
    arrows: drawn,
    legend: [["frontier", "R", "a root"], ...hops, ["", " ", "not met"]],
  };
}

const STATES = {
  dead: ["dead", "×", "sampled, not needed"],
  loaded: ["hop2", "X", "only its features, loaded"],
  held: ["hop3", "B", "only its features, in the buffer"],
  computed: ["hop1", "C", "layer 1 computed"],
  cached: ["sample", "H", "layer 1 read from the cache"],
};

function cache_marks({ rows, step }) {
  const nodes = [];
  const [inputs, middle] = rows[step].layers;
  for (const [v, state] of [...inputs, ...middle.filter(([, state]) => state !== "dead")]) {
    const [role, note, said] = STATES[state];
    nodes[v] = { role, note, said };
  }
  for (const v of rows[step].roots) nodes[v].note = `R ${nodes[v].note}`;
  return {
    nodes,
    edges: [],
    arrows: [],
    legend: [...Object.values(STATES), ["", "R", "root: layer 2"], ["", " ", "not sampled"]],
  };
}
