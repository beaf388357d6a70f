"use strict";
// Slides are the sections of the page: one is shown at a time where the window is wide enough.
// Two windows of a deck, the room's and the speaker's, tell each other where they are.

const root = document.documentElement;
const slides = [...document.querySelectorAll(".slide")];
const parts = [...document.querySelectorAll(".part")];
const query = new URLSearchParams(location.search);
const speaking = query.has("speaker");
const wide = matchMedia("(min-width: 900px) and (min-height: 450px)");
const KEYS = [
  ["→, Space, Page Down", "next: an answer that is folded, or the next slide"],
  ["←, Page Up", "back"],
  ["Home, End", "first and last slide"],
  ["12 Enter", "slide 12"],
  ["o", "overview of all slides; arrows and Enter choose"],
  ["s", "speaker's window: notes, next slide, clock"],
  ["r", "sets the speaker's clock to zero"],
  ["f", "full screen"],
  ["d", "dark or light"],
  ["?", "this help"],
  ["Esc", "closes what is open"],
];
let at = 0; // the current slide, from 0
let other = speaking ? window.opener : null; // the other window of this deck
let typed = "";
let began = null; // when the speaker left the first slide

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const status = make("p", { className: "status hidden-words" });
status.setAttribute("role", "status");
const bubble = make("p", { className: "typed" });
bubble.setAttribute("aria-hidden", "true");
const help = make("dialog", {}, make("h2", { textContent: "Keys" }));
help.setAttribute("aria-label", "Keys");
const clock = make("aside", { className: "clock" });
clock.setAttribute("aria-label", "Clock");
const count = make("span", { className: "count" });
const foot = make("nav", { className: "bar-foot" });
foot.setAttribute("aria-label", "Parts");

const folded = (slide) => [...slide.querySelectorAll("details:not(.notes)")];
const presenting = () => root.classList.contains("present");
const overview = () => root.classList.contains("overview");
const titleOf = (slide) => slide.querySelector("h1, h3").textContent;
const minutesOf = (part) => Number(part.querySelector(".minutes").dataset.minutes);
const partOf = (slide) => parts.findIndex((part) => part.contains(slide));

// Where an address leads: #12, or the name of a heading.
function placeOf(hash) {
  const name = decodeURIComponent(hash.slice(1));
  if (/^\d+$/.test(name)) return Math.min(Math.max(Number(name), 1), slides.length) - 1;
  const target = name && document.getElementById(name);
  const slide = target && (target.closest(".slide") || target.querySelector(".slide"));
  return slide ? slides.indexOf(slide) : 0;
}

function show(index, { tell = true } = {}) {
  at = Math.min(Math.max(index, 0), slides.length - 1);
  slides.forEach((slide, i) => {
    slide.classList.toggle("current", i === at);
    slide.classList.toggle("next", i === at + 1);
  });
  drawProgress();
  if (!presenting()) return;
  history.replaceState(null, "", `#${at + 1}`);
  if (overview()) slides[at].querySelector(".choose").focus();
  else if (!help.open) slides[at].focus({ preventScroll: true });
  say(`Slide ${at + 1} of ${slides.length}: ${titleOf(slides[at])}`);
  if (at > 0 && began === null) began = Date.now();
  if (tell) report();
  tick();
}

function say(words) {
  status.textContent = words;
}

let known = ""; // what both windows show, as far as this one knows

function shown() {
  return JSON.stringify([at, folded(slides[at]).map((fold) => fold.open)]);
}

function report() {
  const open = folded(slides[at]).map((fold) => fold.open);
  known = shown();
  if (other && !other.closed) other.postMessage({ deck: root.dataset.deck, at, open }, "*");
}

function follow(event) {
  const { deck, at: index, open } = event.data || {};
  if (deck !== root.dataset.deck || !event.source || event.source !== other) return;
  if (!Number.isInteger(index)) return report(); // the other has just opened, and asks
  if (index !== at) show(index, { tell: false });
  folded(slides[at]).forEach((fold, i) => { fold.open = Boolean(open && open[i]); });
  known = shown(); // the folds tell of it later, when the other may be further on
}

