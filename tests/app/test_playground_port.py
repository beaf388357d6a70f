"""The implementation in JavaScript under node: the vectors, random calls, its marks, its size."""

import json
import re
import shlex
from itertools import pairwise

import numpy as np
import pytest
from docs_ext import paper_lines
from hypothesis import given
from hypothesis import strategies as st
from playground_port import FOLDER, bundling, node
from strategies import KEYS, directed_graphs, graphs, sampler_options

import refimpl
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.conformance import vectors
from refimpl.lab.apps.conformance.case import EXACT
from refimpl.lab.apps.conformance.cases import kernels
from refimpl.lab.apps.conformance.compare import first_difference
from refimpl.lab.apps.conformance.encode import encode
from refimpl.lab.apps.conformance.program import Program
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.apps.conformance.timing import Timer
from refimpl.lab.apps.worker import Clock
from refimpl.samplers.neighbor import MODES

pytestmark = pytest.mark.runs

ADAPTER = FOLDER / "conformance.mjs"
OWN = """
mix key uniform below pick_without_replacement floyd permutation
frontier dashboard pin_tile bucket induced_subgraph transpose_perm
sample_mfg epoch_batches prune_layers select_stable
cache_admit cache_lookup cache_read cache_fetch BidirectionalCache
"""
MOST_BYTES = 150_000  # of the page's script, comments and indentation left out


def test_it_conforms(tmp_path, capsys):
    """All of its kernels, all of their cases, with the states of those that have some."""
    command = shlex.join([node(), str(ADAPTER)])
    report = tmp_path / "report.json"
    status = main(["conformance", "--cmd", command, "--report", str(report)])
    verdicts, states = {}, set()
    for case in json.loads(report.read_text())["cases"]:
        verdicts.setdefault(case["kernel"], set()).add(case["verdict"])
        if case["states"]:
            states.add(case["kernel"])
    assert status == 0, capsys.readouterr().out
    own = OWN.split()
    missing = kernels().keys() - set(own)
    assert verdicts == {**dict.fromkeys(own, {"pass"}), **dict.fromkeys(missing, {"skip"})}
    assert states == {name for name, kernel in kernels().items() if kernel.states is not None}


@pytest.mark.parametrize(
    ("kernel", "case"),
    [("pin_tile", "used"), ("cache_admit", None), ("BidirectionalCache", "by_hand"), ("key", None)],
)
def test_it_is_timed(kernel, case):
    if case is None:
        (file,) = vectors.load(patterns=[kernel])
        case = next(case["id"] for case in file["cases"] if "result" in case)
    with Timer([node(), str(ADAPTER)]) as timer:
        timing = timer.time(kernel, case, 4)
    assert timing.said == "" and len(timing.nanoseconds) == 4


@pytest.fixture(scope="module")
def port():
    """The adapter, running."""
    program = Program([node(), str(ADAPTER)], Clock(60, 3600))
    yield program
    program.close()


def agree(port, call, **args):
    """Both answer alike, the reference and the port, errors too."""
    question = {"call": call, "args": {name: encode(value) for name, value in args.items()}}
    want, got = Server(refimpl).answer(question), port.ask(question, 2**26)
    if "error" in want:
        assert got.get("error") == want["error"], (question, got)
        return
    assert "result" in got, (question, got)
    assert first_difference(want["result"], got["result"], EXACT) is None


DASHBOARD = ("eta", "lanes", "probe_range", "overflow")


@given(data=st.data())
def test_samplers_draw_what_the_reference_draws(port, data):
    graph = data.draw(graphs(min_nodes=1, max_nodes=20), label="graph")
    main_key, probe = data.draw(KEYS), data.draw(KEYS)
    options = data.draw(sampler_options(graph, "pin_tile"))
    common = {name: value for name, value in options.items() if name not in DASHBOARD}
    for name in ("frontier", "bucket"):
        agree(port, name, graph=graph, main=main_key, probe=probe, **common)
    for name in ("dashboard", "pin_tile"):
        agree(port, name, graph=graph, main=main_key, probe=probe, **options)


@given(data=st.data())
def test_what_the_reference_refuses_is_refused(port, data):
    graph = data.draw(st.one_of(graphs(max_nodes=5), directed_graphs()), label="graph")
    number = st.one_of(st.integers(-2, 8), st.sampled_from([2.0, True, None, 2**31, "two"]))
    m, n = data.draw(number, label="m"), data.draw(number, label="n")
    options = {
        "deg_cap": data.draw(number, label="deg_cap"),
        "include": data.draw(st.sampled_from(["pushed", "popped", "both", None])),
    }
    agree(port, "frontier", graph=graph, main=1, probe=2, m=m, n=n, **options)
    board = {
        "eta": data.draw(st.sampled_from([1, 1.0, 1.5, 2, "two", 1e12, True, float("nan")])),
        "lanes": data.draw(number),
        "probe_range": "used",
        "overflow": data.draw(st.sampled_from(["grow", "truncate", "drop"])),
    }
    agree(port, "pin_tile", graph=graph, main=1, probe=2, m=m, n=n, **options, **board)


