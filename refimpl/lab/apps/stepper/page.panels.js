"use strict";
// The pictures of a trace's page. Text only ever enters the page as text, so nothing in the data can
// become markup.

const trace = JSON.parse(document.getElementById("trace").textContent);
const steps = trace.steps;
const SVG = "http://www.w3.org/2000/svg";
const EMPTY = "·";
const GROUPS = 8; // colours
let now = -1; // the step that is shown, of all that there are

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function valueText(value) {
  if (value === null) return EMPTY;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

function cellOf(tag, [value, group, mark], before, hasMarks, attributes = {}) {
  const made = element(tag, attributes, element("span", { class: "value" }, valueText(value)));
  if (hasMarks) made.append(element("span", { class: "mark" }, mark));
  if (group !== null) made.classList.add(`g${group % GROUPS}`);
  if (before === undefined || before === null || !same(before[0], value) || (mark && mark !== before[2])) {
    made.classList.add("changed");
  }
  return made;
}

// Each kind of panel gives (panel, body, index) => draw, and draw(state, before) shows a state in the body.

function arrayPanel(panel, body) {
  const marked = new Set();
  let longest = 1;
  let label = 2;
  let markLength = 0;
  for (const state of panel.states) {
    for (const [name, cells] of state) {
      label = Math.max(label, name.length);
      for (const [value, , mark] of cells) {
        longest = Math.max(longest, valueText(value).length);
        markLength = Math.max(markLength, mark.length);
        if (mark) marked.add(name);
      }
    }
  }
  const labelWidth = 0.52 * label + 0.7;
  const cellWidth = Math.max(2.1, 0.62 * longest + 0.5, 0.45 * markLength);
  body.style.setProperty("--label", `${labelWidth}rem`);
  body.style.setProperty("--cell", `${cellWidth}rem`);
  return (state, before) => {
    const old = new Map(before || []);
    const length = Math.max(0, ...state.map(([, cells]) => cells.length));
    const most = Math.max(1, Math.floor((widthOf(body) - labelWidth - 0.2) / cellWidth));
    const blocks = Math.max(1, Math.ceil(length / most));
    const per = Math.ceil(length / blocks);
    const tables = [];
    for (let start = 0; start < length; start += per) {
      const columns = Array.from({ length: Math.min(per, length - start) }, (_, k) => start + k);
      const head = element("tr", {}, element("th", { scope: "col" }, element("span", { class: "sr" }, "row")));
      head.append(...columns.map((k) => element("th", { scope: "col" }, String(k))));
      const rows = state.map(([name, cells]) => {
        const known = old.get(name) || [];
        const row = element("tr", { "data-row": name }, element("th", { scope: "row" }, name));
        for (const k of columns) {
          if (k < cells.length) row.append(cellOf("td", cells[k], known[k], marked.has(name)));
        }
        return row;
      });
      tables.push(element("table", { class: "cells", "aria-label": `${panel.title}, ${start} to ${start + columns.length - 1}` },
        element("thead", {}, head), element("tbody", {}, ...rows)));
    }
    body.replaceChildren(...tables);
  };
}

function widthOf(body) {
  return body.clientWidth / parseFloat(getComputedStyle(document.documentElement).fontSize); // in rem
}

function tablePanel(panel, body) {
  const head = element("tr", {}, ...panel.fixed.columns.map((name) => element("th", { scope: "col" }, name)));
  const marks = panel.states.some((rows) => rows.some((row) => row.some((c) => c[2])));
  return (state, before) => {
    const old = new Map((before || []).map((row) => [valueText(row[0][0]), row]));
    const rows = state.map((cells) => {
      const known = old.get(valueText(cells[0][0])) || [];
      return element("tr", {}, ...cells.map((c, i) => cellOf("td", c, known[i], marks)));
    });
    body.replaceChildren(element("table", { class: "rows", "aria-label": panel.title },
      element("thead", {}, head.cloneNode(true)), element("tbody", {}, ...rows)));
  };
}

function countersPanel(panel, body, index) {
  const names = [...new Set(panel.states.flatMap((state) => Object.keys(state)))];
  const top = Object.fromEntries(names.map((n) => [n, Math.max(1, ...panel.states.map((s) => s[n] || 0))]));
  const points = Object.fromEntries(names.map((n) => [n, []]));
  steps.forEach((step, x) => {
    const state = panel.states[step.panels[index]] || {};
    for (const n of names) {
      if (n in state) points[n].push([x, `${((100 * x) / Math.max(1, steps.length - 1)).toFixed(2)},${(22 - (20 * state[n]) / top[n]).toFixed(2)}`]);
    }
  });
  return (state, before) => {
    const rows = Object.entries(state).map(([name, value]) => {
      const soFar = points[name].filter(([x]) => x <= now).map(([, point]) => point);
      const plot = shape("svg", { class: "plot", viewBox: "0 0 100 24", height: "1.3rem", preserveAspectRatio: "none", role: "img",
        "aria-label": `${name} so far, ${value} of ${top[name]} at the end` },
        shape("line", { x1: 0, y1: 22.5, x2: 100, y2: 22.5 }), shape("polyline", { points: soFar.join(" ") }));
      const number = element("td", {}, element("span", { class: "value" }, String(value)));
      if (before && before[name] !== value) number.classList.add("changed");
      return element("tr", { "data-row": name }, element("th", { scope: "row" }, name), number, element("td", { class: "plot" }, plot));
    });
    body.replaceChildren(element("table", { class: "counters", "aria-label": panel.title }, element("tbody", {}, ...rows)));
  };
}

const RADIUS = 17; // of a node, less where they are many

function graphPanel(panel, body) {
  const { positions, edges, roles, directed } = panel.fixed;
  const place = layout(positions);
  const radius = Math.min(RADIUS, 0.42 * leastDistance(Object.values(place.at)));
  const roleNames = Object.keys(roles);
  const lines = edges.map(([u, v]) => {
    const [x1, y1] = place.at[u];
    const [x2, y2] = place.at[v];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const cut = directed ? (radius + 4) / length : 0;
    const line = shape("line", { class: "edge", x1, y1, x2: x2 - cut * (x2 - x1), y2: y2 - cut * (y2 - y1) });
    if (directed) line.setAttribute("marker-end", `url(#arrow-${panel.id})`);
    return line;
  });
  const nodes = {};
  for (const [name, [x, y]] of Object.entries(place.at)) {
    nodes[name] = {
      letter: shape("text", { class: "letter", x: x + radius + 5, y: y - radius + 3 }),
      note: shape("text", { class: "note", x, y: y + radius + 10 }),
      group: shape("g", { class: "node", "data-node": name }, shape("circle", { cx: x, cy: y, r: radius }), shape("text", { class: "id", x, y }, name)),
    };
    nodes[name].group.append(nodes[name].letter, nodes[name].note);
  }
  const picture = shape("svg", { viewBox: `0 0 ${place.width} ${place.height}`, role: "img", class: panel.fixed.faint ? "faint" : "" });
  if (directed) {
    picture.append(shape("defs", {}, shape("marker", { id: `arrow-${panel.id}`, viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 5, markerHeight: 5,
      markerUnits: "userSpaceOnUse", orient: "auto" }, shape("path", { class: "arrow", d: "M0,0L6,3L0,6z" }))));
  }
  picture.append(...lines, ...Object.values(nodes).map((n) => n.group));
  const legend = element("ul", { class: "legend", "aria-label": "Legend" }, ...Object.values(roles).map(([letter, label], i) =>
    element("li", { class: `r${i}` }, element("b", {}, letter), ` ${label}`)));
  body.replaceChildren(picture, legend);
  const key = ([u, v]) => (directed ? `${u} ${v}` : [u, v].sort().join(" "));
  return (state, before) => {
    const used = new Set(state.edges.map(key));
    edges.forEach((edge, i) => {
      lines[i].classList.toggle("used", used.has(key(edge)));
      lines[i].dataset.edge = edge.join(" ");
    });
    const said = {};
    for (const [name, node] of Object.entries(nodes)) {
      const role = state.roles[name];
      node.group.setAttribute("class", role === undefined ? "node" : `node r${roleNames.indexOf(role)}`);
      node.letter.textContent = role === undefined ? "" : roles[role][0];
      node.note.textContent = state.notes[name] || "";
      if (before && before.roles[name] !== role) node.group.classList.add("changed");
      if (role !== undefined) (said[roles[role][1]] = said[roles[role][1]] || []).push(name);
    }
    picture.setAttribute("aria-label", ["Graph", ...Object.entries(said).map(([label, list]) => `${label}: ${list.join(", ")}`)].join("; "));
  };
}

function leastDistance(points) {
  let least = Infinity;
  points.forEach(([x, y], i) => points.slice(0, i).forEach(([u, v]) => (least = Math.min(least, Math.hypot(x - u, y - v)))));
  return least;
}

function layout(positions) {
  const xs = Object.values(positions).map(([x]) => x);
  const ys = Object.values(positions).map(([, y]) => y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const width = 400;
  const tall = (Math.max(...ys) - top) / (Math.max(...xs) - left || 1);
  const height = Math.min(224, 76 + 300 * tall);
  const [padX, padY] = [34, 30];
  const scaleX = (width - 2 * padX) / (Math.max(...xs) - left || 1);
  const scaleY = (height - 2 * padY) / (Math.max(...ys) - top || 1);
  const at = {};
  for (const [name, [x, y]] of Object.entries(positions)) {
    at[name] = [padX + scaleX * (x - left), padY - 4 + scaleY * (y - top)];
  }
  return { at, width, height };
}

const KINDS = { array: arrayPanel, table: tablePanel, counters: countersPanel, graph: graphPanel };
