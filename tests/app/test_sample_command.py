"""`minibatch-gnn sample`, its numbers against NetworkX's."""

import inspect
import json
import sys
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tiny_data import write_graphsaint

import refimpl
from refimpl.lab.apps import plots, sampler_options, structure
from refimpl.lab.apps.cli import main
from refimpl.lab.apps.structure import assortativity, clustering
from refimpl.samplers.sampling import KERNELS

pytestmark = pytest.mark.runs

COMPUTERS = Path(__file__).parents[3] / "shared" / "data" / "computers"
DRAW = plots.draw_sample
KARATE = ("--data", "karate", "--graph", "full")


@pytest.fixture
def sample(tmp_path, capfd, monkeypatch):
    """Run `sample` without a picture; return (status, stdout, stderr, content of sample.json)."""
    monkeypatch.setattr(plots, "draw_sample", lambda *args: False)

    def sample(*options, out="out"):
        status = main(["sample", "--out", str(tmp_path / out), "--overwrite", *map(str, options)])
        text = capfd.readouterr()
        written = tmp_path / out / "sample.json"
        return status, *text, json.loads(written.read_text()) if written.exists() else None

    return sample


def row(text, name):
    """Return the words after `name` in a printed table."""
    (line,) = [line for line in text.splitlines() if line.startswith(name + "  ")]
    return line.removeprefix(name).split()


def numbers(graph):
    """Return what the command says of a graph, by NetworkX."""
    degrees = [d for _, d in graph.degree]
    correlation = None
    if len({degrees[v] for e in nx.convert_node_labels_to_integers(graph).edges for v in e}) > 1:
        correlation = pytest.approx(nx.degree_assortativity_coefficient(graph), abs=1e-12)
    edges = graph.number_of_edges()
    return {
        "nodes": len(graph),
        "edges": edges,
        "isolated": len(list(nx.isolates(graph))),
        "mean_degree": pytest.approx(np.mean(degrees)),
        "neighbour_degree": pytest.approx(sum(d * d for d in degrees) / 2 / edges)
        if edges
        else None,
        "max_degree": max(degrees),
        "clustering": pytest.approx(nx.average_clustering(graph), abs=1e-12),
        "assortativity": correlation,
        "clustering_nodes": len(graph),
    }


def test_the_numbers_of_karate_are_those_of_networkx(sample, gnn):
    status, stdout, stderr, result = sample(
        *KARATE, "--impl", gnn.__name__, "--budget", 16, "--frontier", 4, "--seed", 5
    )
    assert (status, stderr) == (0, "")
    club = refimpl.lab.data.karate()
    assert result["graph"] == {"name": "karate", **numbers(nx.karate_club_graph())}
    sampler = gnn.Sampler("pin_tile", m=4, n=16)
    drawn = gnn.sample_many(club, sampler, 5, 0, 10)
    cut = [nx.karate_club_graph().subgraph(sub.nodes.tolist()) for sub in drawn]
    assert result["each"] == [numbers(graph) for graph in cut]
    for name in ("nodes", "clustering", "max_degree"):
        mean = np.mean([one[name] for one in result["each"]])
        assert result["subgraphs"][name] == pytest.approx(mean)
        assert float(row(stdout, TABLE[name])[1]) == pytest.approx(mean, rel=1e-3)
    for i, counter in enumerate(refimpl.graph.Counters._fields):
        mean = np.mean([sub.counters[i] for sub in drawn])
        assert result["counters"][counter] == pytest.approx(mean)
        assert float(row(stdout, counter.replace("_", " "))[0]) == pytest.approx(mean, rel=1e-3)
    sets = [set(sub.nodes.tolist()) for sub in drawn]
    jaccard = [len(a & b) / len(a | b) for a, b in combinations(sets, 2)]
    assert result["overlap"] == pytest.approx(np.mean(jaccard))
    assert result["hub_share"] == pytest.approx(np.mean([len(s) / 34 for s in sets]))
    assert row(stdout, "mean clustering coefficient")[0] == "0.5706"
    assert row(stdout, "degree assortativity")[0] == "-0.4756"
    assert float(row(stdout, "overlap of two subgraphs (Jaccard)")[0]) > 0


