"""What is shown of each kind of object: a title, a few facts in a table, a picture."""

from html import escape

import numpy as np

from refimpl._html import pictures
from refimpl._support.reprs import score

CARD = (
    "display:flex;flex-wrap:wrap;gap:8px 36px;align-items:flex-start;"
    "font-size:14px;line-height:1.5;margin:4px 0"
)
CELL = "text-align:left;vertical-align:top;padding:1px 14px 1px 0;border:none;background:none"
PLAIN = "border:none;background:none"
TABLE = "border-collapse:collapse;margin:0;font-size:inherit;color:inherit"
MOST_ENTRIES = 2**24  # of a graph that is looked through; a larger one may be in a file
MOST_CLASSES = 10  # that have a bar each


def card(title, rows, *figures):
    """Return HTML of an object: its title, facts as (name, value) and SVGs beside them."""
    lines = "".join(
        f'<tr style="{PLAIN}"><td style="{CELL};opacity:{pictures.MUTED}">{escape(str(name))}</td>'
        f'<td style="{CELL}">{escape(str(value))}</td></tr>'
        for name, value in rows
        if value is not None
    )
    table = f'<table style="{TABLE};{PLAIN}">{lines}</table>'
    head = f'<div style="font-weight:600">{escape(title)}</div>'
    beside = "".join(f'<div style="flex:0 1 auto">{one}</div>' for one in figures if one)
    return f'<div style="{CARD}"><div>{head}{table}</div>{beside}</div>'


def graph_html(graph):
    """Return what a notebook shows of a Graph."""
    rows = _of_graph(graph)
    if graph.e > MOST_ENTRIES:
        return card(type(graph).__name__, rows)
    if pictures.is_small(graph):
        return card(type(graph).__name__, rows, pictures.graph_picture(graph))
    return card(type(graph).__name__, rows, pictures.degree_picture(graph.degrees()))


def _of_graph(graph):
    if graph.e > MOST_ENTRIES:
        yield "nodes", f"{graph.n:,}"
        yield "entries", f"{graph.e:,}"
        return
    degrees = graph.degrees()
    loops = np.count_nonzero(graph.indices == np.repeat(np.arange(graph.n), degrees))
    both = graph.symmetric
    edges = f"{(graph.e + loops) // 2:,} undirected" if both else f"{graph.e:,} directed"
    yield "nodes", f"{graph.n:,}"
    yield "edges", f"{edges}, {loops:,} of them self-loops" if loops else edges
    if graph.n:
        yield "neighbours", f"{degrees.mean():.4g} on average, at most {degrees.max():,}"
        alone = np.count_nonzero(degrees == 0)
        yield "without neighbours", f"{alone:,}" if alone else None
    if hasattr(graph, "relations"):
        yield "relations", graph.relations


def subgraph_html(sub):
    """Return what a notebook shows of a Subgraph; its nodes have their numbers in the parent."""
    rows = [*_of_graph(sub.graph)]
    if len(sub.nodes):
        rows.append(("their numbers", f"{sub.nodes[0]} to {sub.nodes[-1]}"))
    for name, value in sub.counters._asdict().items():
        if value:
            rows.append((name.replace("_", " "), f"{value:,}"))
    if not pictures.is_small(sub.graph):
        return card("Subgraph", rows, pictures.degree_picture(sub.graph.degrees()))
    return card("Subgraph", rows, pictures.graph_picture(sub.graph, sub.nodes, of="the subgraph"))


def mfg_html(mfg):
    """Return what a notebook shows of an MFG."""
    rows = [("roots", f"{len(mfg.nodes[-1]):,}"), ("nodes that are read", f"{len(mfg.nodes[0]):,}")]
    for l, block in enumerate(mfg.blocks, 1):
        live = int(block.degrees().sum())
        rows.append((f"layer {l}", f"{block.n_dst:,} from {block.n_src:,}, by {live:,} edges"))
    return card("Message-flow graph", rows, pictures.layers_picture(mfg))


def dataset_html(data):
    """Return what a notebook shows of a Dataset."""
    several = data.labels.ndim == 2
    parts = (("training", data.train), ("validation", data.val), ("test", data.test))
    split = ", ".join(f"{len(nodes):,} {name}" for name, nodes in parts)
    rows = [
        *_of_graph(data.graph),
        ("features", f"{data.features.shape[1]:,} of {data.features.dtype}, run in {data.dtype}"),
        ("classes", f"{data.classes:,}, several a node" if several else f"{data.classes:,}"),
        ("split", f"{split}; {data.setting}"),
    ]
    if pictures.is_small(data.graph) and not several and data.classes <= len(pictures.COLOURS):
        of = f"{data.name}, coloured by class"
        figure = pictures.graph_picture(data.graph, kinds=data.labels, of=of)
    else:
        few = data.classes <= MOST_CLASSES and data.graph.e <= MOST_ENTRIES
        figure = _classes(data) if few else ""
    return card(f"Dataset {data.name}", rows, figure)


def _classes(data):
    if data.labels.ndim == 2:
        counts = (data.labels == 1).sum(axis=0)
    else:
        counts = np.bincount(data.labels[data.labels >= 0], minlength=data.classes)
    names = data.class_names or [f"class {k}" for k in range(data.classes)]
    return pictures.bars(list(zip(names, counts.tolist(), strict=True)), "nodes by class")


def result_html(result):
    """Return what a notebook shows of a TrainResult."""
    last = result.history[-1] if result.history else None
    rows = [
        ("validation F1-micro", score(result.val_f1)),
        ("test F1-micro", score(result.test_f1)),
        ("best epoch", f"{result.best_epoch} of {len(result.history)}"),
        ("iterations", f"{result.iterations:,}"),
        ("weights", f"{sum(W.size for W in result.weights.values()):,}"),
    ]
    if last is not None:
        parts = ("sampling", "aggregation", "weights", "cache", "communication", "other")
        spent = sum(getattr(last, part) for part in ("normalization", *parts))
        rows.append(("seconds", f"{spent:.2f}, and {last.evaluation:.2f} of evaluation"))
    figure = pictures.loss_picture([one.loss for one in result.history], result.best_epoch)
    return card("TrainResult", rows, figure if last is not None else "")


def model_html(model):
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
