"""What a notebook shows: tables of facts, and pictures of small graphs."""

import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from refimpl._support.notebook_cards import COLOURS
from refimpl.lab.data import load_dataset
from refimpl.lab.data.communities import communities

TAGS = {"div", "table", "tr", "td", "details", "summary"}


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
    """Return the table of what a notebook shows, checked to be plain HTML, and its picture."""
    html, *drawn = re.split(r"(<svg.*</svg>)", one._repr_html_(), flags=re.S)
    page = Page(html + "".join(drawn[1:]))
    for tag, attributes in page.tags:
        assert tag in TAGS
        assert not {"id", "class", "href", "src"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
    picture = ElementTree.fromstring(drawn[0]) if drawn else None
    assert picture is None or (picture.get("role") == "img" and picture.get("aria-label"))
    assert "nan" not in html and "inf" not in html.replace("inductive", "")
    return dict(zip(page.cells[::2], page.cells[1::2], strict=True)), picture


def written(picture):
    """Return the names of nodes in a picture."""
    return [int(node.text) for node in picture.iter("{http://www.w3.org/2000/svg}text")]


def test_a_small_graph_has_its_nodes_and_edges(gnn):
    pytest.importorskip("networkx")
    table, picture = facts(gnn.load_dataset("karate").graph)
    assert table["nodes"] == "34" and table["edges"] == "78 undirected"
    assert table["neighbours"] == "4.588 on average, at most 17"
    assert sorted(written(picture)) == list(range(34))
    mixed = gnn.as_graph([(0, 1), (1, 0), (1, 2), (3, 3)], n=5)
    table, picture = facts(mixed)
    assert table["edges"] == "4 directed, 1 of them self-loops"
    assert table["without neighbours"] == "2"
    assert sorted(written(picture)) == list(range(5))
    assert mixed._repr_html_() == mixed._repr_html_()


@pytest.mark.parametrize("missing", ["networkx", "matplotlib"])
def test_without_a_library_there_is_the_table(gnn, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    table, picture = facts(gnn.load_dataset("karate").graph)
    assert table["nodes"] == "34" and picture is None


def test_a_large_graph_is_not_drawn(gnn):
    graph = gnn.as_graph([(0, v) for v in range(1, 100)], symmetrize=True)
    table, picture = facts(graph)
    assert table["neighbours"] == "1.98 on average, at most 99" and picture is None


def test_what_may_be_in_a_file_is_not_looked_through(monkeypatch):
    """A data set larger than memory is opened without reading it, and shown so."""
    data = load_dataset("communities")
    monkeypatch.setattr("refimpl._support.notebook_cards.MOST_ENTRIES", 1000)
    monkeypatch.setattr("refimpl.graph.Graph.degrees", None)
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
    table, picture = facts(sub)
    assert ("edge_ids" in vars(sub)) == looked
    assert table["pops"] == str(sub.counters.pops) and "cleanups" not in table
    assert sorted(written(picture)) == sub.nodes.tolist()
    assert facts(gnn.induced_subgraph(graph, []))[0]["nodes"] == "0"


def test_a_message_flow_graph_has_its_layers(gnn):
    graph = gnn.load_dataset("karate").graph
    mfg = gnn.sample_mfg(graph, np.arange(3), [3, 2], seed=0, epoch=0, batch=0)
    table, _ = facts(mfg)
    first = mfg.blocks[0]
    edges = int(first.degrees().sum())
    assert table["layer 1"] == f"{first.n_dst} from {first.n_src}, by {edges} edges"


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
    karate = gnn.load_dataset("karate")
    html = karate._repr_html_()
    assert {colour for colour in COLOURS if colour in html} == set(COLOURS[: karate.classes])
    rows = np.eye(10, dtype=int)[data.labels]
    parts = (data.train, data.val, data.test)
    several = gnn.Dataset("several", data.graph, data.features, rows, *parts)
    assert facts(several)[0]["classes"] == "10, several a node"


def test_a_result_has_its_scores_and_its_loss(gnn):
    data, config = communities(0, nodes=300), gnn.TrainConfig(epochs=4, hidden=8)
    result = gnn.train(data, config)
    table, _ = facts(result)
    assert table["test F1-micro"] == f"{result.test_f1:.4f}"
    assert table["best epoch"] == f"{result.best_epoch} of 4"
    first, last = (f"{result.history[at].loss:.4g}" for at in (0, -1))
    assert table["loss"] == f"{first} in the first epoch, {last} in the last"
    strange = [
        one._replace(loss=value)
        for one, value in zip(result.history, (1, np.nan, np.inf, 2), strict=True)
    ]
    facts(result._replace(history=strange, test_f1=None))
    facts(result._replace(history=[]))
    model = gnn.TrainedModel.trained(data, config, result.weights)
    assert facts(model)[0]["layer1.W_neigh"] == "float32, 50 x 4"
