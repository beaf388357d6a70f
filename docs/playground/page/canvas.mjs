// The graph as a drawing that can be edited, with a pointer or from the keyboard.

import { count, h, nodes_text, s } from "./dom.mjs";
import { HEIGHT, MOST_EDGES, MOST_NODES, WIDTH, drawn_graph } from "./graphs.mjs";

const TOOLS = { draw: "Draw", move: "Move", erase: "Erase" };
const HELP =
  "Draw: click to add a node, drag from node to node to add an edge. From the keyboard: arrow keys go from node to node, " +
  "Shift and an arrow moves one, Enter on two nodes in turn joins or parts them, N adds a node, Delete removes one.";

export class Canvas {
  // `edit` is called with a new graph, `move` with the same one at other places, and `tell` with what
  // was done.
  constructor(edit, move, tell) {
    Object.assign(this, { edit, move, tell, tool: "draw", focus: 0, from: null, drag: null });
    this.svg = s("svg", {
      class: "pg-canvas",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "group",
      "aria-roledescription": "graph editor",
    });
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.pull(event));
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointercancel", () => this.abandon());
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.legend = h("ul", { class: "pg-legend" });
    this.element = h("div", { class: "pg-graph" }, this.toolbar(), this.svg, this.legend);
  }

  toolbar() {
    const radios = Object.entries(TOOLS).map(([tool, label]) => {
      const radio = h("input", {
        type: "radio",
        name: "pg-tool",
        value: tool,
        checked: tool === "draw",
        onchange: () => (this.tool = tool),
      });
      return h("label", {}, radio, h("span", {}, label));
    });
    const help = h(
      "details",
      { class: "pg-help" },
      h("summary", {}, "How to draw"),
      h("p", {}, HELP),
    );
    return h(
      "div",
      { class: "pg-tools" },
      h("fieldset", { class: "pg-segments" }, h("legend", { class: "pg-sr" }, "Tool"), radios),
      help,
    );
  }

  // Show a graph. `marks` has a role and a note for each node, the edges that are used, the arrows of
  // this step, and a legend: [role, letter, meaning].
  show(graph, marks) {
    this.graph = graph;
    this.marks = marks;
    this.focus = Math.min(this.focus, graph.n - 1);
    const focused = this.svg.contains(document.activeElement);
    this.draw(graph.at);
    if (focused) this.node(this.focus).focus();
    this.svg.setAttribute(
      "aria-label",
      `Graph: ${count(graph.n, "node")}, ${count(graph.edges.length, "edge")}`,
    );
    this.legend.replaceChildren(
      ...marks.legend.map(([role, letter, meaning]) =>
        h("li", { class: `pg-${role}` }, h("b", {}, letter), ` ${meaning}`),
      ),
    );
  }

  draw(at) {
    const { graph, marks } = this;
    const radius = graph.n <= 14 ? 34 : graph.n <= 40 ? 24 : 14;
    this.radius = radius;
    this.svg.classList.toggle("pg-many", radius < 20);
    this.at = at;
    const used = new Set(marks.edges.map(([u, v]) => `${Math.min(u, v)}-${Math.max(u, v)}`));
    const edges = graph.edges.map(([u, v]) => this.edge(u, v, used.has(`${u}-${v}`)));
    const arrows = marks.arrows.filter(([u, v]) => u !== v).map(([u, v]) => this.arrow(u, v));
    const nodes = graph.at.map((_, v) => this.drawn_node(v));
    const notes = graph.at.map((_, v) => this.drawn_note(v)).filter(Boolean);
    this.rubber = s("line", { class: "pg-rubber", visibility: "hidden" });
    const tip = s(
      "marker",
      {
        id: "pg-tip",
        viewBox: "0 0 10 10",
        refX: 9,
        refY: 5,
        markerWidth: 4.5,
        markerHeight: 4.5,
        orient: "auto",
      },
      s("path", { d: "M0 0 10 5 0 10z" }),
    );
    this.svg.replaceChildren(
      s("defs", {}, tip),
      ...edges,
      ...arrows,
      this.rubber,
      ...nodes,
      ...notes,
    );
  }

  edge(u, v, used) {
    const [[x1, y1], [x2, y2]] = [this.at[u], this.at[v]];
    const r = this.radius;
    const d =
      u === v
        ? `M${x1 - r * 0.6} ${y1 - r * 0.6}C${x1 - r * 1.6} ${y1 - r * 2.9} ${x1 + r * 1.6} ${y1 - r * 2.9} ${x1 + r * 0.6} ${y1 - r * 0.6}`
        : `M${x1} ${y1}L${x2} ${y2}`;
    const shape = { d, "data-edge": `${u}-${v}` };
    return s(
      "g",
      { class: used ? "pg-edge pg-used" : "pg-edge" },
      s("path", { ...shape, class: "pg-reach" }),
      s("path", shape),
    );
  }

  // An arrow from u to v that ends at the rim of v.
  arrow(u, v) {
    const [[x1, y1], [x2, y2]] = [this.at[u], this.at[v]];
    const far = Math.hypot(x2 - x1, y2 - y1) || 1;
    const rim = (this.radius + 5) / far;
    const place = {
      x1: x1 + (x2 - x1) * rim,
      y1: y1 + (y2 - y1) * rim,
      x2: x2 - (x2 - x1) * rim,
      y2: y2 - (y2 - y1) * rim,
    };
    return s("line", { class: "pg-arrow", "marker-end": "url(#pg-tip)", ...place });
  }

  drawn_node(v) {
    const [x, y] = this.at[v];
    const { role, said } = this.marks.nodes[v] ?? { role: "", said: "" };
    const near = nodes_text(this.graph.csr.neighbours(v));
    const small = this.radius < 20;
    return s(
      "g",
      {
        class: `pg-node ${role ? `pg-${role}` : ""} ${this.from === v ? "pg-from" : ""}`,
        transform: `translate(${x} ${y})`,
        tabindex: v === this.focus ? 0 : -1,
        role: "button",
        "data-node": v,
        "aria-label": `Node ${v}${said ? `, ${said}` : ""}. Neighbours: ${near}.`,
      },
      s("circle", { r: this.radius }),
      s("text", { class: small ? "pg-small" : "" }, v),
    );
  }

  // Beside the node, not in it: what a button shows must be in its name.
  drawn_note(v) {
    const [x, y] = this.at[v];
    const note = this.marks.nodes[v]?.note;
    return note
      ? s("text", { class: "pg-note", x, y: y - this.radius - 14, "aria-hidden": "true" }, note)
      : null;
  }

  node(v) {
    return this.svg.querySelector(`[data-node="${v}"]`);
  }

  // Where on the drawing a pointer is.
  place(event) {
    const box = this.svg.getBoundingClientRect();
    const within = (value, most) => Math.round(Math.min(Math.max(value, 0), most));
    return [
      within(((event.clientX - box.left) / box.width) * WIDTH, WIDTH),
      within(((event.clientY - box.top) / box.height) * HEIGHT, HEIGHT),
    ];
  }

  under(event) {
    const found = document.elementFromPoint(event.clientX, event.clientY);
    const node = found?.closest("[data-node]"),
      edge = found?.closest("[data-edge]");
    return {
      node: node && this.svg.contains(node) ? Number(node.dataset.node) : null,
      edge: edge?.dataset.edge ?? null,
    };
  }

  press(event) {
    if (event.button > 0) return;
    const { node, edge } = this.under(event);
    this.drag = { node, edge, start: this.place(event), left: false };
    if (node === null) return;
    this.focus = node;
    event.preventDefault(); // no text is marked, and a finger does not scroll
    this.svg.setPointerCapture(event.pointerId);
  }

  pull(event) {
    if (!this.drag || this.drag.node === null) return;
    const place = this.place(event);
    const [x, y] = this.at[this.drag.node];
    if (this.tool === "move") {
      this.drag.moved = true;
      this.draw(this.at.map((old, v) => (v === this.drag.node ? place : old)));
    } else if (this.tool === "draw") {
      if (Math.hypot(place[0] - x, place[1] - y) > this.radius * 1.5) this.drag.left = true;
      const ends = {
        x1: x,
        y1: y,
        x2: place[0],
        y2: place[1],
        visibility: this.drag.left ? "visible" : "hidden",
      };
      for (const [name, value] of Object.entries(ends)) this.rubber.setAttribute(name, value);
    }
  }

  release(event) {
    const drag = this.drag;
    this.abandon();
    if (!drag) return;
    if (this.tool === "move") {
      if (drag.moved) this.move({ ...this.graph, at: this.at });
    } else if (this.tool === "erase") {
      if (drag.node !== null) this.remove_node(drag.node);
      else if (drag.edge) this.toggle_edge(...drag.edge.split("-").map(Number));
    } else if (drag.node === null) {
      this.add_node(drag.start);
    } else {
      const { node } = this.under(event);
      if (node !== null && drag.left && !this.has_edge(drag.node, node))
        this.toggle_edge(drag.node, node);
      else this.node(drag.node).focus();
    }
  }

  abandon() {
    this.drag = null;
    this.rubber?.setAttribute("visibility", "hidden");
  }

  add_node(place) {
    const { n, edges, at } = this.graph;
    if (n >= MOST_NODES) return this.tell(`This page draws at most ${MOST_NODES} nodes.`);
    this.focus = n;
    this.edit(drawn_graph(n + 1, edges, [...at, place]));
    return this.tell(`Node ${n} is new.`);
  }

  remove_node(v) {
    const { n, edges, at } = this.graph;
    if (n === 1) return this.tell("A graph has at least one node.");
    const renamed = (u) => (u > v ? u - 1 : u);
    const rest = edges.filter((edge) => !edge.includes(v)).map((edge) => edge.map(renamed));
    this.edit(
      drawn_graph(
        n - 1,
        rest,
        at.filter((_, u) => u !== v),
      ),
    );
    return this.tell(
      `Node ${v} is gone.${v < n - 1 ? " Those behind it have moved up by one." : ""}`,
    );
  }

  has_edge(u, v) {
    return this.graph.edges.some(([a, b]) => a === Math.min(u, v) && b === Math.max(u, v));
  }

  toggle_edge(u, v) {
    const { n, edges, at } = this.graph;
    const had = this.has_edge(u, v);
    if (!had && edges.length >= MOST_EDGES)
      return this.tell(`This page draws at most ${MOST_EDGES} edges.`);
    const others = edges.filter(([a, b]) => a !== Math.min(u, v) || b !== Math.max(u, v));
    this.edit(drawn_graph(n, had ? others : [...edges, [u, v]], at));
    return this.tell(
      `${u === v ? `The loop at ${u}` : `The edge between ${u} and ${v}`} is ${had ? "gone" : "new"}.`,
    );
  }

  key(event) {
    const v = this.focus;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in arrows) this.arrow_key(arrows[event.key], event.shiftKey);
    else if (event.key === "Enter" || event.key === " ") this.join(v);
    else if (event.key === "Delete" || event.key === "Backspace") this.remove_node(v);
    else if (event.key === "n" || event.key === "N")
      this.add_node([(this.at[v][0] + 130) % WIDTH, (this.at[v][1] + 90) % HEIGHT]);
    else if (event.key === "Escape" && this.from !== null) this.begin_edge(null);
    else return;
    event.preventDefault();
  }

  arrow_key([dx, dy], moves) {
    const [x, y] = this.at[this.focus];
    if (moves) {
      const place = [
        Math.min(Math.max(x + 25 * dx, 0), WIDTH),
        Math.min(Math.max(y + 25 * dy, 0), HEIGHT),
      ];
      this.move({
        ...this.graph,
        at: this.graph.at.map((old, v) => (v === this.focus ? place : old)),
      });
      return;
    }
    const ahead = this.at.flatMap(([a, b], v) => {
      const along = (a - x) * dx + (b - y) * dy,
        aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
      return along > 0 ? [[along + 2 * aside, v]] : [];
    });
    if (!ahead.length) return;
    this.focus = ahead.reduce((a, b) => (b[0] < a[0] ? b : a))[1];
    this.draw(this.at);
    this.node(this.focus).focus();
  }

  // Enter on two nodes in turn: an edge between them, or none where there was one.
  join(v) {
    const from = this.from;
    this.begin_edge(from === null ? v : null);
    if (from !== null) this.toggle_edge(from, v);
    else this.tell(`From node ${v}: go to another node, or stay, and press Enter again.`);
  }

  begin_edge(v) {
    this.from = v;
    this.draw(this.at);
    this.node(this.focus).focus();
  }
}