TABLE = {
    "nodes": "nodes",
    "clustering": "mean clustering coefficient",
    "max_degree": "largest degree",
}


def test_what_is_written_and_printed(sample, tmp_path, gnn, monkeypatch):
    monkeypatch.setattr(plots, "draw_sample", DRAW)
    status, stdout, _, result = sample(*KARATE, "--impl", gnn.__name__, "--threads", 1)
    assert status == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "sample.json",
        "sample.png",
    ]
    assert (tmp_path / "out" / "sample.png").read_bytes().startswith(b"\x89PNG")
    for name in ("sample.json", "sample.png"):
        assert f"wrote {tmp_path / 'out' / name}" in stdout
    assert f"10 pin-tile subgraphs of karate drawn by {gnn.__name__}" in stdout
    assert result["seconds"] > 0 and result["threads"] == 1
    settings = result["settings"]
    assert (settings["budget"], settings["frontier"]) == (6, 1)  # a fifth, an eighth of that
    assert (settings["sampler"], settings["eta"], settings["clip"]) == ("pin_tile", 2.0, None)
    assert "edges" not in settings  # it does not apply


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sample", *KARATE, "--count", "1"]) == 0
    stdout = capsys.readouterr().out
    assert row(stdout, "overlap of two subgraphs (Jaccard)") == ["-"]  # there is only one
    assert "wrote" not in stdout
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_picture_is_left_out(sample, tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "draw_sample", DRAW)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, stdout, _, _ = sample(*KARATE)
    assert status == 0 and "no sample.png: matplotlib is not installed" in stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["sample.json"]


def test_data_sets_give_their_training_graph_unless_told_otherwise(sample, tmp_path):
    folder = write_graphsaint(tmp_path / "tiny")
    assert sample("--data", folder)[3]["graph"]["nodes"] == 130
    assert sample("--data", folder, "--graph", "full")[3]["graph"]["nodes"] == 200
    assert sample("--data", "karate")[3]["graph"]["nodes"] == 18
    assert sample(out="default")[3]["graph"]["name"] == "communities (training nodes)"


def test_random_graphs_are_made_on_the_spot(sample):
    graph = refimpl.lab.data.kronecker(8, 12)
    result = sample("--data", "kronecker:8:12", "--seed", 3, "--sampler", "random-walk")[3]
    assert result["graph"]["edges"] == 8 * 12 * 16
    assert result["graph"]["isolated"] == np.count_nonzero(graph.degrees() == 0) > 0
    assert result["graph"]["assortativity"] == pytest.approx(assortativity(graph))
    assert result["settings"]["graph"] is None
    assert sample("--data", "power-law:300:4.5")[3]["graph"]["edges"] == 675


SIZES = {  # that a graph of 6600 nodes leads to
    "frontier": 165,
    "budget": 1320,
    "edges": 660,
    "roots": 440,
    "walk_length": 2,
}
NEW = {  # another value for each option
    "frontier": 50,
    "budget": 400,
    "degree_cap": 9,
    "include": "popped",
    "eta": 3.5,
    "lanes": 4,
    "probing": "lanes",
    "probe_range": "used",
    "overflow": "grow",
    "edges": 30,
    "edge_method": "alias",
    "roots": 20,
    "walk_length": 4,
    "burn": 0.4,
}


def of_sampler(sampler, options):
    """Return those of `options` that set an argument of a sampler."""
    parameters = inspect.signature(KERNELS[sampler]).parameters
    names = sampler_options.PARAMETERS
    return {name: value for name, value in options.items() if names[name] in parameters}


def flags(options):
    return [word for name, v in options.items() for word in ("--" + name.replace("_", "-"), v)]


def test_every_argument_of_a_sampler_has_an_option():
    names = {name for kernel in KERNELS.values() for name in inspect.signature(kernel).parameters}
    options = {sampler_options.PARAMETERS[name] for name in NEW}
    assert names - {"graph", "main", "probe"} == options
    assert NEW.keys() | {"clip"} == sampler_options.PARAMETERS.keys()


