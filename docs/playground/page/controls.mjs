// A field for each setting: a slider with a number beside it, a list of choices, or text.

import { h } from "./dom.mjs";
import { SETTINGS, settings_of } from "./settings.mjs";

// Errors name an argument of a kernel; here it may have another name.
const ALIASES = {
  p: ["p_grad"],
  fanouts: ["fanout1", "fanout_roots"],
  ids: ["train"],
  roots: ["train"],
};

export class Controls {
  // `change` is called with the name of a setting and what was typed.
  constructor(change) {
    this.change = change;
    this.fields = Object.fromEntries(
      Object.entries(SETTINGS).map(([name, setting]) => [name, this.field(name, setting)]),
    );
    this.error = h("p", { class: "pg-error", role: "alert", id: "pg-error" });
    this.element = h(
      "div",
      { class: "pg-settings" },
      h("h3", {}, "Settings"),
      this.error,
      Object.values(this.fields).map(({ row }) => row),
    );
  }

  field(name, { label, kind, slider }) {
    const id = `pg-${name}`;
    const tag = h("label", { for: id }, label);
    if (Array.isArray(kind)) {
      const options = kind.map((one) => h("option", { value: one }, one));
      const input = h("select", { id, onchange: () => this.change(name, input.value) }, options);
      return { row: h("div", { class: "pg-field" }, tag, input), input, range: null };
    }
    const placeholder = { "integer or none": "none", scores: "at random" }[kind] ?? null;
    const numeric = kind === "integer" || kind === "real" || kind === "integer or none";
    const input = h("input", {
      id,
      type: "text",
      inputmode: numeric ? "decimal" : null,
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.typed(name),
    });
    const range = slider ? this.slider(name, label, slider, () => input) : null;
    return {
      row: h(
        "div",
        { class: `pg-field ${range ? "pg-slider" : ""} ${kind === "scores" ? "pg-wide" : ""}` },
        tag,
        range,
        input,
      ),
      input,
      range,
    };
  }

  slider(name, label, [min, max, step = 1], input) {
    const range = h("input", {
      type: "range",
      min,
      max,
      step,
      "aria-label": `${label}, slider`,
      oninput: () => {
        const { kind, zero } = SETTINGS[name];
        input().value =
          kind === "integer or none" && !zero && range.value === "0" ? "" : range.value;
        this.change(name, input().value);
      },
    });
    return range;
  }

  typed(name) {
    const { input } = this.fields[name];
    this.slide(name, input.value);
    this.change(name, input.value);
  }

  slide(name, text) {
    const { range } = this.fields[name];
    if (range) range.value = text.trim() === "" ? range.min : text;
    range?.setAttribute("aria-valuetext", text.trim() === "" ? "none" : text);
  }

  show({ run, set }, error) {
    const used = new Set(settings_of(run));
    const wrong = error ? error.message.split(" ")[0] : null;
    for (const [name, { row, input }] of Object.entries(this.fields)) {
      row.hidden = !used.has(name) || beyond_layers(name, set, run);
      if (input.value !== set[name]) input.value = set[name];
      this.slide(name, set[name]);
      const bad = wrong === name || ALIASES[wrong]?.includes(name);
      if (bad) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
      if (bad) input.setAttribute("aria-describedby", "pg-error");
      else input.removeAttribute("aria-describedby");
    }
    const text = error ? error.message : "";
    if (this.error.textContent !== text) this.error.textContent = text;
  }
}

// Whether a fan-out is of a layer that is not there.
function beyond_layers(name, { layers }, run) {
  return run === "neighbours" && /^fanout[23]$/.test(name) && Number(name.at(-1)) > Number(layers);
}
