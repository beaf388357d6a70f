"""Small pictures as SVG text: graphs, layers, bars and a line over time."""

from html import escape

import numpy as np

from refimpl._html.places import places

# Each is seen on white and on black, and white words on it are.
COLOURS = "#2f6fa8", "#b3561b", "#2e7d46", "#8250b5", "#b8324f", "#5f6b76"
SMALL_NODES, SMALL_EDGES = 40, 240  # of a graph that is drawn node by node
WIDTH, RADIUS = 320, 10  # of a graph, and of a node
MUTED = 0.65  # opacity of what is less important


def tag(name, content=None, **attributes):
    """Return an element; underscores in names of attributes are hyphens."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}/>" if content is None else f"<{name}{written}>{content}</{name}>"


def _text(value):
    return f"{value:.5g}" if isinstance(value, float | np.floating) else str(value)


def words(x, y, text, anchor="middle", size=11, **more):
    """Return words that stand on y."""
    more = {"fill": "currentColor", **more}
    return tag("text", escape(str(text)), x=x, y=y, text_anchor=anchor, font_size=size, **more)


def picture(width, height, says, marks):
    """Return an SVG; `says` is what is heard by those who do not see it."""
    box = f"0 0 {width} {height}"
    style = f"max-width:100%;width:{width}px;height:auto;font-family:sans-serif"
    return tag("svg", "".join(marks), viewBox=box, style=style, role="img", aria_label=says)


def is_small(graph):
    """Whether a graph is drawn node by node."""
    return 0 < graph.n <= SMALL_NODES and graph.e <= SMALL_EDGES


def graph_picture(graph, names=None, kinds=None, of="the graph"):
    """Return a small graph: its nodes by their numbers, or `names`, coloured by their `kinds`.

    An edge that goes one way only is wide where it begins, and ends in a point.
    """
    edge = RADIUS + 12
    at = edge + places(graph, WIDTH - 2 * edge, 2.3 * RADIUS)
    row = np.repeat(np.arange(graph.n), graph.degrees())
    edges = set(zip(row.tolist(), graph.indices.tolist(), strict=True))
    marks = []
    for u, v in sorted(edges):
        if u == v:
            x, y = at[u] + (0, -RADIUS - 2)
            loop = {"fill": "none", "stroke": "currentColor", "stroke_opacity": 0.4}
            marks.append(tag("circle", cx=x, cy=y, r=8, **loop))
        elif (v, u) in edges:
            marks += [_line(at[u], at[v])] if u < v else []
        else:
            marks.append(_wedge(at[u], at[v]))
    for v in range(graph.n):
        name = v if names is None else names[v]
        kind = 0 if kinds is None else int(kinds[v]) % len(COLOURS)
        marks.append(_node(at[v], str(name), COLOURS[kind]))
    which = "edges" if graph.symmetric else "directed edges"
    height = round(float(at[:, 1].max())) + edge
    return picture(WIDTH, height, f"{of}: {graph.n} nodes and the {which} between them", marks)


def _line(a, b):
    style = {"stroke": "currentColor", "stroke_opacity": 0.4}
    return tag("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], **style)


def _wedge(a, b):
    along = (b - a) / max(np.linalg.norm(b - a), 1e-9)
    side, tip = np.array([-along[1], along[0]]) * 3.5, b - along * RADIUS
    points = " ".join(f"{x:.4g},{y:.4g}" for x, y in (a + side, tip, a - side))
    return tag("polygon", points=points, fill="currentColor", fill_opacity=0.4)


def _node(at, name, colour, radius=RADIUS):
    size = radius * (1 if len(name) < 3 else 0.8)
    inside = words(at[0], at[1] + 0.35 * size, name, size=size, fill="#fff") * (len(name) < 5)
    circle = tag("circle", cx=at[0], cy=at[1], r=radius, fill=colour)
    return tag("g", tag("title", escape(name)) + circle + inside)


def degree_picture(degrees):
    """Return how many nodes have 0, 1, 2-3, 4-7, .. neighbours."""
    exponents = np.where(degrees > 0, np.floor(np.log2(np.maximum(degrees, 1))) + 1, 0)
    counts = np.bincount(exponents.astype(np.int64)) if degrees.size else np.zeros(1, np.int64)
    labels = ["0", "1", *(f"{2**k}-{2 ** (k + 1) - 1}" for k in range(1, max(len(counts) - 1, 1)))]
    first = int(np.argmax(counts > 0))
    return bars(
        list(zip(labels[first : len(counts)], counts[first:].tolist(), strict=True)),
        "nodes by number of neighbours",
    )


def bars(rows, title):
    """Return a bar, its name and its number for each of some rows (name, count)."""
    most, marks, height = max((count for _, count in rows), default=0), [], 18
    marks.append(words(0, 12, title, "start", opacity=MUTED))
    for k, (name, count) in enumerate(rows):
        y = 20 + k * height
        width = 130 * count / most if most else 0
        marks.append(words(84, y + 12, name if len(name) < 15 else f"{name[:13]}..", "end"))
        marks.append(tag("rect", x=90, y=y + 2, width=width, height=12, rx=2, fill=COLOURS[0]))
        marks.append(words(95 + width, y + 12, f"{count:,}", "start", opacity=MUTED))
    says = f"{title}: {', '.join(f'{name}: {count}' for name, count in rows)}"
    return picture(280, 24 + height * len(rows), says, marks)


def layers_picture(mfg):
    """Return the layers of a message-flow graph, the roots above: nodes, or bars where many."""
    sizes = [len(nodes) for nodes in mfg.nodes][::-1]
    step, left, width, marks = 56, 84, 300, []
    small = max(sizes) <= 24 and sum(block.e for block in mfg.blocks) <= SMALL_EDGES
    for k, size in enumerate(sizes):
        y, layer = 18 + k * step, len(sizes) - 1 - k
        title = f"read by layer {layer + 1}" if k else "roots"
        marks.append(words(0, y, f"{size:,}", "start", size=13))
        marks.append(words(0, y + 13, title, "start", opacity=MUTED))
        if small:
            marks += _row_of_nodes(mfg, layer, left, width, y, step)
        else:
            wide = max(2.0, width * size / max(sizes))
            bar = {"x": left + (width - wide) / 2, "y": y - 8, "width": wide, "height": 18}
            marks.append(tag("rect", fill=COLOURS[0], rx=2, **bar))
    said = ", read from ".join(f"{size} nodes" for size in sizes)
    height = step * len(sizes) - step + 38
    return picture(left + width, height, f"a message-flow graph: {said}", marks)


def _row_of_nodes(mfg, layer, left, width, y, step):
    """Return the nodes of a layer, whose middles are at y, and the lines to those it reads."""
    spread = [left + width * (np.arange(len(ids)) + 0.5) / max(len(ids), 1) for ids in mfg.nodes]
    marks = []
    if layer:
        block = mfg.blocks[layer - 1]
        for i, (start, end) in enumerate(zip(block.start, block.end, strict=True)):
            for j in block.indices[start:end]:
                marks.append(_line((spread[layer][i], y), (spread[layer - 1][j], y + step)))
    radius = min(RADIUS, 0.46 * width / max(len(mfg.nodes[layer]), 1))
    for x, node in zip(spread[layer], mfg.nodes[layer], strict=True):
        marks.append(_node((x, y), str(node), COLOURS[0], radius))
    return marks


def loss_picture(losses, best):
    """Return the loss over the epochs as a line, with a dot at the epoch of number `best`."""
    width, height, left = 280, 120, 4
    finite = [(k, loss) for k, loss in enumerate(losses) if np.isfinite(loss)]
    marks = [words(0, 12, "loss, by epoch", "start", opacity=MUTED)]
    if finite:
        low, high = min(y for _, y in finite), max(y for _, y in finite)
        last = max(len(losses) - 1, 1)
        x = {k: left + (width - 2 * left) * k / last for k, _ in finite}
        y = {k: 26 + 70 * (high - loss) / ((high - low) or 1) for k, loss in finite}
        line = " ".join(f"{x[k]:.4g},{y[k]:.4g}" for k in x)
        style = {"fill": "none", "stroke": COLOURS[0], "stroke_width": 2}
        marks.append(tag("polyline", points=line, stroke_linejoin="round", **style))
        marks.append(words(left, 114, f"{finite[0][1]:.4g}", "start"))
        marks.append(words(width - left, 114, f"{finite[-1][1]:.4g}", "end"))
        if best - 1 in x:
            dot = {"cx": x[best - 1], "cy": y[best - 1], "r": 4, "fill": COLOURS[1]}
            marks.append(tag("circle", **dot))
            if 60 < x[best - 1] < width - 60:  # elsewhere, the words at the ends are there
                marks.append(words(x[best - 1], 114, "best", opacity=MUTED))
    ends = f"from {finite[0][1]:.4g} to {finite[-1][1]:.4g}" if finite else "none that is finite"
    says = f"the loss over {len(losses)} epochs, {ends}; the best epoch is {best}"
    return picture(width, height, says, marks)
