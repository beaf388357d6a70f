// Elements: made from a tag, attributes and children. Text only ever enters the page as text.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// A table: a caption for those who do not see it, a row of heads, and rows whose first cell is one.
export function table(caption, heads, rows, attributes = {}) {
  const head = h(
    "tr",
    {},
    heads.map((text) => h("th", { scope: "col" }, text)),
  );
  const body = rows.map(([first, ...rest]) =>
    h("tr", {}, h("th", { scope: "row" }, first), rest.map(cell)),
  );
  const parts = [
    h("caption", { class: "pg-sr" }, caption),
    h("thead", {}, head),
    h("tbody", {}, body),
  ];
  return h("table", attributes, parts);
}

function cell(value) {
  return value instanceof Element && value.tagName === "TD" ? value : h("td", {}, value);
}

// "1 node", "2 nodes".
export function count(number, thing, things = `${thing}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? thing : things}`;
}

export function nodes_text(nodes) {
  return nodes.length ? [...nodes].join(", ") : "none";
}

// A bar `part` of its width long, with a tick at `tick`, both from 0 to 1.
export function bar_of(part, tick) {
  const percent = (x) => `${(100 * x).toFixed(2)}%`;
  const full = s("rect", { class: "pg-full", width: percent(part), height: "100%" });
  const line = s("line", {
    class: "pg-tick",
    x1: percent(tick),
    x2: percent(tick),
    y1: 0,
    y2: "100%",
  });
  return s("svg", { class: "pg-bar", "aria-hidden": "true" }, full, line);
}