function forward() {
  const fold = folded(slides[at]).find((one) => !one.open);
  if (!fold) return show(at + 1);
  fold.open = true;
  say(fold.querySelector(".inside").innerText);
  report();
}

function drawProgress() {
  [...foot.children].forEach((link, i) => {
    const own = [...parts[i].querySelectorAll(".slide")];
    const done = own.filter((slide) => slides.indexOf(slide) <= at).length / own.length;
    link.style.setProperty("--done", done);
    if (own.includes(slides[at])) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
  });
  count.textContent = `${at + 1} / ${slides.length}`;
}

// The minute at which a slide should begin: parts have minutes, their slides share them.
function plannedMinute(index) {
  const mine = partOf(slides[index]);
  if (mine < 0) return 0;
  const own = [...parts[mine].querySelectorAll(".slide")];
  const before = parts.slice(0, mine).reduce((sum, part) => sum + minutesOf(part), 0);
  return before + (minutesOf(parts[mine]) * own.indexOf(slides[index])) / own.length;
}

function tick() {
  if (!speaking) return;
  const gone = began === null ? 0 : (Date.now() - began) / 60000;
  const planned = plannedMinute(at);
  const late = Math.round(gone - planned);
  const mine = partOf(slides[at]);
  const state = late > 1 ? `${late} minutes late` : late < -1 ? `${-late} minutes early` : "on time";
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  clock.replaceChildren(
    make("strong", { textContent: `${two(gone)}:${two((gone % 1) * 60)}` }),
    make("p", { textContent: `This slide begins at minute ${Math.round(planned)}: ${state}.` }),
    make("p", { textContent: mine < 0 ? "" :
      `Part ${mine + 1} of ${parts.length}, ${parts[mine].querySelector("h2").textContent}: ` +
      `${minutesOf(parts[mine])} minutes.` }),
    make("p", { textContent: new Date().toTimeString().slice(0, 5) }),
  );
}

function openSpeaker() {
  if (other && !other.closed) return other.focus();
  const address = `${location.href.replace(/[?#].*/, "")}?speaker#${at + 1}`;
  other = window.open(address, `speaker-${root.dataset.deck}`, "popup,width=1280,height=800");
  say(other ? "The speaker's window is open" : "The browser did not open the speaker's window");
}

function setOverview(on) {
  root.classList.toggle("overview", on);
  for (const slide of slides) slide.querySelectorAll(":scope > :not(.choose)").forEach((node) => { node.inert = on; });
  say(on ? "Overview of all slides" : "");
  if (on) slides[at].scrollIntoView({ block: "center" });
  show(at);
}

