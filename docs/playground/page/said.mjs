// What happened in a step, in a sentence or two.

import { count, nodes_text } from "./dom.mjs";
import { probes_of } from "./runs.mjs";

export function said_of(result) {
  if (result.kind === "neighbours") return said_of_hop(result);
  if (result.kind === "cache") return said_of_iteration(result);
  if (result.step === 0) return said_of_roots(result);
  const end = result.step === result.last ? ` ${said_at_the_end(result)}` : "";
  return `${said_of_pop(result)} ${said_of_push(result)}${end}`;
}

function said_of_roots({ frontier, last, values, weight }) {
  const planned = values.n - values.m;
  const few =
    last < planned
      ? ` Of ${count(planned, "step")} ${last} can be made: then only nodes without neighbours are left.`
      : "";
  const weights = frontier.map((v) => weight[v]).join(" + ");
  return `The first frontier, the roots: ${nodes_text(frontier)}. Their weights are ${weights}.${few}`;
}

function said_of_pop(result) {
  const { run, u, slot, before, now, frontier_before, weight } = result;
  if (run === "frontier") {
    const total = frontier_before.reduce((sum, v) => sum + weight[v], 0);
    return `The weights of the frontier add up to ${total}; node ${u} leaves, with chance ${share(frontier_before, u, weight)}/${total}.`;
  }
  if (run === "bucket") {
    const tries = now.probes - before.probes;
    const bits = Math.floor(Math.log2(weight[u]));
    const bucket = bits ? `weights ${2 ** bits} to ${2 ** (bits + 1) - 1}` : "weight 1";
    return `The bucket of ${bucket} is drawn; after ${count(tries, "try", "tries")} slot ${slot} is accepted: node ${u} leaves.`;
  }
  const probes = probes_of(result);
  const [hit, missed] = [probes.at(-1), probes.slice(0, -1)];
  const entries = missed.slice(0, 12).map(({ entry }) => entry).join(", ");
  const more = missed.length > 12 ? " .." : "";
  const word = missed.length > 1 ? "entries" : "entry";
  const nobody = missed.length ? `Nobody owns ${word} ${entries}${more}. ` : "";
  const tile = run === "pin_tile" ? `tile ${hit.owner}, ` : "";
  return `${nobody}The probe of entry ${hit.entry} hits ${tile}node ${u}, which leaves.`;
}

// Of the weights in the frontier, how much is node u's.
function share(FS, u, weight) {
  return FS.filter((v) => v === u).length * weight[u];
}

function said_of_push(result) {
  const { run, u_new, frontier_before, weight, before, now } = result;
  const again = frontier_before.includes(u_new) ? ", which is in the frontier already" : "";
  const comes = `Its neighbour ${u_new} comes${again}.`;
  if (!before.board) return comes;
  const free = before.capacity - before.board.IA_start.at(-1);
  const needs = `It needs ${count(weight[u_new], "entry", "entries")}, ${free} ${free === 1 ? "is" : "are"} free behind the last:`;
  if (now.counts.cleanups === before.counts.cleanups) return `${comes} ${needs} no clean-up.`;
  const moved = now.counts.moved - before.counts.moved;
  const grown =
    now.capacity > before.capacity
      ? ` That is not enough: the Dashboard grows to ${now.capacity}.`
      : "";
  const cut =
    now.counts.truncated > before.counts.truncated
      ? " It does not get all it needs: it is truncated."
      : "";
  return `${comes} ${needs} a clean-up moves ${count(moved, "entry", "entries")}.${grown}${cut}`;
}

function said_at_the_end({ sample, edges }) {
  return `The sample is ${nodes_text(sample.nodes)}, with ${count(edges.length, "edge")} between them.`;
}

function said_of_hop({ mfg, step, last, drawn, fanouts }) {
  const inputs = mfg.nodes[last - step];
  if (step === 0) return `The roots, layer ${last}: ${nodes_text(inputs)}.`;
  const fanout = fanouts[step - 1];
  const most = fanout < 0 ? "all its neighbours" : `at most ${count(fanout, "neighbour")}`;
  const [met, known] = [inputs.length, mfg.nodes[last - step + 1].length];
  const fresh = met - known ? `New are ${nodes_text(inputs.slice(known))}.` : "None is new.";
  return `Layer ${last - step + 1}: each of ${count(known, "node")} draws ${most}, ${count(drawn.length, "edge")} in all. ${fresh}`;
}

function said_of_iteration({ rows, step }) {
  const { roots, sampled, loaded, held, read, computed, admitted, evicted, lost } = rows[step];
  const over = lost
    ? ` ${count(lost, "entry", "entries")} that could have been read ${lost === 1 ? "is" : "are"} written over.`
    : "";
  return (
    `Roots ${nodes_text(roots)}. Of layer 1, ${nodes_text(read)} ${read.length === 1 ? "is" : "are"} read from the cache, ${nodes_text(computed)} computed. ` +
    `${count(sampled, "feature row")} would be needed without a cache; ${loaded} ${loaded === 1 ? "is" : "are"} loaded, ${held} held. ` +
    `${admitted} admitted, ${evicted} evicted.${over}`
  );
}
