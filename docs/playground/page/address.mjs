// The state of the page in the address behind "#": key=value, joined by "&". docs/playground.md
// documents it.

import { EXAMPLES, HEIGHT, WIDTH, edges_text, graph_of, parse_edges } from "./graphs.mjs";
import { RUNS, SETTINGS, opening, settings_of } from "./settings.mjs";

// The address is not one that this page writes.
export class AddressError extends Error {}

const MOST_DRAWN = 1_000_000;

export function address_of(state) {
  const { run, graph, set, step, show, drawn } = state;
  const parts = [
    ["run", run],
    ["nodes", graph.n],
    ["edges", edges_text(graph).replaceAll(" ", ",")],
  ];
  if (!as_placed_by_itself(graph))
    parts.push(["at", graph.at.map((place) => place.join(".")).join(",")]);
  for (const name of settings_of(run)) parts.push([name, set[name]]);
  parts.push(["step", step]);
  if (run !== "cache") parts.push(["show", show], ["drawn", drawn]);
  return parts.map(([name, value]) => `${name}=${encoded(value)}`).join("&");
}

// Letters that stay as they are keep the address legible.
function encoded(value) {
  return encodeURIComponent(value)
    .replaceAll("%2C", ",")
    .replaceAll("%3B", ";")
    .replaceAll("%20", "+");
}

function as_placed_by_itself(graph) {
  const same = (other) =>
    other.at.join() === graph.at.join() && edges_text(other) === edges_text(graph);
  return same(EXAMPLES["the course's six nodes"]()) || same(graph_of(graph.n, graph.edges));
}

// The state that an address names; what it leaves out is as at the opening.
export function state_of(address) {
  const given = parts_of(address);
  const state = opening();
  if (given.has("run")) state.run = one_of("run", given.get("run"), Object.keys(RUNS));
  state.graph = graph_in(given, state.graph);
  for (const name of Object.keys(SETTINGS)) {
    if (given.has(name)) state.set[name] = setting(name, given.get(name));
  }
  if (given.has("step")) state.step = whole("step", given.get("step"), 1_000_000);
  if (given.has("show")) state.show = one_of("show", given.get("show"), ["sets", "nodes"]);
  if (given.has("drawn")) state.drawn = whole("drawn", given.get("drawn"), MOST_DRAWN);
  return state;
}

function parts_of(address) {
  const known = new Set([
    ...Object.keys(SETTINGS),
    "run",
    "nodes",
    "edges",
    "at",
    "step",
    "show",
    "drawn",
  ]);
  const given = new Map();
  for (const part of address.split("&").filter(Boolean)) {
    const [name, ...rest] = part.split("=");
    if (!known.has(name)) throw new AddressError(`nothing here is called "${name.slice(0, 40)}"`);
    if (given.has(name)) throw new AddressError(`${name} stands there twice`);
    try {
      given.set(name, decodeURIComponent(rest.join("=").replaceAll("+", " ")));
    } catch {
      throw new AddressError(`${name} has a % that begins no letter`);
    }
  }
  return given;
}

function setting(name, text) {
  const { kind } = SETTINGS[name];
  if (Array.isArray(kind)) return one_of(name, text, kind);
  if (text.length > 5000) throw new AddressError(`${name} is too long`);
  if (kind !== "nodes" && kind !== "scores" && text.trim() === "" && kind !== "integer or none") {
    throw new AddressError(`${name} is empty`);
  }
  if (/[^\d\s.,;eE+-]/.test(text))
    throw new AddressError(`${name} is "${text.slice(0, 40)}", which is no number`);
  return text;
}

function one_of(name, text, allowed) {
  if (allowed.includes(text)) return text;
  throw new AddressError(`${name} is "${text.slice(0, 40)}", and must be ${allowed.join(" or ")}`);
}

function whole(name, text, most) {
  if (/^\d{1,9}$/.test(text) && Number(text) <= most) return Number(text);
  throw new AddressError(
    `${name} is "${text.slice(0, 40)}", and must be a whole number up to ${most.toLocaleString("en")}`,
  );
}

function graph_in(given, before) {
  if (!["nodes", "edges", "at"].some((name) => given.has(name))) return before;
  const n = given.has("nodes") ? whole("nodes", given.get("nodes"), 1e6) : 0;
  const edges = parse_edges((given.get("edges") ?? "").replaceAll(",", " "));
  const graph = graph_of(n, edges);
  if (given.has("at")) return graph_of(n, edges, places_in(given.get("at"), graph.n));
  return edges_text(graph) === edges_text(before) && graph.n === before.n ? before : graph;
}

function places_in(text, n) {
  const at = text.split(",").map((place) => place.split(".").map(Number));
  const fits = ([x, y]) => x >= 0 && x <= WIDTH && y >= 0 && y <= HEIGHT;
  if (at.length !== n || !at.every((place) => place.length === 2 && fits(place))) {
    throw new AddressError(`"at" must have ${n} places, such as 120.300, in ${WIDTH} by ${HEIGHT}`);
  }
  return at;
}
