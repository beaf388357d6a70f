// What a page of `minibatch-gnn trace` shows, read from what is drawn, not from its data.
() => {
  const text = (node) => node.textContent.trim();
  const cell = (td) => {
    const group = [...td.classList].find((name) => /^g\d$/.test(name));
    const mark = td.querySelector(".mark");
    return [
      text(td.querySelector(".value")),
      group ? Number(group.slice(1)) : null,
      mark ? text(mark) : "",
      td.classList.contains("changed"),
    ];
  };
  const array = (body) => {
    const rows = new Map();
    for (const tr of body.querySelectorAll("tr[data-row]")) {
      const name = text(tr.querySelector("th"));
      if (!rows.has(name)) rows.set(name, []);
      rows.get(name).push(...[...tr.querySelectorAll("td")].map(cell));
    }
    return [...rows];
  };
  const table = (body) =>
    [...body.querySelectorAll("tbody tr")].map((tr) => [...tr.querySelectorAll("td")].map(cell));
  const counters = (body) =>
    Object.fromEntries(
      [...body.querySelectorAll("tbody tr")].map((tr) => [
        text(tr.querySelector("th")),
        text(tr.querySelector(".value")),
      ])
    );
  const graph = (body) => ({
    nodes: Object.fromEntries(
      [...body.querySelectorAll(".node")].map((g) => [
        text(g.querySelector(".id")),
        [text(g.querySelector(".letter")), text(g.querySelector(".note"))],
      ])
    ),
    edges: [...body.querySelectorAll(".edge.used")].map((line) => line.dataset.edge.split(" ")).sort(),
  });
  const kinds = { array, table, counters, graph };
  const panels = {};
  const points = {};
  for (const section of document.querySelectorAll("[data-panel]")) {
    const kind = Object.keys(kinds).find((name) => section.classList.contains(`${name}-panel`));
    const body = section.querySelector(".body");
    const id = section.dataset.panel;
    panels[id] = body.querySelector(".none") ? null : kinds[kind](body);
    if (kind === "counters") {
      points[id] = Object.fromEntries(
        [...body.querySelectorAll("tr[data-row]")].map((tr) => [
          text(tr.querySelector("th")),
          tr.querySelector("polyline").getAttribute("points").split(" ").length,
        ])
      );
    }
  }
  const inside = (node, frame) => {
    const box = node.getBoundingClientRect();
    return box.height > 0 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  };
  const now = [...document.querySelectorAll("tr.now")];
  const code = document.getElementById("code").getBoundingClientRect();
  const screen = { top: 0, bottom: window.innerHeight };
  const controls = [...document.querySelectorAll(".controls button, .controls input, select, #said")];
  const pane = document.getElementById("panels");
  const changed = [...pane.querySelectorAll(".changed")];
  const meets = (node, frame) => {
    const [box, around] = [node.getBoundingClientRect(), frame.getBoundingClientRect()];
    return box.bottom > around.top && box.top < around.bottom;
  };
  return {
    step: document.body.dataset.step,
    function: text(document.getElementById("function")),
    now: now.map((tr) => [text(tr.querySelector("th")), text(tr.querySelector("td"))]),
    panels,
    points,
    gist: text(document.getElementById("gist")),
    where: text(document.getElementById("where")),
    news: text(document.getElementById("news")),
    slider: document.getElementById("slider").value,
    count: text(document.getElementById("count")),
    current_line_visible: now.length > 0 && now.every((tr) => inside(tr, code) && inside(tr, screen)),
    current_begins_in_view: now.length > 0 && inside(now[0], code) && inside(now[0], screen),
    controls_visible: controls.every((node) => inside(node, screen)),
    said_fits: document.getElementById("said").scrollHeight <= document.getElementById("said").clientHeight,
    panes: {
      code: document.getElementById("code").clientHeight,
      panels: pane.clientHeight,
      sideways: pane.scrollWidth - pane.clientWidth,
      code_sideways: document.getElementById("code").scrollWidth - document.getElementById("code").clientWidth,
    },
    changed_visible: changed.length === 0 || changed.some((node) => meets(node, pane)),
    is_wide: document.documentElement.scrollWidth > window.innerWidth,
    scrolls: document.documentElement.scrollHeight > window.innerHeight,
  };
}