@pytest.mark.parametrize("sampler", KERNELS)
def test_every_sampler_with_its_defaults_and_its_flags(sample, sampler, gnn):
    sizes, own = of_sampler(sampler, SIZES), of_sampler(sampler, NEW)
    command = ("--sampler", sampler.replace("_", "-"), "--impl", gnn.__name__, "--count", 2)
    status, _, stderr, result = sample(*command)
    assert (status, stderr) == (0, "")
    assert {name: result["settings"][name] for name in sizes} == sizes
    plain = result["subgraphs"]["nodes"]
    assert 300 < plain <= 1320
    own = {**own, "clip": 8}
    status, _, stderr, result = sample(*command, *flags(own))
    assert (status, stderr) == (0, "")
    used = {name: v for name, v in result["settings"].items() if name in (*NEW, "clip")}
    assert used == own
    assert result["settings"]["sampler"] == sampler
    assert 0 < result["subgraphs"]["nodes"] <= 400
    for one in result["each"]:
        assert one["nodes"] % 8 == 0
    for name in NEW.keys() - own.keys():  # a flag of other samplers is refused
        status, stdout, stderr, _ = sample(*command, *flags({name: NEW[name]}))
        assert (status, stdout) == (2, "")
        flag = "--" + name.replace("_", "-")
        assert f"{flag} does not apply with --sampler {sampler.replace('_', '-')}" in stderr


def test_the_help_of_an_option_names_the_argument_that_it_sets():
    for name, parameter in sampler_options.PARAMETERS.items():
        if name != parameter:
            found = sampler_options.SAMPLER_OPTIONS[name].help
            assert found.startswith(f"set {parameter}, "), name


def test_a_sampler_is_called_with_hyphens_or_underscores(sample):
    a, b = (sample(*KARATE, "--sampler", name)[3] for name in ("pin-tile", "pin_tile"))
    assert a["settings"] == b["settings"]
    assert a["each"] == b["each"]


def test_flags_reach_the_sampler(sample):
    """Each flag that may change a subgraph or a counter does so."""
    for sampler in KERNELS:
        left_out = ("frontier", "budget", "roots", "probing")  # the last changes neither
        own = of_sampler(sampler, NEW)
        own = {name: v for name, v in own.items() if name not in left_out}
        base = ("--sampler", sampler.replace("_", "-"), "--data", "power-law:400:20", "--count", 3)
        plain = sample(*base)[3]
        for name, value in {**own, "clip": 64}.items():
            size = ("--eta", 1.01) if name == "overflow" else ()
            other = sample(*base, *size, *flags({name: value}))[3]
            before = sample(*base, *size)[3] if size else plain
            assert other["counters"] != before["counters"] or other["each"] != before["each"], name


def test_both_packages_draw_the_same(sample):
    for sampler in KERNELS:
        slow, fast = (
            sample("--impl", name, "--sampler", sampler, "--data", "power-law:400:20")[3]
            for name in ("refimpl", "fastimpl")
        )
        for part in ("counters", "graph", "each", "hub_share", "overlap"):
            assert slow[part] == fast[part], (sampler, part)


BAD = {
    "count": (["--count", "0"], "--count must be in [1, 2147483647], got 0"),
    "seed": (["--seed", "-1"], "--seed must be in [0, "),
    "threads": (["--threads", "0"], "--threads must be in [1, 1024], got 0"),
    "sampler": (["--sampler", "snowball"], "--sampler: invalid choice: 'snowball'"),
    "budget": (["--budget", "0"], "--budget must be at least 1, got 0"),
    "frontier": (
        ["--frontier", "99"],
        "--frontier must be at most the number of nodes (34), got 99",
    ),
    "clip": (["--clip", "0"], "--clip must be in [1, "),
    "folder": (["--data", "nowhere"], "nowhere"),
    "impl": (["--impl", "json"], "--impl json is no implementation"),
    "no degree": (["--data", "kronecker:9"], "--data must be kronecker:SCALE:DEGREE"),
    "no number": (["--data", "power-law:9:x"], "--data must be power-law:NODES:DEGREE"),
    "too dense": (["--data", "power-law:9:9"], "mean_degree must be at most 8"),
    "train option": (["--epochs", "3"], "--epochs"),
}


