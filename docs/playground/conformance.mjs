// Answers the questions of docs/conformance.md with the kernels of this folder:
//
//     minibatch-gnn conformance --cmd 'node docs/playground/conformance.mjs'

import { createInterface } from "node:readline";
import { Block, MFG } from "./kernels/block.mjs";
import { bucket } from "./kernels/bucket.mjs";
import { BidirectionalCache } from "./kernels/cache.mjs";
import { KindError, Real, Table, ValueError, dtype_of } from "./kernels/check.mjs";
import { dashboard } from "./kernels/dashboard.mjs";
import { Entries, cache_admit, cache_fetch, cache_lookup, cache_read } from "./kernels/entries.mjs";
import { frontier } from "./kernels/frontier.mjs";
import { Graph, TypedGraph, induced_subgraph, transpose_perm } from "./kernels/graph.mjs";
import { epoch_batches, sample_mfg } from "./kernels/neighbor.mjs";
import { ascending } from "./kernels/nodes.mjs";
import { pin_tile } from "./kernels/pin_tile.mjs";
import { select_stable } from "./kernels/policy.mjs";
import { prune_layers } from "./kernels/pruning.mjs";
import * as streams from "./kernels/streams.mjs";

// Kernels that work in steps, and the state that is seen in each: `watch` keeps them.
const SEEN = {
  frontier: (FS, Vs) => ({ frontier: FS.slice(), sample: ascending(Vs) }),
  pin_tile: (board, Vs) => ({ ...board.state(), sample: ascending(Vs) }),
  dashboard: (board, Vs, s) => ({ ...board.state(s), sample: ascending(Vs) }),
  cache_admit: (entries) => ({ entries: entries.copy() }),
  BidirectionalCache: (cache) => cache.state(),
};

const KERNELS = {
  frontier: ({ graph, main, probe, ...options }, watch) =>
    frontier(graph, main, probe, options, watch),
  pin_tile: ({ graph, main, probe, ...options }, watch) =>
    pin_tile(graph, main, probe, options, watch),
  dashboard: ({ graph, main, probe, ...options }, watch) =>
    dashboard(graph, main, probe, options, watch),
  cache_admit: ({ entries, layer, ids, values, slots, i, take }, watch) =>
    cache_admit(entries, layer, ids, values, slots, i, { take }, watch) ?? null,
  BidirectionalCache: run_of_cache,
  mix: ({ x }) => streams.mix(x),
  key: ({ parts }) => streams.key(...parts),
  uniform: ({ k, c }) => streams.uniform(k, c),
  below: ({ k, c, n }) => streams.below(k, c, n),
  pick_without_replacement: ({ k, c, N, m }) => streams.pick_without_replacement(k, c, N, m),
  floyd: ({ key, n, f }) => streams.floyd(key, n, f),
  permutation: ({ key, n }) => streams.permutation(key, n),
  transpose_perm: ({ graph }) => transpose_perm(graph),
  induced_subgraph: ({ graph, nodes }) => induced_subgraph(graph, nodes),
  bucket: ({ graph, main, probe, ...options }) => bucket(graph, main, probe, options),
  sample_mfg: ({ graph, roots, fanouts, ...options }) => sample_mfg(graph, roots, fanouts, options),
  epoch_batches: ({ ids, batch_size, seed, epoch }) => epoch_batches(ids, batch_size, seed, epoch),
  prune_layers: ({ mfg, hit }) => prune_layers(mfg, hit),
  cache_lookup: ({ entries, layer, ids, oldest }) => cache_lookup(entries, layer, ids, oldest),
  cache_read: ({ rows, slots, computed }) => cache_read(rows, slots, computed),
  cache_fetch: ({ features, rank, ids, held }) => cache_fetch(features, rank, ids, held),
  select_stable: ({ score, ids, p }) => select_stable(score, ids, p),
};

// What the methods of a cache return, called in turn.
function run_of_cache({ n, d, h, layers, floats, calls, ...options }, watch = null) {
  const cache = new BidirectionalCache(n, d, h, layers, floats, options);
  const methods = {
    fill: ({ X, hotness }) => cache.fill(X, hotness) ?? null,
    lookup: ({ layer, ids, i }) => cache.lookup(layer, ids, i),
    read: ({ slots }) => cache.read(slots),
    fetch_features: ({ ids }) => cache.fetch_features(ids),
    begin_update: ({ i }) => cache.begin_update(i) ?? null,
    admit: ({ layer, ids, values, i }) => cache.admit(layer, ids, values, i),
    evict: ({ layer, ids, i }) => cache.evict(layer, ids, i),
  };
  watch?.(cache);
  return calls.map(([method, args]) => {
    const result = methods[method](args);
    watch?.(cache);
    return result;
  });
}

