"use strict";
// Draws the steps of a trace that was recorded before: see refimpl/lab/apps/stepper/page.py. Text only
// ever enters the page as text, so nothing in the data can become markup.

const trace = JSON.parse(document.getElementById("trace").textContent);
const SVG = "http://www.w3.org/2000/svg";
const EMPTY = "·";
const WIDTH = { wide: 41, half: 20 }; // rem for the cells of an array
const GROUPS = 8; // colours
const byId = (id) => document.getElementById(id);
const steps = trace.steps;
let now = -1;
let timer = null;

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

// ----------------------------------------------------------------------------- light and dark

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = new URLSearchParams(location.search).get("theme");

function showTheme() {
  const dark = theme === "dark" || (theme !== "light" && prefersDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

prefersDark.addEventListener("change", showTheme);
window.addEventListener("message", (event) => {
  // from the page that this one is embedded in, which says which of its themes is chosen
  if (event.source !== window.parent || typeof event.data !== "object" || event.data === null) return;
  if (!["light", "dark", "auto"].includes(event.data.theme)) return;
  theme = event.data.theme;
  showTheme();
});
showTheme();
if (window.parent !== window) window.parent.postMessage({ stepper: trace.name }, "*");

// ---------------------------------------------------------------------------------- the code

const functionBodies = trace.functions.map((f) =>
  f.lines.map((line) => {
    const indent = line.text.length - line.text.trimStart().length;
    const code = element("code", {}, line.text.trimStart());
    code.style.paddingLeft = `${indent + 2}ch`; // what does not fit goes on two to the right
    code.style.textIndent = "-2ch";
    if (line.errata.length) code.append(element("span", { class: "errata" }, `  ${line.errata.join("; ")}`));
    return element("tr", { "data-line": line.number }, element("th", { scope: "row" }, line.paper), element("td", {}, code));
  })
);
let shownFunction = -1;

function drawCode(step) {
  const f = trace.functions[step.function];
  if (shownFunction !== step.function) {
    shownFunction = step.function;
    byId("function").textContent = f.name;
    byId("algorithm").textContent = f.algorithm;
    byId("file").textContent = f.file;
    byId("summary").textContent = f.summary;
    byId("lines").replaceChildren(...functionBodies[step.function]);
  }
  const outer = callerOf(now);
  byId("caller").replaceChildren();
  if (outer) {
    const [name, line] = outer;
    const paper = line.paper ? `, line ${line.paper} of the paper` : "";
    byId("caller").append(`called in ${name}${paper}: `, element("code", {}, line.text.trim()));
  }
  const current = [];
  for (const row of byId("lines").rows) {
    const number = Number(row.dataset.line);
    const isNow = step.first <= number && number <= step.last;
    row.classList.toggle("now", isNow);
    if (isNow) current.push(row);
    row.removeAttribute("aria-current");
  }
  if (current.length) {
    current[0].setAttribute("aria-current", "step");
    intoView(byId("code"), current[0], current[current.length - 1]);
  }
}

function callerOf(index) {
  const { depth } = steps[index];
  while (index >= 0 && steps[index].depth >= depth) index -= 1;
  if (index < 0) return null;
  const { name, lines } = trace.functions[steps[index].function];
  return [shortName(name), lines.find((line) => line.number === steps[index].first)];
}

function shortName(name) {
  return name.replace(/\.__init__$/, "");
}

function intoView(pane, first, last) {
  const box = pane.getBoundingClientRect();
  const top = first.getBoundingClientRect().top - box.top;
  const bottom = last.getBoundingClientRect().bottom - box.top;
  if (top < 0 || bottom > pane.clientHeight) {
    pane.scrollTop += (top + bottom - pane.clientHeight) / 2;
  }
}

// -------------------------------------------------------------------------------- the panels

function cellOf(tag, [value, group, mark], before, hasMarks, attributes = {}) {
  const made = element(tag, attributes, element("span", { class: "value" }, valueText(value)));
  if (hasMarks) made.append(element("span", { class: "mark" }, mark));
  if (group !== null) made.classList.add(`g${group % GROUPS}`);
  if (before === undefined || before === null || !same(before[0], value) || (mark && mark !== before[2])) {
    made.classList.add("changed");
  }
  return made;
}

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
  const most = Math.max(1, Math.floor(((panel.wide ? WIDTH.wide : WIDTH.half) - labelWidth) / cellWidth));
  body.style.setProperty("--label", `${labelWidth}rem`);
  body.style.setProperty("--cell", `${cellWidth}rem`);
  return (state, before) => {
    const old = new Map(before || []);
    const length = Math.max(0, ...state.map(([, cells]) => cells.length));
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

const RADIUS = 17;

function graphPanel(panel, body) {
  const { positions, edges, roles, directed } = panel.fixed;
  const place = layout(positions);
  const roleNames = Object.keys(roles);
  const lines = edges.map(([u, v]) => {
    const [x1, y1] = place.at[u];
    const [x2, y2] = place.at[v];
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const cut = directed ? (RADIUS + 4) / length : 0;
    const line = shape("line", { class: "edge", x1, y1, x2: x2 - cut * (x2 - x1), y2: y2 - cut * (y2 - y1) });
    if (directed) line.setAttribute("marker-end", `url(#arrow-${panel.id})`);
    return line;
  });
  const nodes = {};
  for (const [name, [x, y]] of Object.entries(place.at)) {
    nodes[name] = {
      letter: shape("text", { class: "letter", x: x + RADIUS + 5, y: y - RADIUS + 3 }),
      note: shape("text", { class: "note", x, y: y + RADIUS + 10 }),
      group: shape("g", { class: "node", "data-node": name }, shape("circle", { cx: x, cy: y, r: RADIUS }), shape("text", { class: "id", x, y }, name)),
    };
    nodes[name].group.append(nodes[name].letter, nodes[name].note);
  }
  const picture = shape("svg", { viewBox: `0 0 ${place.width} ${place.height}`, role: "img" });
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

function layout(positions) {
  const xs = Object.values(positions).map(([x]) => x);
  const ys = Object.values(positions).map(([, y]) => y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const width = 400;
  const height = 224;
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
const panels = trace.panels.map((panel, index) => {
  const body = element("div", { class: "body" });
  const help = element("p", { class: "sr", id: `help-${panel.id}` }, panel.help);
  const section = element("section", { class: `panel ${panel.kind}-panel ${panel.wide ? "wide" : ""}`, "data-panel": panel.id, "aria-labelledby": `title-${panel.id}`,
    "aria-describedby": `help-${panel.id}` }, element("h3", { id: `title-${panel.id}`, title: panel.help }, panel.title), help, body);
  byId("panels").append(section);
  const draw = KINDS[panel.kind](panel, body, index);
  const nothing = panel.kind === "graph" ? { roles: {}, notes: {}, edges: [] } : null;
  return (state, before) => {
    body.classList.toggle("waiting", state === undefined);
    if (state !== undefined || nothing) draw(state || nothing, before || nothing);
    else body.replaceChildren(element("p", { class: "none" }, "not there yet"));
  };
});

function stateOf(index, panel) {
  return index < 0 ? undefined : trace.panels[panel].states[steps[index].panels[panel]];
}

// --------------------------------------------------------------------------------- the steps

function go(index) {
  index = Math.max(0, Math.min(steps.length - 1, index));
  if (index === now) return;
  now = index;
  const step = steps[now];
  drawCode(step);
  panels.forEach((draw, panel) => draw(stateOf(now, panel), stateOf(now - 1, panel)));
  byId("where").textContent = `Step ${now + 1} of ${steps.length}: ${step.where}.`;
  byId("news").textContent = step.said;
  byId("count").textContent = `${now + 1} of ${steps.length}`;
  const slider = byId("slider");
  slider.value = now + 1;
  slider.setAttribute("aria-valuetext", `${now + 1} of ${steps.length}, ${step.where}`);
  byId("calls").value = String(callBefore(now));
  for (const id of ["first", "back"]) byId(id).setAttribute("aria-disabled", String(now === 0));
  for (const id of ["last", "forward"]) byId(id).setAttribute("aria-disabled", String(now === steps.length - 1));
  document.body.dataset.step = String(now);
  if (now === steps.length - 1) pause();
}

function callBefore(index) {
  while (index > 0 && steps[index].event !== "call") index -= 1;
  return index;
}

function nextChange(direction) {
  let index = now + direction;
  while (index > 0 && index < steps.length - 1 && same(steps[index].panels, steps[index - 1].panels)) index += direction;
  return index;
}

function play() {
  if (now === steps.length - 1) go(0);
  byId("said").setAttribute("aria-live", "off"); // a screen reader could not keep up
  byId("play").textContent = "Pause";
  byId("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => go(now + 1), Number(byId("speed").value));
}

function pause() {
  if (timer === null) return;
  clearInterval(timer);
  timer = null;
  byId("said").setAttribute("aria-live", "polite");
  byId("play").textContent = "Play";
  byId("play").setAttribute("aria-pressed", "false");
}

function chosen(index) {
  pause();
  go(index);
}

const KEYS = {
  ArrowRight: () => chosen(now + 1),
  ArrowLeft: () => chosen(now - 1),
  Home: () => chosen(0),
  End: () => chosen(steps.length - 1),
  PageDown: () => chosen(nextChange(1)),
  PageUp: () => chosen(nextChange(-1)),
  " ": () => (timer === null ? play() : pause()),
  Escape: () => byId("about").removeAttribute("open"),
};

document.addEventListener("keydown", (event) => {
  const own = event.target.closest("select, summary, button, input");
  const typed = event.key === " " && own; // it presses what has the focus
  const lists = own && own.tagName === "SELECT";
  if (!(event.key in KEYS) || typed || lists || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  KEYS[event.key]();
});

byId("first").addEventListener("click", () => chosen(0));
byId("back").addEventListener("click", () => chosen(now - 1));
byId("play").addEventListener("click", KEYS[" "]);
byId("forward").addEventListener("click", () => chosen(now + 1));
byId("last").addEventListener("click", () => chosen(steps.length - 1));
byId("slider").max = steps.length;
byId("slider").addEventListener("input", () => chosen(Number(byId("slider").value) - 1));
byId("calls").addEventListener("change", () => chosen(Number(byId("calls").value)));
byId("speed").addEventListener("change", () => {
  if (timer !== null) {
    pause();
    play();
  }
});
steps.forEach((step, index) => {
  if (step.event !== "call") return;
  const name = shortName(trace.functions[step.function].name).split(".").pop();
  const text = `${index + 1} ${name}`;
  byId("calls").append(element("option", { value: index }, text));
});
byId("about-text").textContent = `${trace.algorithms.join(", ")}. ${trace.about} Seed ${trace.seed}.`;
for (const panel of trace.panels) {
  byId("about-panels").append(element("dt", {}, panel.title), element("dd", {}, panel.help));
}

function stepOfAddress() {
  const number = Number(location.hash.slice(1)); // page.html#52 opens at step 52
  return Number.isInteger(number) && number > 0 ? number - 1 : 0;
}

window.addEventListener("hashchange", () => chosen(stepOfAddress()));
go(stepOfAddress());