@given(data=st.data())
def test_neighbours_are_those_of_the_reference(port, data):
    graph = data.draw(st.one_of(graphs(min_nodes=1), directed_graphs()), label="graph")
    ids = st.lists(st.integers(0, max(graph.n - 1, 0)), unique=True, max_size=graph.n)
    roots = np.array(data.draw(ids, label="roots"), np.int64)
    fanouts = data.draw(st.lists(st.integers(-1, 4), max_size=3), label="fanouts")
    name = {part: data.draw(KEYS) for part in ("seed", "epoch", "batch")}
    mode = data.draw(st.sampled_from(MODES))
    how = {"mode": mode}
    if mode.startswith("labor"):
        how["batch_dependency"] = data.draw(st.integers(1, 9))
    agree(port, "sample_mfg", graph=graph, roots=roots, fanouts=fanouts, **how, **name)
    mfg = refimpl.sample_mfg(graph, roots, fanouts, **how, **name)
    hit = [
        np.array([data.draw(st.booleans()) and l < len(fanouts) for _ in nodes], np.bool_)
        for l, nodes in enumerate(mfg.nodes[1:], 1)
    ]
    agree(port, "prune_layers", mfg=mfg, hit=hit)


@given(data=st.data())
def test_subgraphs_are_those_of_the_reference(port, data):
    graph = data.draw(st.one_of(graphs(), directed_graphs()), label="graph")
    nodes = data.draw(st.lists(st.integers(-1, 9), max_size=6), label="nodes")
    agree(port, "induced_subgraph", graph=graph, nodes=np.array(sorted(nodes), np.int64))
    agree(port, "transpose_perm", graph=graph)


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["lookup", "admit", "evict", "begin"]),
        st.lists(st.integers(0, 5), unique=True, max_size=6),
        st.integers(0, 1),
    ),
    max_size=30,
)


@given(
    calls=CALLS,
    floats=st.integers(0, 30),
    t_stale=st.one_of(st.none(), st.integers(0, 4)),
    header=st.sampled_from(["continue", "cycle"]),
    overflow=st.sampled_from(["wrap", "drop"]),
    staleness=st.sampled_from(["stamp", "header_only"]),
    refill=st.booleans(),
)
def test_the_cache_does_what_the_reference_does(port, calls, floats, **options):
    """Any run of calls, in iterations that go up."""
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    asked, i = [["fill", {"X": X, "hotness": np.arange(6) % 4}]], 0
    for k, (method, ids, later) in enumerate(calls):
        i += later
        nodes = np.array(ids, np.int32)
        rest = {"layer": 1 + k % 2, "ids": nodes, "i": i}
        if method == "begin":
            asked.append(["begin_update", {"i": i}])
        elif method == "admit":
            values = np.full((len(ids), 3), k, np.float32)
            asked.append(["admit", {**rest, "values": values}])
        else:
            asked.append([method, rest])
    sizes = {"n": 6, "d": 2, "h": 3, "layers": 2, "floats": floats}
    rest = {"dtype": "float32", "start_iter": 0, **options}
    agree(port, "BidirectionalCache", **sizes, calls=asked, **rest)


MARKED = {
    "kernels/frontier.mjs": ["refimpl.samplers.frontier:frontier"],
    "kernels/pin_tile.mjs": [
        "refimpl.samplers.pin_tile:pin_tile",
        "refimpl.samplers.pin_tile:Dashboard",
    ],
    "kernels/dashboard.mjs": [
        "refimpl.samplers.dashboard:dashboard",
        "refimpl.samplers.dashboard:first_dashboard",
        "refimpl.samplers.dashboard:SlotDashboard",
    ],
}


def marked_lines(source, comment):
    """Return (prefix, line) of all marks in the comments of a source."""
    comments = re.findall(rf"{comment} (.*)$", source, re.M)
    marks = paper_lines.marks("\n".join(f"x  # {words}" for words in comments))
    return {(mark.prefix, line) for mark in marks for line in mark.lines}


@pytest.mark.parametrize("path", MARKED)
def test_marks_of_the_papers_lines_are_those_of_the_reference(path):
    """Of each file, all of them, and nothing but errata that the reference names, too."""
    ours = (FOLDER / path).read_text()
    theirs = "\n".join(paper_lines.source_of(place)[2] for place in MARKED[path])
    assert marked_lines(ours, "//") == marked_lines(theirs, "#") != set()
    errata = set(re.findall(r"E-[A-Z]\d+", ours))
    assert errata <= set(re.findall(r"E-[A-Z]\d+", theirs)) and errata


def test_the_script_is_small_and_puts_text_in_as_text():
    script = bundling.bundle()
    assert 50_000 < len(script.encode()) < MOST_BYTES
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|\bdocument\.write|\beval\(|\bFunction\("
    forbidden += r"|\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(|\bstyle[:=]"
    assert re.findall(forbidden, script) == []


def test_each_module_stands_before_those_that_import_it():
    order = re.findall(r"^// (\S+\.mjs)$", bundling.bundle(), re.M)
    assert len(order) == len(set(order)) and order[-1] == bundling.ENTRY
    for path in order:
        for found in bundling.IMPORT.finditer((FOLDER / path).read_text()):
            assert order.index(bundling.target(path, found[2])) < order.index(path)
    assert all(a != b for a, b in pairwise(order))


@pytest.mark.parametrize(
    "files, said",
    [
        (
            {"a.mjs": 'import { b } from "./b.mjs";\n', "b.mjs": 'import { a } from "./a.mjs";\n'},
            "itself",
        ),
        ({"a.mjs": 'import b from "./b.mjs";\n', "b.mjs": ""}, "plain forms"),
    ],
)
def test_what_cannot_be_put_together_is_refused(tmp_path, monkeypatch, files, said):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(bundling, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=said):
        bundling.bundle("a.mjs")