function setTheme() {
  const dark = getComputedStyle(document.body).colorScheme === "dark" ||
    (document.body.dataset.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.body.dataset.theme = dark ? "light" : "dark";
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen();
}

const ACTIONS = {
  ArrowRight: forward, " ": forward, PageDown: forward, ArrowDown: forward,
  ArrowLeft: () => show(at - 1), PageUp: () => show(at - 1), ArrowUp: () => show(at - 1),
  Home: () => show(0), End: () => show(slides.length - 1),
  o: () => setOverview(!overview()), s: openSpeaker, f: fullScreen, d: setTheme,
  "?": () => help.showModal(), r: () => { began = Date.now(); tick(); },
};
const IN_OVERVIEW = {
  ArrowRight: () => show(at + 1), ArrowDown: () => show(at + 4), ArrowUp: () => show(at - 4),
  " ": () => setOverview(false), Enter: () => setOverview(false), Escape: () => setOverview(false),
};

function press(event) {
  if (!presenting() || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const { key, target } = event;
  if (target.closest("input, textarea, select, iframe")) return;
  if ((key === " " || key === "Enter") && target.closest("a, button, summary")) return;
  if (/^\d$/.test(key)) {
    typed = (typed + key).slice(0, 3);
  } else if (typed && key === "Enter") {
    show(Number(typed) - 1);
    typed = "";
  } else {
    typed = "";
    const action = (overview() && IN_OVERVIEW[key]) || ACTIONS[key];
    if (!action) return drawTyped();
    action();
  }
  drawTyped();
  event.preventDefault();
}

function drawTyped() {
  bubble.textContent = typed;
}

function swipes() {
  let start = null;
  addEventListener("touchstart", (event) => {
    start = presenting() && !overview() && event.touches.length === 1 ? event.touches[0] : null;
  }, { passive: true });
  addEventListener("touchend", (event) => {
    if (!start) return;
    const [end] = event.changedTouches;
    const [x, y] = [end.clientX - start.clientX, end.clientY - start.clientY];
    if (Math.abs(x) > 50 && Math.abs(x) > 2 * Math.abs(y)) (x < 0 ? forward : ACTIONS.ArrowLeft)();
    start = null;
  }, { passive: true });
}

function button(words, name, action) {
  const made = make("button", { textContent: words, title: name, type: "button" });
  made.setAttribute("aria-label", name);
  made.addEventListener("click", action);
  return made;
}

function build() {
  const list = make("dl");
  for (const [key, words] of KEYS) list.append(make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: words }));
  help.append(list, make("form", { method: "dialog" }, make("button", { textContent: "Close" })));
  for (const part of parts) {
    const title = part.querySelector("h2").textContent;
    const link = make("a", { href: `#${slides.indexOf(part.querySelector(".slide")) + 1}` });
    link.style.setProperty("--minutes", minutesOf(part));
    link.title = `${title}, ${minutesOf(part)} minutes`;
    link.append(make("span", { className: "hidden-words", textContent: link.title }));
    foot.append(link);
  }
  slides.forEach((slide, i) => {
    slide.tabIndex = -1;
    slide.setAttribute("role", "group");
    slide.setAttribute("aria-roledescription", "slide");
    slide.setAttribute("aria-label", `${i + 1}: ${titleOf(slide)}`);
    const choose = make("a", { className: "choose", href: `#${i + 1}`});
    choose.setAttribute("aria-label", `Slide ${i + 1}: ${titleOf(slide)}`);
    choose.addEventListener("click", (event) => { event.preventDefault(); at = i; setOverview(false); });
    slide.append(choose);
  });
  const controls = make("div", { className: "controls" },
    button("‹", "Back", () => show(at - 1)), count, button("›", "Next", forward),
    button("▦", "Overview", () => setOverview(!overview())), button("?", "Keys", () => help.showModal()));
  document.body.append(controls, foot, clock, bubble, help, status);
}

function openForPaper() {
  for (const fold of document.querySelectorAll("details")) fold.dataset.was = fold.open, fold.open = true;
}

function closeAfterPaper() {
  for (const fold of document.querySelectorAll("details")) fold.open = fold.dataset.was === "true";
}

build();
root.classList.toggle("speaker", speaking);
root.classList.toggle("with-notes", query.has("notes"));
if (speaking) for (const notes of document.querySelectorAll("details.notes")) notes.open = true;
addEventListener("keydown", press);
addEventListener("message", follow);
addEventListener("beforeprint", openForPaper);
addEventListener("afterprint", closeAfterPaper);
addEventListener("hashchange", () => presenting() && placeOf(location.hash) !== at && show(placeOf(location.hash)));
document.addEventListener("toggle", () => { focusable(); if (presenting() && shown() !== known) report(); }, true);
swipes();
function fit() {
  root.classList.toggle("present", speaking || wide.matches);
  if (!presenting()) setOverview(false);
  show(presenting() ? placeOf(location.hash) : at);
  focusable();
}
// What scrolls by itself must be reached by keys.
function focusable() {
  for (const node of document.querySelectorAll(".slide :is(table, pre, .math-block)")) {
    if (node.scrollWidth > node.clientWidth) node.tabIndex = 0;
    else node.removeAttribute("tabindex");
  }
}
wide.addEventListener("change", fit);
addEventListener("resize", focusable);
fit();
setInterval(tick, 1000);
if (speaking && other) other.postMessage({ deck: root.dataset.deck }, "*");
