"""What `bench peers` is made of: work compared, peers named as missing, ratios of one run."""

import importlib
import os
import sys

import numpy as np
import pytest

from refimpl import Sampler, as_graph
from refimpl.lab.data import kronecker

pytestmark = pytest.mark.runs


def module(name):
    return importlib.import_module(f"bench.peers.{name}")


@pytest.fixture
def main(monkeypatch, tmp_path):
    """The command line, on an idle machine that has no peer's environment."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    monkeypatch.setattr(module("environment"), "FOLDER", tmp_path)
    return importlib.import_module("bench.__main__").main


def induced(graph, nodes):
    """A subgraph as a contestant answers it."""
    part = graph.to_scipy()[nodes][:, nodes].tocoo()
    return {"nodes": nodes, "rows": nodes[part.row], "cols": nodes[part.col]}


def program(folder, line):
    """Return the path of a program of one line of a shell."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


# work


@pytest.mark.parametrize("wrong", ["value", "shape", "name"])
def test_unequal_answers_are_refused(wrong):
    compare = module("compare").compare
    right = {"loss": np.array(3.0), "layer1.W": np.arange(6.0).reshape(2, 3)}
    other = {key: array.copy() for key, array in right.items()}
    compare({"ours": right, "peer": other})
    if wrong == "value":
        other["layer1.W"][1, 2] += 0.1
    elif wrong == "shape":
        other["layer1.W"] = other["layer1.W"].T
    else:
        other["layer2.W"] = other.pop("layer1.W")
    with pytest.raises(AssertionError, match="peer"):
        compare({"ours": right, "peer": other})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda got: got.update(rows=got["rows"][1:], cols=got["cols"][1:]), "entries of"),
        (lambda got: got.update(nodes=np.append(got["nodes"], got["nodes"][0])), "a node twice"),
        (lambda got: got["cols"].__setitem__(0, got["rows"][0]), "the graph has not"),
        (lambda got: got.update(nodes=got["nodes"][1:]), "ends elsewhere"),
    ],
)
def test_a_subgraph_that_is_not_induced_is_refused(change, message):
    graph = kronecker(8, 8)
    check, nodes = module("compare").check_subgraph, np.flatnonzero(graph.degrees())[:60]
    got = induced(graph, nodes)
    got["rows"], got["cols"] = (np.roll(got[key], -1) for key in ("rows", "cols"))
    if np.diff(graph.to_scipy().diagonal()[nodes]).any():
        pytest.skip("loops")
    check(graph, got, "peer")
    change(got)
    with pytest.raises(AssertionError, match=message):
        check(graph, got, "peer")


def test_only_the_walked_edges_pass_where_no_more_is_promised():
    graph = kronecker(8, 8)
    got = induced(graph, np.flatnonzero(graph.degrees())[:60])
    fewer = got | {"rows": got["rows"][5:], "cols": got["cols"][5:]}
    module("compare").check_subgraph(graph, fewer, "peer", induced=False)


def test_samples_of_another_size_are_refused():
    compare_sizes = module("compare").compare_sizes
    ours = [(100, 400), (104, 410), (96, 390)]
    compare_sizes({"ours": ours, "peer": [(109, 430)]})
    for other in ([(140, 400)], [(100, 600)]):
        with pytest.raises(AssertionError, match="peer draws"):
            compare_sizes({"ours": ours, "peer": other})


def test_fewer_edges_of_a_batch_are_refused_beside_the_mode_that_draws_likewise():
    compare_edges = module("compare").compare_edges
    edges = {"ours": 700, "ours, layered": 900, "DGL, sample_neighbors": 880}
    compare_edges(edges)
    with pytest.raises(AssertionError, match=r"DGL.* 700 edges, ours, layered: 900"):
        compare_edges(edges | {"DGL, sample_neighbors": 700})


def test_walks_of_pyg_are_held_to_our_sizes_where_no_node_is_alone():
    alike, lone = module("jobs").alike, kronecker(8, 8)
    assert (lone.degrees() == 0).any() and alike("walks", lone) == ("ours", "DGL")
    ring = as_graph(np.stack([np.arange(9), (np.arange(9) + 1) % 9]), symmetrize=True)
    assert alike("walks", ring) == ("ours", "DGL", "PyG")
    assert alike("edge", ring) == ("ours", "DGL") and alike("frontier", ring) == ("ours",)


def test_ours_is_the_sampler_that_training_has():
    jobs, ours = module("jobs"), module("ours")
    for kind in jobs.SAMPLERS:
        Sampler(ours.NAMES[kind], **jobs.Subgraphs(kind, 0, 1).options())
    assert jobs.Subgraphs("frontier", 0, 1).options() == {"m": 1000, "n": 8000, "deg_cap": 30}
    assert jobs.Subgraphs("walks", 0, 100).options() == {"r": 20, "h": 2}


# peers that are not there


