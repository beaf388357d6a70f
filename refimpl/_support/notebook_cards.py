"""What a notebook shows of an object: its facts in a table, and of a small graph a picture.

The picture needs networkx and matplotlib; without them there is the table alone.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refimpl._support.reprs import score

CELL = "text-align:left;vertical-align:top;padding:1px 14px 1px 0;border:none;background:none"
MOST_ENTRIES = 2**24  # of a graph that is looked through; a larger one may be in a file
SMALL_NODES, SMALL_EDGES = 40, 240  # of a graph that is drawn
COLOURS = "#2f6fa8", "#b3561b", "#2e7d46", "#8250b5", "#b8324f", "#5f6b76"  # white is seen on each


def card(title: str, rows: Iterable[tuple[str, object]], beside: str = "") -> str:
    """Return HTML of an object: its title, facts as (name, value), and HTML beside them."""
    lines = "".join(
        f'<tr><td style="{CELL};opacity:0.65">{escape(str(name))}</td>'
        f'<td style="{CELL}">{escape(str(value))}</td></tr>'
        for name, value in rows
        if value is not None
    )
    head = f'<div style="font-weight:600">{escape(title)}</div>'
    facts = f"<div>{head}<table>{lines}</table></div>"
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px 36px">{facts}{beside}</div>'


def graph_picture(
    graph: Any, names: Sequence[Any] | NDArray[Any] | None = None, kinds: Any = None
) -> str:
    """Return a small graph as SVG, its nodes coloured by their `kinds`; "" for any other."""
    if not 0 < graph.n <= SMALL_NODES or graph.e > SMALL_EDGES:
        return ""
    try:
        import networkx as nx
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        return ""
    drawn = graph.to_networkx()
    axes = (figure := Figure(figsize=(4, 3), layout="constrained")).add_subplot()
    axes.set_axis_off()
    kinds = np.zeros(graph.n, np.int64) if kinds is None else kinds
    nx.draw_networkx(
        drawn,
        nx.kamada_kawai_layout(drawn.to_undirected()),
        ax=axes,
        node_color=[COLOURS[int(kind) % len(COLOURS)] for kind in kinds],
        edge_color="#888888",
        node_size=200,
        font_size=8,
        font_color="white",
        labels={v: str(v if names is None else names[v]) for v in range(graph.n)},
    )
    file = io.StringIO()
    with rc_context({"svg.hashsalt": "minibatch-gnn", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue().partition("<svg")[2]
    return f'<svg role="img" aria-label="{graph.n} nodes and the edges between them"{svg}'


def graph_html(graph: Any) -> str:
    """Return what a notebook shows of a Graph."""
    return card(type(graph).__name__, _of_graph(graph), graph_picture(graph))


def _of_graph(graph: Any) -> Iterator[tuple[str, object]]:
    yield "nodes", f"{graph.n:,}"
    if graph.e > MOST_ENTRIES:
        yield "entries", f"{graph.e:,}"
        return
    degrees = graph.degrees()
    loops = np.count_nonzero(graph.indices == np.repeat(np.arange(graph.n), degrees))
    both = graph.symmetric
    edges = f"{(graph.e + loops) // 2:,} undirected" if both else f"{graph.e:,} directed"
    yield "edges", f"{edges}, {loops:,} of them self-loops" if loops else edges
    if graph.n:
        yield "neighbours", f"{degrees.mean():.4g} on average, at most {degrees.max():,}"
        alone = np.count_nonzero(degrees == 0)
        yield "without neighbours", f"{alone:,}" if alone else None
    if hasattr(graph, "relations"):
        yield "relations", graph.relations


def subgraph_html(sub: Any) -> str:
    """Return what a notebook shows of a Subgraph; its nodes have their numbers in the parent."""
    rows = [*_of_graph(sub.graph)]
    if len(sub.nodes):
        rows.append(("their numbers", f"{sub.nodes[0]} to {sub.nodes[-1]}"))
    for name, value in sub.counters._asdict().items():
        if value:
            rows.append((name.replace("_", " "), f"{value:,}"))
    return card("Subgraph", rows, graph_picture(sub.graph, sub.nodes))


def mfg_html(mfg: Any) -> str:
    """Return what a notebook shows of an MFG."""
    rows = [("roots", f"{len(mfg.nodes[-1]):,}"), ("nodes that are read", f"{len(mfg.nodes[0]):,}")]
    for l, block in enumerate(mfg.blocks, 1):
        live = int(block.degrees().sum())
        rows.append((f"layer {l}", f"{block.n_dst:,} from {block.n_src:,}, by {live:,} edges"))
    return card("Message-flow graph", rows)


def dataset_html(data: Any) -> str:
    """Return what a notebook shows of a Dataset; a small graph is coloured by class."""
    several = data.labels.ndim == 2
    parts = (("training", data.train), ("validation", data.val), ("test", data.test))
    split = ", ".join(f"{len(nodes):,} {name}" for name, nodes in parts)
    rows = [
        *_of_graph(data.graph),
        ("features", f"{data.features.shape[1]:,} of {data.features.dtype}, run in {data.dtype}"),
        ("classes", f"{data.classes:,}, several a node" if several else f"{data.classes:,}"),
        ("split", f"{split}; {data.setting}"),
    ]
    picture = graph_picture(data.graph, kinds=None if several else data.labels)
    return card(f"Dataset {data.name}", rows, picture)


def result_html(result: Any) -> str:
    """Return what a notebook shows of a TrainResult."""
    rows = [
        ("validation F1-micro", score(result.val_f1)),
        ("test F1-micro", score(result.test_f1)),
        ("best epoch", f"{result.best_epoch} of {len(result.history)}"),
        ("iterations", f"{result.iterations:,}"),
        ("weights", f"{sum(W.size for W in result.weights.values()):,}"),
    ]
    if result.history:
        first, last = result.history[0], result.history[-1]
        parts = ("sampling", "aggregation", "weights", "cache", "communication", "other")
        spent = sum(getattr(last, part) for part in ("normalization", *parts))
        rows.append(("loss", f"{first.loss:.4g} in the first epoch, {last.loss:.4g} in the last"))
        rows.append(("seconds", f"{spent:.2f}, and {last.evaluation:.2f} of evaluation"))
    return card("TrainResult", rows)


def model_html(model: Any) -> str:
    """Return what a notebook shows of a TrainedModel; its weights are listed when asked for."""
    settings = {key: value for key, value in model.architecture.items() if value not in (False, 0)}
    count = sum(W.size for W in model.weights.values())
    rows = [
        *((name.replace("_", " "), value) for name, value in settings.items()),
        ("features", f"{model.features:,}"),
        ("classes", f"{model.classes:,}, several a node" if model.multilabel else model.classes),
        ("trained on", model.dataset or None),
        ("weights", f"{count:,}"),
    ]
    each = [
        (name, f"{W.dtype}, {' x '.join(map(str, W.shape))}") for name, W in model.weights.items()
    ]
    listed = f"<details><summary>its weights</summary>{card('', each)}</details>"
    return card("TrainedModel", rows, listed)