// JSON whose numbers with a point or an exponent come as {"real": x}, and integers beyond 2**53 as text.
function parse(line) {
  const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return JSON.parse(
    line.replace(token, (text) => {
      if (text[0] === '"') return text;
      if (/[.eE]/.test(text)) return `{"real":${text}}`;
      return Number.isSafeInteger(Number(text)) ? text : `"${text}"`;
    }),
  );
}

const SPECIAL = { nan: NaN, inf: Infinity, "-inf": -Infinity };

function number(value) {
  if (typeof value !== "string") return value;
  if (value in SPECIAL) return new Real(SPECIAL[value]);
  return /^-?\d{1,40}$/.test(value) ? BigInt(value) : value;
}

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

function decode(value) {
  if (typeof value !== "object" || value === null) return number(value);
  if (Array.isArray(value)) return value.map(decode);
  if ("real" in value) return new Real(value.real);
  if ("data" in value) return decoded_array(value);
  if ("graph" in value) return decoded_graph(value.graph);
  const fields = Object.fromEntries(
    Object.entries(value.fields).map(([name, part]) => [name, decode(part)]),
  );
  return "type" in value ? MAKE[value.type](fields) : fields;
}

function decoded_array({ dtype, shape, data }) {
  const wide = dtype === "int64" || dtype === "uint64";
  const element = (x) => {
    const given = decode(x);
    return wide ? BigInt(given) : Number(given instanceof Real ? given.value : given);
  };
  const array = ARRAYS[dtype].from(data, element);
  return shape.length === 1 ? array : new Table(array, shape);
}

function decoded_graph({ indptr, indices }) {
  const listed = (part) => numbers(Array.isArray(part) ? part : part.data);
  return new Graph(listed(indptr), Int32Array.from(listed(indices)));
}

function numbers(integers) {
  return Array.from(integers, Number);
}

const MAKE = {
  TypedGraph: ({ graph, edge_types, relations, node_types }) =>
    new TypedGraph(graph, edge_types, relations, node_types),
  Block: ({ start, end, indices, n_src, edge_ids, weights }) =>
    new Block(numbers(start), numbers(end), indices, n_src, edge_ids && numbers(edge_ids), weights),
  MFG: ({ nodes, blocks }) => new MFG(nodes, blocks),
  Entries: ({ rows, slot_of, back, stamp }) => new Entries(rows, slot_of, back, stamp),
};

function encode(value) {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number") return encoded_number(value);
  if (typeof value === "bigint" || value instanceof streams.Word) return value.toString();
  if (Array.isArray(value)) return value.map(encode);
  if (value instanceof Graph)
    return { graph: { indptr: value.indptr, indices: [...value.indices] } };
  if (dtype_of(value) !== null) return encoded_array(value);
  const { type, ...fields } = value;
  const inside = Object.fromEntries(
    Object.entries(fields).map(([name, part]) => [name, encode(part)]),
  );
  return { type, fields: inside };
}

function encoded_number(x) {
  if (Number.isInteger(x)) return Number.isSafeInteger(x) ? x : BigInt(x).toString();
  if (Number.isFinite(x)) return x;
  return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

function encoded_array(value) {
  const data = value instanceof Table ? value.data : value;
  const shape = value instanceof Table ? value.shape : [value.length];
  if (Array.isArray(data)) return { shape, data: data.map(encode) }; // of words: its dtype is not said
  return { dtype: dtype_of(value), shape, data: Array.from(data, encode) };
}

function answer(question) {
  if ("hello" in question) return { name: "playground", version: "1" };
  const kernel = KERNELS[question.call];
  if (!kernel) return { skip: "not implemented" };
  const args = decode({ fields: question.args });
  const seen = question.time ? undefined : SEEN[question.call];
  const states = [];
  try {
    const result = kernel(args, seen && ((...parts) => states.push(seen(...parts))));
    const said = { result: encode(result) };
    if (seen) said.states = states.map((state) => encode(state).fields);
    if (question.writes)
      said.changed = Object.fromEntries(question.writes.map((name) => [name, encode(args[name])]));
    if (question.time) said.nanoseconds = timed(kernel, question, args);
    return said;
  } catch (error) {
    if (error instanceof ValueError) return { error: "value" };
    if (error instanceof KindError) return { error: "type" };
    return { fault: `${error.name}: ${error.message}` };
  }
}

// A kernel that changes its arguments is given new ones in each round.
function timed(kernel, { args, time, writes }, read) {
  return Array.from({ length: time }, () => {
    const given = writes || args.calls ? decode({ fields: args }) : read;
    const begin = process.hrtime.bigint();
    kernel(given);
    return Number(process.hrtime.bigint() - begin);
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = parse(line);
  process.stdout.write(`${JSON.stringify({ id: question.id, ...answer(question) })}\n`);
}