def test_without_peers_ours_is_measured_and_each_peer_named_as_missing(main, capsys):
    assert main(["peers", "--quick", "-k", "degree 6 hidden 14"]) == 0
    printed = capsys.readouterr().out
    for name in ("torch", "PyG", "DGL"):
        assert f"- Peer: {name}: missing, not installed: --install {name}" in printed
        assert f"{name} (not installed: --install {name})" in printed.split("Missing:")[1]
    assert "| sage | 6 | 14 |" in printed and "littleballoffur" not in printed


@pytest.mark.parametrize("what", ["samplers", "neighbours", "product", "inference"])
def test_each_kind_of_job_has_its_table_without_peers(main, capsys, what):
    assert main(["peers", "--quick", "-k", what]) == 0
    printed = capsys.readouterr().out
    assert "| ours |" in printed or "| ours " in printed
    assert "Missing: " in printed and "over ours" in printed


def test_an_interpreter_that_has_no_peer_is_refused(main, capsys, tmp_path):
    assert main(["peers", "--quick", "--python", program(tmp_path, "")]) == 2
    assert "cannot import torch" in capsys.readouterr().err


def test_unknown_peers_and_widths_are_refused(main, capsys):
    assert main(["peers", "--install", "dgl"]) == 2
    assert "--install knows torch, PyG, DGL" in capsys.readouterr().err
    assert main(["peers", "--hidden", "7"]) == 2
    assert "--hidden must be of" in capsys.readouterr().err


def test_what_pip_cannot_install_is_missing_with_its_reason(main, monkeypatch):
    environment = module("environment")
    monkeypatch.setattr(environment, "PEERS", {"MKL": environment.PEERS["MKL"]})
    monkeypatch.setattr(environment.venv, "create", lambda path, **_: path.mkdir())
    said = environment.subprocess.CompletedProcess([], 1, "noise\nERROR: No matching mkl\n", "")
    monkeypatch.setattr(environment.subprocess, "run", lambda *_, **__: said)
    assert environment.interpreters(install=["MKL"]) == ({}, {"MKL": "No matching mkl"})


def test_a_peer_that_cannot_start_or_lacks_a_layer_is_missing_and_no_crash(main, tmp_path):
    """A process that ends at once, and one that has not what a job needs."""
    jobs, measure = module("jobs"), module("measure")
    plan = jobs.Plan([1], 1, quick=True, matching="product")
    result = measure.measure(
        plan, {"MKL": program(tmp_path, "exit 3"), "torch": sys.executable}, {}
    )
    reason = "bench.peers.mkl: the program ended with status 3"
    assert result["missing"]["MKL"] == reason
    assert any(reason in line for line in module("table").render(result))


def test_a_contestant_that_hangs_is_ended(monkeypatch, tmp_path):
    contestant = module("contestant")
    monkeypatch.setattr(contestant, "PATIENCE", 0.5)
    with (
        contestant.Contestant(program(tmp_path, "exec sleep 600"), "bench.peers.mkl", 1) as one,
        pytest.raises(module("protocol").ContestantError, match=r"no answer in 0\.5 seconds"),
    ):
        one("versions")


def test_a_contestant_has_no_other_settings_of_thread_pools(monkeypatch):
    monkeypatch.setenv("OMP_PROC_BIND", "true")
    with module("contestant").Contestant(sys.executable, "bench.peers.ours", 2) as one:
        environ = one.worker._place["env"]
        assert "OMP_PROC_BIND" not in environ and environ["OMP_NUM_THREADS"] == "2"


# times and ratios


def steps(**more):
    """A result of `measure` with a step of 10 ms beside one of 15 and one of 12."""
    timing = importlib.import_module("bench.timing")
    seconds = {"ours": 0.010, "torch by hand": 0.015, "PyG": 0.012, "DGL": 0.5}
    dense = {"dense, SciPy": 0.008, "dense, fastimpl": 0.006, "dense, torch": 0.012}
    one = {
        "name": "step sage degree 15 hidden 512",
        "model": "sage",
        "degree": 15,
        "hidden": 512,
        "threads": 1,
        "s": 8000,
        "f": 602,
        "e": 1,
        "times": {name: timing.Times(s, s, 0.0) for name, s in (seconds | dense).items()},
        "once": ["DGL"],
        "lacking": {"PyG, compiled": "torch.compile: no compiler"},
        "dense_macs": 6e6,
    }
    found = dict.fromkeys(module("jobs").WAYS, ()) | {"steps": [one]}
    return found | {"rounds": 9, "peers": [], "missing": {}, "versions": {}} | more


