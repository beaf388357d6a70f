// The steps of a trace that was recorded before: see refimpl/lab/apps/stepper/page.py. Behind page.panels.js.

// ----------------------------------------------------------------------------- light and dark

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let theme = new URLSearchParams(location.search).get("theme");

function showTheme() {
  const dark = theme === "dark" || (theme !== "light" && prefersDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

prefersDark.addEventListener("change", showTheme);
const announce = () => window.parent.postMessage({ stepper: trace.name }, "*");

window.addEventListener("message", (event) => {
  // from the page that this one is embedded in, which says which of its themes is chosen
  if (event.source !== window.parent || typeof event.data !== "object" || event.data === null) return;
  if (event.data.who) announce(); // a page whose script runs after this one
  if (Number.isInteger(event.data.step)) chosen(event.data.step - 1); // a link to a step
  if (!["light", "dark", "auto"].includes(event.data.theme)) return;
  theme = event.data.theme;
  showTheme();
});
showTheme();
if (window.parent !== window) announce();

// ---------------------------------------------------------------------------------- the code

const functionBodies = trace.functions.map((f) =>
  f.lines.map((line) => {
    const indent = line.text.length - line.text.trimStart().length;
    const parts = line.text.trimStart().split(/(?<=[.,([]|\w=(?=\w))/); // it may break there, not in a word
    const code = element("code", {}, ...parts.flatMap((part) => [part, element("wbr")]));
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
  const head = pane.querySelector("h2").offsetHeight; // which stays at the top
  const top = first.getBoundingClientRect().top - box.top;
  const bottom = last.getBoundingClientRect().bottom - box.top;
  if (top >= head && bottom <= pane.clientHeight) return;
  const spare = (pane.clientHeight - head - (bottom - top)) / 2;
  pane.scrollTop += top - head - Math.max(0, spare); // what is too long is seen from its beginning
}

// -------------------------------------------------------------------------------- the panels

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

new ResizeObserver(() => drawPanels()).observe(byId("panels")); // rows of cells break anew

function drawPanels() {
  if (now >= 0) panels.forEach((draw, panel) => draw(stateOf(now, panel), stateOf(now - 1, panel)));
}

// --------------------------------------------------------------------------------- the steps

// A step tells something if a picture changes or a line of a paper has run. Without "every line" the
// others are stepped over, and all that come before the beginning; an address still opens one.
const all = [...steps.keys()];
const telling = all.filter((index) => index >= trace.begin && steps[index].telling);
const embedded = window.parent !== window;
let shown = telling;
let timer = null;

function position(index) {
  let low = 0;
  let high = shown.length; // how many of those shown are not behind the index
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shown[middle] <= index) low = middle + 1;
    else high = middle;
  }
  return low;
}

function beside(direction) {
  const at = position(now);
  const next = direction > 0 ? at : at - (shown[at - 1] === now ? 2 : 1);
  return shown[next] === undefined ? now : shown[next];
}

function go(index) {
  index = Math.max(0, Math.min(steps.length - 1, index));
  if (index === now) return;
  now = index;
  say(); // first: a longer sentence leaves less room for the code
  drawCode(steps[now]);
  drawPanels();
  showChanged();
}

// Where not all pictures fit, what changed comes into view.
function showChanged() {
  const pane = byId("panels");
  if (pane.scrollHeight <= pane.clientHeight) return;
  const box = pane.getBoundingClientRect();
  let changed = [...pane.querySelectorAll(".changed")];
  if (!changed.length) changed = [...pane.children].filter((panel, i) => !same(stateOf(now, i), stateOf(now - 1, i)));
  const boxes = changed.map((node) => node.getBoundingClientRect());
  if (!boxes.length || boxes.some(({ top, bottom }) => top >= box.top && bottom <= box.bottom)) return;
  const last = boxes[boxes.length - 1];
  pane.scrollTop += (last.top + Math.min(last.bottom, last.top + box.height) - box.top - box.bottom) / 2;
}

function say() {
  const step = steps[now];
  const at = Math.max(1, position(now));
  const count = `${at} of ${shown.length}`;
  const here = shown[at - 1] === now;
  byId("gist").textContent = step.gist;
  byId("where").textContent = `${here ? `Step ${count}` : `Beside step ${count}`}: ${step.where}.`;
  byId("news").textContent = step.said || (step.telling ? "" : "Nothing drawn changes.");
  byId("count").textContent = count;
  const slider = byId("slider");
  slider.max = shown.length;
  slider.value = at;
  slider.setAttribute("aria-valuetext", `${count}, ${step.where}`);
  byId("calls").value = String(callBefore(now));
  for (const id of ["first", "back"]) byId(id).setAttribute("aria-disabled", String(now <= shown[0]));
  for (const id of ["last", "forward"]) byId(id).setAttribute("aria-disabled", String(now >= shown[shown.length - 1]));
  document.body.dataset.step = String(now);
  if (now >= shown[shown.length - 1]) pause();
}

// The calls in which a step is shown, each with that step.
function calls() {
  const found = [];
  steps.forEach((step, index) => {
    const first = shown[position(index - 1)];
    if (step.event !== "call" || first === undefined) return;
    if (steps.slice(index, first + 1).some((inside) => inside.depth < step.depth)) return;
    if (found.length && found[found.length - 1].first === first) found.pop(); // a call in it comes first
    found.push({ first, name: shortName(trace.functions[step.function].name).split(".").pop() });
  });
  return found;
}

function listCalls() {
  byId("calls").replaceChildren(...calls().map(({ first, name }) =>
    element("option", { value: first }, `${position(first)} ${name}`)));
}

function callBefore(index) {
  const before = [...byId("calls").options].map((option) => Number(option.value)).filter((first) => first <= index);
  return before.length ? before[before.length - 1] : byId("calls").options[0].value;
}

function showEvery(every) {
  shown = every ? all : telling;
  listCalls();
  say();
}

function nextChange(direction) {
  let at = position(now) - 1;
  do at += direction; while (at > 0 && at < shown.length - 1 && same(steps[shown[at]].panels, steps[Math.max(0, shown[at] - 1)].panels));
  return shown[Math.max(0, Math.min(shown.length - 1, at))];
}

function play() {
  if (now >= shown[shown.length - 1]) go(shown[0]);
  byId("said").setAttribute("aria-live", "off"); // a screen reader could not keep up
  byId("play").textContent = "Pause";
  byId("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => go(beside(1)), Number(byId("speed").value));
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
  ArrowRight: () => chosen(beside(1)),
  ArrowLeft: () => chosen(beside(-1)),
  Escape: () => byId("about").removeAttribute("open"),
  " ": () => (timer === null ? play() : pause()),
};
if (!embedded) {
  // keys that scroll are those of the page around, where there is one
  Object.assign(KEYS, {
    Home: () => chosen(shown[0]),
    End: () => chosen(shown[shown.length - 1]),
    PageDown: () => chosen(nextChange(1)),
    PageUp: () => chosen(nextChange(-1)),
  });
}

document.addEventListener("keydown", (event) => {
  const own = event.target.closest("select, summary, button, input");
  const typed = event.key === " " && (own || embedded); // it presses what has the focus, or scrolls
  const lists = own && own.tagName === "SELECT";
  if (!(event.key in KEYS) || typed || lists || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  KEYS[event.key]();
});

byId("first").addEventListener("click", () => chosen(shown[0]));
byId("back").addEventListener("click", () => chosen(beside(-1)));
byId("play").addEventListener("click", KEYS[" "]);
byId("forward").addEventListener("click", () => chosen(beside(1)));
byId("last").addEventListener("click", () => chosen(shown[shown.length - 1]));
byId("slider").addEventListener("input", () => chosen(shown[Number(byId("slider").value) - 1]));
byId("every").addEventListener("change", () => {
  pause();
  showEvery(byId("every").checked);
});
byId("calls").addEventListener("change", () => chosen(Number(byId("calls").value)));
byId("speed").addEventListener("change", () => {
  if (timer !== null) {
    pause();
    play();
  }
});
byId("about-text").textContent = `${trace.algorithms.map((name) => `${name}. `).join("")}${trace.about} ${trace.seed === null ? "" : `Seed ${trace.seed}.`}`;
for (const panel of trace.panels) {
  byId("about-panels").append(element("dt", {}, panel.title), element("dd", {}, panel.help));
}
if (embedded) document.querySelectorAll(".alone").forEach((node) => node.remove());

function stepOfAddress() {
  const number = Number(location.hash.slice(1)); // page.html#52 opens at step 52 of every line
  return Number.isInteger(number) && number > 0 ? number - 1 : shown[0];
}

window.addEventListener("hashchange", () => chosen(stepOfAddress()));
listCalls();
go(stepOfAddress());
