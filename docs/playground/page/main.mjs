// The page: its parts, and what happens when something changes.

import { BrokenError, KindError, ValueError } from "../kernels/check.mjs";
import { AddressError, address_of, state_of } from "./address.mjs";
import { boards_of, iterations } from "./boards.mjs";
import { Canvas } from "./canvas.mjs";
import { Controls } from "./controls.mjs";
import { cost_table } from "./cost_table.mjs";
import { h } from "./dom.mjs";
import { GraphText } from "./graph_text.mjs";
import { GraphError } from "./graphs.mjs";
import { draw_samples, exact_law, histogram } from "./histogram.mjs";
import { marks_of } from "./marks.mjs";
import { python_of } from "./python.mjs";
import { run_of } from "./runs.mjs";
import { said_of } from "./said.mjs";
import { RUNS, opening } from "./settings.mjs";

const DRAWS = 10_000;

class Playground {
  constructor(root) {
    this.state = opening();
    this.tally = null;
    this.stop = null;
    this.controls = new Controls((name, text) =>
      this.change({ set: { ...this.state.set, [name]: text } }),
    );
    this.canvas = new Canvas(
      (graph) => this.change({ graph }),
      (graph) => this.change({ graph }, false),
      (text) => this.tell(text),
    );
    this.notice = h("p", { class: "pg-notice", role: "status" });
    this.make_runs();
    this.make_steps();
    this.graph_text = new GraphText((graph) => this.change({ graph }));
    this.make_draws();
    this.make_links();
    this.boards = h("div", { class: "pg-boards" });
    this.costs = h("section", { class: "pg-section", "aria-label": "What it cost" });
    const left = h("div", { class: "pg-left" }, this.canvas.element, this.steps, this.boards);
    const right = h("div", { class: "pg-right" }, this.controls.element, this.graph_text.element);
    root.replaceChildren(
      this.runs,
      this.about,
      this.notice,
      h("div", { class: "pg-columns" }, left, right),
      this.costs,
      this.draws,
      this.links,
    );
    // not location: an address that is about to be written may have come in between
    addEventListener("hashchange", (event) => this.open(new URL(event.newURL).hash));
    this.open(location.hash);
  }

  make_runs() {
    const radios = Object.entries(RUNS).map(([run, { title }]) => {
      const radio = h("input", {
        type: "radio",
        name: "pg-run",
        value: run,
        onchange: () => this.change({ run, step: 0 }),
      });
      return h("label", {}, radio, h("span", {}, title));
    });
    this.runs = h(
      "fieldset",
      { class: "pg-segments pg-runs" },
      h("legend", { class: "pg-sr" }, "What to run"),
      radios,
    );
    this.about = h("p", { class: "pg-about" });
  }

  make_steps() {
    const to = (step) => () =>
      this.change({ step: Math.min(Math.max(step(), 0), this.last) }, false);
    this.back = h(
      "button",
      { type: "button", "aria-label": "Step back", onclick: to(() => this.state.step - 1) },
      "◀",
    );
    this.forward = h(
      "button",
      { type: "button", "aria-label": "Step forward", onclick: to(() => this.state.step + 1) },
      "▶",
    );
    this.slider = h("input", {
      type: "range",
      min: 0,
      "aria-label": "Step",
      oninput: () => this.change({ step: Number(this.slider.value) }, false),
    });
    this.where = h("span", { class: "pg-where" });
    this.said = h("p", { class: "pg-said", role: "status" });
    this.steps = h(
      "div",
      { class: "pg-steps" },
      h("div", { class: "pg-stepping" }, this.back, this.slider, this.forward, this.where),
      this.said,
    );
  }

  make_draws() {
    this.draw = h(
      "button",
      { type: "button", onclick: () => this.start(DRAWS) },
      `Draw ${DRAWS.toLocaleString("en")} samples`,
    );
    this.halt = h(
      "button",
      { type: "button", disabled: true, onclick: () => this.halted() },
      "Stop",
    );
    const shows = [
      ["sets", "sets of nodes"],
      ["nodes", "nodes"],
    ].map(([show, label]) => {
      const radio = h("input", {
        type: "radio",
        name: "pg-show",
        value: show,
        onchange: () => this.change({ show }, false),
      });
      return h("label", {}, radio, h("span", {}, label));
    });
    this.shows = h(
      "fieldset",
      { class: "pg-segments" },
      h("legend", { class: "pg-sr" }, "Count"),
      shows,
    );
    this.progress = h("span", { class: "pg-where", role: "status" });
    this.histogram = h("div", {});
    const bar = h("div", { class: "pg-stepping" }, this.draw, this.halt, this.shows, this.progress);
    this.draws = h(
      "section",
      { class: "pg-section", "aria-label": "Many samples" },
      h("h3", {}, "Many samples and the exact law"),
      bar,
      this.histogram,
    );
  }

  make_links() {
    this.link = h("input", { id: "pg-link", type: "text", readonly: true });
    this.python = h("pre", { tabindex: 0, role: "region", "aria-label": "The same in Python" });
    const copies = (text) => (event) => this.copy(event.currentTarget, text());
    this.links = h(
      "section",
      { class: "pg-section", "aria-label": "Take it along" },
      h("h3", {}, "Take it along"),
      h(
        "div",
        { class: "pg-stepping" },
        h("label", { for: "pg-link" }, "link"),
        this.link,
        h("button", { type: "button", onclick: copies(() => this.link.value) }, "Copy link"),
      ),
      h(
        "div",
        { class: "pg-code" },
        h("h4", {}, "The same in Python"),
        this.python,
        h(
          "button",
          { type: "button", onclick: copies(() => this.python.textContent) },
          "Copy lines",
        ),
      ),
      h(
        "button",
        { type: "button", onclick: () => this.restore(opening()) },
        "Back to the course's run",
      ),
    );
  }

