"""What a notebook shows: small tables and pictures that say what the objects hold."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph

from refimpl._html import pictures
from refimpl._html.places import distances, places
from refimpl.graph import as_graph
from refimpl.lab.data import load_dataset
from refimpl.lab.data.communities import communities

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {
    *("div", "table", "tr", "td", "details", "summary"),
    *("svg", "g", "title", "circle", "line", "polygon", "rect", "text", "polyline"),
}


class Page(HTMLParser):
    """What HTML says: the cells of its tables, and its elements, which must be closed in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def facts(one):
    """Return the table of what a notebook shows, checked to be plain HTML, and its elements."""
    html = one._repr_html_()
    page = Page(html)
    for tag, attributes in page.tags:
        assert tag in TAGS
        assert not {"id", "class", "href", "src"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    for svg in re.findall(r"<svg.*?</svg>", html):
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img" and root.get("aria-label")
    assert "nan" not in html and "inf" not in html.replace("inductive", "")
    return dict(zip(page.cells[::2], page.cells[1::2], strict=True)), page.tags


def count(tags, name):
    return sum(tag == name for tag, _ in tags)


def test_a_small_graph_has_its_nodes_and_edges(gnn):
    table, tags = facts(gnn.load_dataset("karate").graph)
    assert table["nodes"] == "34" and table["edges"] == "78 undirected"
    assert table["neighbours"] == "4.588 on average, at most 17"
    assert (count(tags, "circle"), count(tags, "line")) == (34, 78)
    mixed = gnn.as_graph([(0, 1), (1, 0), (1, 2), (3, 3)], n=5)
    table, tags = facts(mixed)
    assert table["edges"] == "4 directed, 1 of them self-loops"
    assert table["without neighbours"] == "2"
    found = [count(tags, name) for name in ("circle", "line", "polygon")]
    assert found == [5 + 1, 1, 1]  # a loop is a circle; one edge goes both ways, one does not


def test_a_large_graph_has_its_degrees(gnn):
    graph = gnn.as_graph([(0, v) for v in range(1, 100)], symmetrize=True)
    html = graph._repr_html_()
    facts(graph)
    assert 'aria-label="nodes by number of neighbours: 1: 99, 2-3: 0, 4-7: 0' in html
    assert "64-127: 1" in html and len(html) < 6000
    assert "neighbours: 0: 50" in gnn.as_graph(np.zeros((0, 2), int), n=50)._repr_html_()


def test_what_may_be_in_a_file_is_not_looked_through(monkeypatch):
    """A data set larger than memory is opened without reading it, and shown so."""
    data = load_dataset("communities")
    monkeypatch.setattr("refimpl._html.objects.MOST_ENTRIES", 1000)
    monkeypatch.setattr("refimpl.graph.Graph.degrees", None)
    monkeypatch.setattr("refimpl._html.objects._classes", None)
    for one, table in ((data.graph, facts(data.graph)[0]), (data, facts(data)[0])):
        assert table["entries"] == "170,792", one


@pytest.mark.parametrize("n", [0, 1, 2])
def test_next_to_nothing(gnn, n):
    table, _ = facts(gnn.as_graph(np.zeros((0, 2), np.int64), n=n))
    assert table["nodes"] == str(n)


def test_a_typed_graph_has_its_relations(gnn):
    graph = gnn.load_dataset("karate").graph
    typed = gnn.TypedGraph(graph, edge_types=np.zeros(graph.e, np.int32), relations=3)
    assert facts(typed)[0]["relations"] == "3"


def test_a_subgraph_has_the_numbers_of_its_parent(gnn):
    graph = gnn.load_dataset("karate").graph
    (sub,) = gnn.sample_many(graph, gnn.Sampler("frontier", m=3, n=14), 0, 0, 1)
    looked = "edge_ids" in vars(sub)
    table, _ = facts(sub)
    assert ("edge_ids" in vars(sub)) == looked
    assert table["pops"] == str(sub.counters.pops) and "cleanups" not in table
    titles = re.findall(r"<title>(\d+)</title>", sub._repr_html_())
    assert list(map(int, titles)) == sub.nodes.tolist()
    assert facts(gnn.induced_subgraph(graph, []))[0]["nodes"] == "0"


def test_a_message_flow_graph_has_its_layers(gnn):
    graph = gnn.load_dataset("karate").graph
    mfg = gnn.sample_mfg(graph, np.arange(3), [3, 2], seed=0, epoch=0, batch=0)
    table, tags = facts(mfg)
    first = mfg.blocks[0]
    edges = int(first.degrees().sum())
    assert table["layer 1"] == f"{first.n_dst} from {first.n_src}, by {edges} edges"
    assert count(tags, "circle") == sum(map(len, mfg.nodes))
    assert count(tags, "line") == sum(int(block.degrees().sum()) for block in mfg.blocks)
    many = gnn.sample_mfg(graph, np.arange(30), [3, 2], seed=0, epoch=0, batch=0)
    wide = [float(rect["width"]) for tag, rect in facts(many)[1] if tag == "rect"]
    sizes = np.array([len(nodes) for nodes in many.nodes[::-1]])
    np.testing.assert_allclose(wide, 300 * sizes / sizes.max(), rtol=1e-4)


def test_what_comes_from_outside_is_text(gnn):
    data = communities(0, nodes=300)
    parts = (data.graph, data.features, np.arange(300) % 2, data.train, data.val, data.test)
    bad = "<script>alert('x')</script>"
    named = gnn.Dataset(bad, *parts, class_names=(bad, '"&'))
    assert facts(named)[0]["classes"] == "2"
    config = gnn.TrainConfig(epochs=1, hidden=8)
    model = gnn.TrainedModel.trained(named, config, gnn.train(named, config).weights)
    assert facts(model)[0]["trained on"] == bad
    for one in (named, model):
        assert "<script" not in one._repr_html_() and "&lt;script" in one._repr_html_()


def test_a_data_set_has_its_classes(gnn):
    data = communities(0, nodes=300)
    table, _ = facts(data)
    assert table["split"] == (
        f"{len(data.train)} training, {len(data.val)} validation, {len(data.test)} test; inductive"
    )
    sizes = np.bincount(data.labels)
    assert f"class 0: {sizes[0]}, class 1: {sizes[1]}" in data._repr_html_()
    karate = gnn.load_dataset("karate")
    fills = [one["fill"] for tag, one in facts(karate)[1] if tag == "circle"]
    assert fills == [pictures.COLOURS[label] for label in karate.labels]
    rows = np.eye(10, dtype=int)[data.labels]
    parts = (data.train, data.val, data.test)
    several = gnn.Dataset("several", data.graph, data.features, rows, *parts)
    assert facts(several)[0]["classes"] == "10, several a node"


def test_a_result_has_its_scores_and_its_loss(gnn):
    data, config = communities(0, nodes=300), gnn.TrainConfig(epochs=4, hidden=8)
    result = gnn.train(data, config)
    table, tags = facts(result)
    assert table["test F1-micro"] == f"{result.test_f1:.4f}"
    assert table["best epoch"] == f"{result.best_epoch} of 4"
    (line,) = [one["points"] for tag, one in tags if tag == "polyline"]
    height = [float(point.split(",")[1]) for point in line.split()]
    losses = np.array([one.loss for one in result.history])
    np.testing.assert_array_equal(np.argsort(height), np.argsort(-losses))
    strange = [
        one._replace(loss=value)
        for one, value in zip(result.history, (1, np.nan, np.inf, 2), strict=True)
    ]
    facts(result._replace(history=strange, test_f1=None))
    facts(result._replace(history=[]))
    model = gnn.TrainedModel.trained(data, config, result.weights)
    assert facts(model)[0]["layer1.W_neigh"] == "float32, 50 x 4"


def test_a_path_lies_along_a_line_and_nodes_do_not_touch():
    path = as_graph([(k, k + 1) for k in range(9)], symmetrize=True)
    at = places(path, 300, 20)
    along = at[:, 0] if at[0, 0] < at[-1, 0] else at[::-1, 0]
    assert (np.diff(along) > 25).all() and np.ptp(at[:, 1]) < 30
    for graph in (path, load_dataset("karate").graph, as_graph([(0, 1)], n=7, symmetrize=True)):
        at = places(graph, 276, 23)
        away = np.linalg.norm(at[:, None] - at[None], axis=2) + 99 * np.eye(graph.n)
        assert away.min() > 20 and np.isfinite(at).all()
        np.testing.assert_array_equal(at, places(graph, 276, 23))


def test_distances_are_those_of_shortest_paths():
    graph = as_graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (5, 6)], n=8)
    found = csgraph.shortest_path(graph.to_scipy(), directed=False, unweighted=True)
    found[np.isinf(found)] = 3 + 1  # one more than the longest
    np.testing.assert_array_equal(distances(graph), found)
