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
  const controls = [...document.querySelectorAll(".controls > button, .controls > input, select, #said")];
  return {
    step: document.body.dataset.step,
    function: text(document.getElementById("function")),
    now: now.map((tr) => [text(tr.querySelector("th")), text(tr.querySelector("td"))]),
    panels,
    points,
    said: text(document.getElementById("said")),
    slider: document.getElementById("slider").value,
    count: text(document.getElementById("count")),
    current_line_visible: now.length > 0 && now.every((tr) => inside(tr, code) && inside(tr, screen)),
    controls_visible: controls.every((node) => inside(node, screen)),
    said_fits: document.getElementById("said").scrollHeight <= document.getElementById("said").clientHeight,
    scrolls: document.documentElement.scrollHeight > window.innerHeight,
  };
}