def cells(lines, start):
    row = next(line for line in lines if line.startswith(start))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_ratios_are_of_times_of_the_same_job():
    lines = list(module("table").render(steps(missing={"MKL": "none"})))
    title, row = cells(lines, "| model"), cells(lines, "| sage")
    got = dict(zip(title, row, strict=True))
    assert (got["ours"], got["PyG"], got["DGL"]) == ("10.0", "12.0", "500*")
    assert (got["fastest peer"], got["over ours"]) == ("PyG", "1.20")
    assert (got["dense products alone"], got["ours over them"]) == ("6.00", "1.67")
    assert (got["GF/s: SciPy's BLAS"], got["GF/s: torch's"]) == ("2.0", "1.0")
    assert "PyG, compiled" not in title
    assert "Missing: PyG, compiled (torch.compile: no compiler)." in lines


def test_ratios_of_an_exact_pass_are_of_its_fastest_peer():
    timing, cases = importlib.import_module("bench.timing"), module("cases")
    seconds = {"ours": 0.2, "PyG, whole graph": 0.5, "PyG, layer by layer": 4.0}
    one = {
        **cases.PASSES[0]._asdict(),
        "name": module("jobs").name_of("inference", cases.PASSES[0]),
        "threads": 2,
        "times": {name: timing.Times(s, s, 0.0) for name, s in seconds.items()},
        "once": ["PyG, layer by layer"],
        "lacking": {"torch by hand": "no torch"},
    }
    lines = list(module("table").render(steps(steps=[], inference=[one])))
    got = dict(zip(cells(lines, "| model"), cells(lines, "| sage"), strict=True))
    assert (got["ours"], got["PyG, whole graph"], got["PyG, layer by layer"]) == (
        *("200", "500"),
        "4,000*",
    )
    assert (got["fastest peer"], got["over ours"]) == ("PyG, whole graph", "2.50")
    assert "Missing: torch by hand (no torch)." in lines


def test_our_exact_pass_is_of_all_nodes_with_biases(tmp_path):
    """Beside dense matrices, from the file that peers read."""
    cases, ours = module("cases"), module("ours")
    described = cases.export_pass(cases.TINY_PASSES[0], tmp_path / "pass.npz")
    with np.load(tmp_path / "pass.npz") as held:
        A = as_graph((held["graph_indptr"], held["graph_indices"])).to_scipy().toarray()
        A /= np.maximum(A.sum(axis=1, keepdims=True), 1)
        X = held["X"]
        for place in ("layer1", "layer2"):
            W_neigh, W_self, b = (held[f"{place}.{name}"] for name in ("W_neigh", "W_self", "b"))
            assert b.any()
            Z = A @ X @ W_neigh + X @ W_self + b
            X = np.maximum(Z, 0)
    got = ours.Inference(described).answer()["logits"]
    np.testing.assert_allclose(got, Z, rtol=1e-4, atol=1e-4)


def test_ours_on_other_threads_is_in_no_ratio():
    result = steps()
    one = result["steps"][0]
    timing = importlib.import_module("bench.timing")
    two = one | {"threads": 2, "times": one["times"] | {"ours": timing.Times(0.006, 0.006, 0)}}
    rows = [
        line for line in module("table").render(result | {"steps": [one, two]}) if "sage" in line
    ]
    assert "| PyG | 1.20 |" in rows[0] and "| PyG | 2.00 |" in rows[1]


def test_dgl_stands_beside_the_mode_that_draws_likewise():
    beside = module("jobs").beside
    assert beside("DGL, sample_neighbors_fused") == "ours, layered"
    assert beside("NeighborLoader on torch-sparse") == "ours"


def test_who_is_far_slower_is_timed_once_and_all_others_in_turns(monkeypatch, tmp_path):
    jobs, measure = module("jobs"), module("measure")
    plan = jobs.Plan([1], 4, quick=True)
    run, calls = measure.Run(plan, {}, {}, tmp_path), []
    took = {"ours": 0.03, "near": 0.2, "far": 2.0}

    def contestant(asked, name=None, repeat=1):
        if asked == "run":
            calls.append(name)
            return took[name], took[name]
        return None

    run.contestants = {"ours": contestant}
    monkeypatch.setattr(measure, "PAUSE", 0)
    found = run.in_turns(dict.fromkeys(took, "ours"))
    assert found["once"] == ["far"]
    assert [calls.count(name) for name in took] == [11, 11, 2]  # 1 and 5 turns of 2; 1 and 1
    assert found["times"]["near"].median == 0.2
    assert calls[3:11:2] in (["ours", "near", "near", "ours"], ["ours", "near", "ours", "near"])


def test_times_are_of_one_sample_where_a_call_draws_several():
    jobs, measure, timing = (
        module("jobs"),
        module("measure"),
        importlib.import_module("bench.timing"),
    )
    names = list(jobs.SUBGRAPHS)[:3]
    found = {
        "times": {n: timing.Times(0.8, 0.4, 0.08) for n in names},
        "cpu": dict.fromkeys(names, 1.6),
    }
    found = measure.per_sample(found, "subgraphs")
    assert [found["times"][name].median for name in names] == pytest.approx([0.1, 0.8, 0.8])
    assert [found["cpu"][name] for name in names] == pytest.approx([0.2, 1.6, 1.6])
