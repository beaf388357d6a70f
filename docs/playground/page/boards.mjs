// What stands in the arrays of a run, as rows of cells.

import { bar_of, h, nodes_text, table } from "./dom.mjs";

const MOST_CELLS = 400;

// Boards of a result: elements, one a board.
export function boards_of(result) {
  if (!result) return [];
  const make = { frontier: slots, bucket: buckets, pin_tile: tiles, dashboard: entries };
  if (result.kind === "sampler") return make[result.run](result);
  return result.kind === "neighbours"
    ? [layers(mfg_layers(result))]
    : [buffer(result), layers(cache_layers(result))];
}

// A board of cells: each is a column of values under one another, [text, class], and its group.
function cells(title, help, heads, columns) {
  const shown = columns.slice(0, MOST_CELLS);
  const labels = h(
    "li",
    { class: "pg-heads", "aria-hidden": "true" },
    heads.map((head) => h("span", {}, head)),
  );
  const items = shown.map(({ values, group, changed, said }) => {
    const style = group === null || group === undefined ? "" : `pg-g${group % 8}`;
    const spans = values.map((value) => h("span", { "aria-hidden": "true" }, value));
    return h(
      "li",
      { class: `${style} ${changed ? "pg-changed" : ""}` },
      h("span", { class: "pg-sr" }, said),
      spans,
    );
  });
  const cut =
    columns.length > shown.length
      ? h("p", { class: "pg-soft" }, `The first ${MOST_CELLS} of ${columns.length} are drawn.`)
      : null;
  const none = columns.length ? null : h("p", { class: "pg-soft" }, "Nothing.");
  return h(
    "div",
    { class: "pg-board" },
    h("h4", {}, title),
    h("p", { class: "pg-soft" }, help),
    h("ul", { class: "pg-cells", "aria-label": title }, labels, items),
    cut,
    none,
  );
}

function slots({ frontier, weight, slot }) {
  let sum = 0;
  const columns = frontier.map((v, i) => {
    sum += weight[v];
    const values = [i, v, weight[v], sum];
    return {
      values,
      group: i,
      changed: i === slot,
      said: `slot ${i}: node ${v}, weight ${weight[v]}, sum ${sum}`,
    };
  });
  return [
    cells(
      "Frontier",
      "A draw below the last sum falls to the first slot whose sum is above it.",
      ["slot", "node", "weight", "sum"],
      columns,
    ),
  ];
}

function buckets({ now, frontier, weight, slot }) {
  const rows = now.classes.map((members, j) => {
    const weights = j ? `${2 ** j} to ${2 ** (j + 1) - 1}` : "1";
    const slots_in = members.map(
      (i) =>
        `slot ${i}: node ${frontier[i]} of weight ${weight[frontier[i]]}${i === slot ? ", new" : ""}`,
    );
    return [weights, String(now.sums[j]), slots_in.join("; ") || "empty"];
  });
  const filled = rows.length
    ? table("Buckets", ["weights", "sum", "slots"], rows.reverse(), { class: "pg-table" })
    : h("p", {}, "No node has an edge.");
  const help =
    "A bucket is drawn by its sum, then slots of it until one is accepted, with chance weight / 2^(j + 1).";
  return [
    h(
      "div",
      { class: "pg-board" },
      h("h4", {}, "Buckets"),
      h("p", { class: "pg-soft" }, help),
      filled,
    ),
  ];
}

function tiles({ now, u_new, slot }) {
  const { DB, IA_start, IA_live, IA_tile, node, start, end, slot: column } = now.board;
  const pins = Array.from(DB, (t, k) => {
    const owned = t >= 0,
      fresh = owned && t === slot && u_new !== null;
    return {
      values: [k, owned ? t : "·", owned ? node[t] : "·"],
      group: owned ? t : null,
      changed: fresh,
      said: owned ? `entry ${k}: tile ${t}, node ${node[t]}` : `entry ${k}: nobody's`,
    };
  });
  const four = Array.from(node, (v, t) => ({
    values: [t, v, start[t], end[t], column[t]],
    group: t,
    changed: t === slot,
    said: `tile ${t}: node ${v}, entries ${start[t]} to ${end[t]}, column ${column[t]}`,
  }));
  const index = IA_live.map((live, i) =>
    index_cell(i, IA_start[i], live, live ? IA_tile[i] : null, live ? `tile ${IA_tile[i]}` : ""),
  );
  return [
    cells(
      "Dashboard DB",
      "The tile that each entry is pinned to, and that tile's node. Behind the last column entries are free.",
      ["entry", "tile", "node"],
      pins,
    ),
    cells(
      "Tiles",
      "Which entries a node owns: the end is exclusive.",
      ["tile", "node", "start", "end", "column"],
      four,
    ),
    cells(
      "Index array IA",
      "Where runs of entries begin; · is no longer live.",
      ["column", "start", "live", "tile"],
      [...index, last_cell(IA_start, 4)],
    ),
  ];
}