  async copy(button, text) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Mark and copy it yourself";
    }
    setTimeout(() => (button.textContent = label), 2000);
  }

  tell(text) {
    this.notice.textContent = text;
  }

  // Take up the state that the address names, if it names one.
  open(hash) {
    const address = hash.slice(1);
    if (address === this.address) return;
    if (!address.includes("=")) {
      if (this.address === undefined) this.restore(opening(), false);
      return;
    }
    try {
      this.restore(state_of(address));
    } catch (error) {
      if (!(error instanceof AddressError) && !(error instanceof GraphError)) throw error;
      this.restore(opening(), false);
      this.tell(
        `The address is not understood: ${error.message.replace(/\.$/, "")}. This is the course's run.`,
      );
    }
  }

  restore(state, told = true) {
    this.drop_draws();
    this.state = state;
    this.tell("");
    this.changed(true, told);
    if (state.drawn && this.result && state.run !== "cache") this.start(state.drawn);
  }

  change(part, anew = true) {
    if (anew) this.drop_draws();
    this.state = { ...this.state, ...part, ...(anew ? { drawn: 0 } : {}) };
    if ("graph" in part) this.graph_text.error.textContent = "";
    this.tell("");
    this.changed(anew, true);
  }

  // Work out and show the state: all of it, or only the step and what is counted.
  changed(anew, told) {
    let error = null;
    try {
      this.result = run_of(this.state);
      this.state = { ...this.state, step: this.result.step };
    } catch (problem) {
      if (![ValueError, KindError, BrokenError].some((kind) => problem instanceof kind))
        throw problem;
      this.result = null;
      error = problem;
    }
    if (anew)
      this.law =
        this.result && this.state.run !== "cache"
          ? exact_law(this.state)
          : { law: null, why: null };
    this.show(error);
    if (told) this.write_address();
  }

  show(error) {
    const { state, result } = this;
    this.about.textContent = RUNS[state.run].about;
    for (const radio of this.runs.querySelectorAll("input"))
      radio.checked = radio.value === state.run;
    for (const radio of this.shows.querySelectorAll("input"))
      radio.checked = radio.value === state.show;
    this.controls.show(state, error);
    this.canvas.show(state.graph, marks_of(result));
    this.graph_text.show(state.graph);
    this.show_step();
    this.boards.replaceChildren(...boards_of(result));
    this.costs.hidden = !result || result.kind === "neighbours";
    this.costs.replaceChildren(...(result?.kind === "cache" ? iterations(result) : []));
    this.draws.hidden = state.run === "cache" || !result;
    this.show_draws();
    this.python.textContent = result ? python_of(state, result.values) : "";
    this.show_link();
  }

  get last() {
    return this.result?.last ?? 0;
  }

  show_step() {
    const { step } = this.state;
    this.slider.max = this.last;
    this.slider.value = step;
    this.slider.disabled = !this.last;
    this.back.disabled = step <= 0;
    this.forward.disabled = step >= this.last;
    const unit = { neighbours: "hop", cache: "iteration" }[this.state.run] ?? "step";
    this.where.textContent = this.result ? `${unit} ${step} of ${this.last}` : "";
    this.slider.setAttribute("aria-valuetext", this.where.textContent);
    this.said.textContent = this.result
      ? said_of(this.result)
      : "Nothing is sampled: a setting is out of range.";
  }

  show_draws() {
    const { state, result, tally } = this;
    if (!result || state.run === "cache") {
      this.histogram.replaceChildren();
      return;
    }
    this.histogram.replaceChildren(...histogram(state, this.law, tally));
    if (result.kind === "sampler") {
      this.costs.replaceChildren(
        h("h3", {}, "What it cost"),
        ...cost_table(state, result, tally?.sums ?? null, tally?.drawn ?? 0),
      );
    }
  }

  start(wanted) {
    this.drop_draws();
    this.halt.disabled = false;
    let shown = 0;
    this.stop = draw_samples(this.state, wanted, (tally, over) => {
      this.tally = tally;
      if (over) this.halted();
      else if (performance.now() - shown > 200) {
        shown = performance.now();
        this.progress.textContent = `${tally.drawn.toLocaleString("en")} of ${wanted.toLocaleString("en")}`;
        this.show_draws();
      }
    });
  }

  // Stop drawing, and keep what there is.
  halted() {
    const { tally } = this;
    this.drop_draws();
    this.tally = tally;
    this.state = { ...this.state, drawn: tally?.drawn ?? 0 };
    this.show_draws();
    this.show_link();
    this.write_address();
  }

  drop_draws() {
    this.stop?.();
    this.stop = this.tally = null;
    this.halt.disabled = true;
    this.progress.textContent = "";
  }

  show_link() {
    this.link.value = `${location.href.split("#")[0]}#${address_of(this.state)}`;
  }

  // Browsers refuse an address that changes at each move of a slider: it changes a little later.
  write_address() {
    clearTimeout(this.writing);
    this.writing = setTimeout(() => {
      this.address = address_of(this.state);
      history.replaceState(null, "", `#${this.address}`);
    }, 150);
  }
}

const root = document.getElementById("pg");
if (root) window.playground = new Playground(root);
