// The graph as text: examples to begin with, a number of nodes, and edges to paste.

import { h } from "./dom.mjs";
import { EXAMPLES, GraphError, edges_text, graph_of, parse_edges } from "./graphs.mjs";

export class GraphText {
  // `change` is called with a new graph.
  constructor(change) {
    this.change = change;
    const examples = Object.keys(EXAMPLES).map((name) => h("option", { value: name }, name));
    const take_example = { id: "pg-example", onchange: () => this.take_example() };
    this.example = h("select", take_example, h("option", { value: "" }, "choose .."), examples);
    const plain = { autocomplete: "off", spellcheck: "false" };
    this.nodes = h("input", { id: "pg-nodes", type: "text", inputmode: "numeric", ...plain });
    this.edges = h("textarea", { id: "pg-edges", rows: 3, ...plain });
    this.error = h("p", { class: "pg-error", role: "alert" });
    this.element = h(
      "div",
      { class: "pg-settings pg-graph-text" },
      h("h3", {}, "Graph"),
      this.field("an example", this.example),
      this.field("nodes, at least", this.nodes),
      this.field("edges, such as 0-1 1-2, or two numbers a line", this.edges, "pg-wide"),
      h("button", { type: "button", onclick: () => this.take_text() }, "Use these edges"),
      this.error,
    );
  }

  field(label, input, more = "") {
    return h("div", { class: `pg-field ${more}` }, h("label", { for: input.id }, label), input);
  }

  take_example() {
    const make = EXAMPLES[this.example.value];
    if (make) this.change(make());
    this.example.value = "";
  }

  take_text() {
    try {
      const n = this.nodes.value.trim() === "" ? 0 : Number(this.nodes.value);
      if (!Number.isInteger(n) || n < 0) {
        throw new GraphError("The number of nodes must be a whole number.");
      }
      this.change(graph_of(n, parse_edges(this.edges.value)));
    } catch (error) {
      if (!(error instanceof GraphError)) throw error;
      this.error.textContent = error.message;
    }
  }

  show(graph) {
    this.nodes.value = graph.n;
    this.edges.value = edges_text(graph);
  }
}