function entries({ now, u_new }) {
  const { node, offset, column, IA_start, IA_live } = now.board;
  const newest = IA_live.length - 1;
  const shown = Array.from(node, (v, k) => {
    if (v < 0) return { values: [k, "·", "·", "·"], group: null, said: `entry ${k}: nobody's` };
    return {
      values: [k, v, offset[k], column[k]],
      group: column[k],
      changed: u_new !== null && column[k] === newest,
      said: `entry ${k}: node ${v}, offset ${offset[k]}, column ${column[k]}`,
    };
  });
  const index = IA_live.map((live, i) => index_cell(i, IA_start[i], live, live ? i : null, null));
  return [
    cells(
      "Dashboard DB",
      "Three numbers an entry: its node, how far back the first one is (there: minus how many), and its column.",
      ["entry", "node", "offset", "column"],
      shown,
    ),
    cells(
      "Index array IA",
      "Where runs of entries begin; · is no longer live.",
      ["column", "start", "live"],
      [...index, last_cell(IA_start, 3)],
    ),
  ];
}

function index_cell(i, start, live, group, tile) {
  const values = [i, start, live ? "yes" : "·"];
  if (tile !== null) values.push(live ? group : "·");
  return {
    values,
    group,
    said: `column ${i} begins at ${start}, ${live ? `live ${tile ?? ""}` : "not live"}`,
  };
}

// Where free entries begin.
function last_cell(IA_start, height) {
  const start = IA_start.at(-1);
  return {
    values: [IA_start.length - 1, start, ...Array(height - 2).fill("free")],
    group: null,
    said: `free entries begin at ${start}`,
  };
}

function mfg_layers({ mfg, step, last }) {
  return mfg.nodes.map((nodes, l) => [
    l,
    Array.from(nodes, (v) => [v, l < last - step ? "later" : "known"]),
  ]);
}

function cache_layers({ rows, step }) {
  return rows[step].layers.map((nodes, l) => [l, nodes]);
}

// The nodes of each layer, the roots' first.
function layers(rows) {
  const shown = [...rows].reverse().map(([l, nodes]) => {
    const name =
      l === rows.length - 1 ? `layer ${l}, roots` : l ? `layer ${l}` : "layer 0, features";
    const chips = nodes
      .filter(([, state]) => state !== "later")
      .map(([v, state]) =>
        h(
          "li",
          { class: `pg-${state}` },
          String(v),
          state === "known" ? null : h("small", {}, state),
        ),
      );
    const hidden =
      nodes.length && !chips.length ? h("span", { class: "pg-soft" }, "not yet drawn") : null;
    return h(
      "div",
      { class: "pg-layer" },
      h("span", { class: "pg-name" }, name),
      hidden ?? h("ul", { class: "pg-chips", "aria-label": name }, chips),
    );
  });
  return h(
    "div",
    { class: "pg-board" },
    h("h4", {}, "Message-flow graph"),
    h(
      "p",
      { class: "pg-soft" },
      "What each layer needs: the nodes of the layer above, then the new ones, ascending.",
    ),
    shown,
  );
}

function buffer({ now }) {
  const columns = now.slots.map((held, s) => ({
    values: [
      s,
      held ? held.node : "·",
      held ? held.stamp : "·",
      now.features[s] ?? "·",
      s === now.head ? "▲" : "",
    ],
    group: held ? 0 : now.features[s] === null ? null : 1,
    changed: s === now.head,
    said: `slot ${s}: ${held ? `embedding of node ${held.node}, of iteration ${held.stamp}` : "no embedding"}, ${now.features[s] === null ? "no feature" : `feature of node ${now.features[s]}`}${s === now.head ? ", the header" : ""}`,
  }));
  const head = now.head >= now.slots.length ? " The header is behind the last slot." : "";
  const help = `The buffer after the iteration: embeddings from the left, with the iteration that wrote them; features from the right.${head}`;
  return cells("Cache", help, ["slot", "node", "stamp", "feature", "header"], columns);
}

// What each iteration of FreshGNN did.
export function iterations({ rows, step }) {
  const heads = [
    "iteration",
    "roots",
    "sampled",
    "loaded",
    "held",
    "read",
    "admitted",
    "evicted",
    "lost",
  ];
  const most = Math.max(...rows.map((row) => row.sampled), 1);
  const shown = rows.map((row) => {
    const { i, roots, sampled, loaded, held, read, admitted, evicted, lost } = row;
    const bar = bar_of(loaded / most, sampled / most);
    return [
      String(i),
      nodes_text(roots),
      String(sampled),
      h("td", {}, String(loaded), bar),
      ...[held, read.length, admitted, evicted, lost].map(String),
    ];
  });
  const found = table("What each iteration did", heads, shown, { class: "pg-table pg-iterations" });
  found.tBodies[0].rows[step].setAttribute("aria-current", "step");
  const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
  const saved = sum("sampled")
    ? `${(100 * (1 - sum("loaded") / sum("sampled"))).toFixed(1)} % of the feature rows that neighbour sampling needs are not loaded.`
    : "";
  const scrolled = h(
    "div",
    { class: "pg-scroll", tabindex: 0, role: "region", "aria-label": "Iterations" },
    found,
  );
  return [h("h3", {}, "Iterations"), scrolled, h("p", { class: "pg-soft" }, saved)];
}