@pytest.mark.parametrize("options, message", BAD.values(), ids=BAD.keys())
def test_bad_options_are_one_line_and_status_2(sample, options, message):
    graph = () if "--data" in options else KARATE
    status, stdout, stderr, _ = sample(*graph, *options)
    assert (status, stdout) == (2, "")
    assert len(stderr.splitlines()) == 1 and message in stderr


def test_more_bad_input(sample, tmp_path):
    _, _, stderr, _ = sample("--data", "kronecker:6:3", "--graph", "full")
    assert "--graph does not apply with --data kronecker:SCALE:DEGREE" in stderr
    (tmp_path / "file").write_text("")
    status, _, stderr, _ = sample(*KARATE, out="file")
    assert status == 2 and "--out must be a folder" in stderr


# ---- the numbers themselves ----------------------------------------------------------------------

SHAPES = {
    "no nodes": nx.empty_graph(0),
    "no edges": nx.empty_graph(3),
    "ring": nx.cycle_graph(6),
    "clique and pendant": nx.lollipop_graph(5, 1),
    "star": nx.star_graph(4),
    "two parts": nx.disjoint_union(nx.complete_graph(4), nx.path_graph(3)),
    "random": nx.gnp_random_graph(60, 0.2, seed=2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_structure_of_small_graphs(shape, monkeypatch):
    monkeypatch.setattr(structure, "BLOCK_PATHS", 50)  # several blocks of rows
    graph, known = refimpl.as_graph(SHAPES[shape]), SHAPES[shape]
    result = structure.structure(graph)
    if len(known):
        assert result == numbers(known)
    else:
        assert result["clustering"] is result["assortativity"] is result["mean_degree"] is None


def test_clustering_of_a_large_graph_is_over_random_nodes(sample, monkeypatch):
    graph = refimpl.lab.data.power_law(3000, 30)
    exact = clustering(graph, np.arange(3000))
    monkeypatch.setattr(structure, "MOST_PATHS", int((graph.degrees() ** 2).sum()) // 5)
    _, stdout, _, result = sample("--data", "power-law:3000:30", "--count", 2)
    used = result["graph"]["clustering_nodes"]
    assert 590 <= used <= 600
    assert f"clustering of the graph: over {used} random nodes" in stdout
    assert "clustering of the subgraphs" not in stdout
    assert result["graph"]["clustering"] == pytest.approx(exact, rel=0.1)
    assert result["graph"]["clustering"] != exact


@pytest.mark.skipif(not COMPUTERS.exists(), reason=f"no folder {COMPUTERS}")
def test_computers(sample):
    status, stdout, stderr, result = sample("--data", COMPUTERS, "--graph", "full")
    assert (status, stderr) == (0, "")
    graph = refimpl.load_dataset(COMPUTERS).graph
    known = result["graph"]
    assert (known["nodes"], known["edges"], known["isolated"]) == (13752, 245861, 281)
    assert known["clustering_nodes"] == 13752
    ends = np.repeat(graph.degrees(), graph.degrees()), graph.degrees()[graph.indices]
    assert known["assortativity"] == pytest.approx(np.corrcoef(*ends)[0, 1])
    nodes = np.random.default_rng(0).permutation(13752)[:100]
    local = nx.clustering(graph.to_networkx(), nodes.tolist())
    assert clustering(graph, nodes) == pytest.approx(np.mean(list(local.values())))
    assert 0.3 < known["clustering"] < 0.4
    assert 0.9 < result["hub_share"] <= 1  # hubs are in nearly every subgraph
    assert 0.1 < result["overlap"] < 0.3
    assert row(stdout, "nodes")[0] == "13752"
    assert row(stdout, "share of the 50 largest hubs") == [f"{result['hub_share']:.4g}"]
