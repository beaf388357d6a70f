"""What `bench loaders` compares before it measures, what it makes of the times, and its report."""

import importlib
import os
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")

from bench import loaders  # noqa: E402
from bench.peers.protocol import ContestantError  # noqa: E402
from bench.pyg_ways import Way, ours, trimmed, ways, whole  # noqa: E402

OPTIONS = SimpleNamespace(
    scale=8, degree=8, roots=60, batch=15, fanouts=[4, 3], features=6, hidden=8, workers=[0]
)
BACKENDS = ("WITH_PYG_LIB", "WITH_TORCH_SPARSE")


@pytest.fixture
def main(monkeypatch):
    """The command line, on an idle machine."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    return importlib.import_module("bench.__main__").main


def compared(found):
    data, roots = loaders.made(OPTIONS)
    return list(loaders.compare(OPTIONS, data, roots, found))


def theirs(loader=ours, logits=whole):
    """Ways of ours, and one that is said to be PyG's."""
    return {("ours", "edge_index"): Way(ours, whole), ("PyG", "edge_index"): Way(loader, logits)}


def test_ways_that_do_the_same_work_are_told_to():
    same, edges = compared(theirs() | {("ours", "trimmed"): Way(ours, trimmed)})
    assert same == "Compared: the same logits with all neighbours, 3 ways."
    assert edges.startswith("Edges drawn in an epoch: ") and edges.count(",") >= 1


def test_a_loader_that_leaves_an_edge_out_is_refused():
    def one(data, *options):
        for batch in ours(data, *options):
            batch.edge_index = batch.edge_index[:, 1:]  # edges into the roots come first
            yield batch

    with pytest.raises(ContestantError, match="the logits of PyG by edge_index differ"):
        compared(theirs(one))


def test_a_loader_that_draws_fewer_edges_is_refused():
    def fewer(data, roots, fanouts, *options):
        for batch in ours(data, roots, fanouts, *options):
            if -1 not in fanouts:
                batch.edge_index = batch.edge_index[:, batch.num_edges // 3 :]
            yield batch

    with pytest.raises(ContestantError, match="an epoch of ours draws .* edges, one of PyG "):
        compared(theirs(fewer))


def test_a_model_with_other_logits_is_refused():
    with pytest.raises(ContestantError, match="the logits of PyG by edge_index differ"):
        compared(theirs(logits=lambda model, batch: whole(model, batch) + 0.01))


def test_all_ways_that_are_here_give_the_same_logits_and_sizes():
    found = ways()
    assert compared(found)[0].endswith(f" {len(found)} ways.")
    data, roots = loaders.made(OPTIONS)
    for (who, given), way in found.items():
        for workers in (0, 2):
            batches = list(way.loader(data, roots, [4, 3], 15, workers))
            assert [batch.batch_size for batch in batches] == [15] * 4, (who, given)
            assert all(torch.equal(batch.x, data.x[batch.n_id]) for batch in batches)
            if "csr" in given:
                matrices = batches[0].adjs if "adjs" in given else [batches[0].adj_t]
                assert {matrix.layout for matrix in matrices} == {torch.sparse_csr}


def test_the_best_of_each_is_that_of_the_median_of_its_fastest_row():
    seconds = {
        ("loading", "PyG", "edge_index", 0): [4.0, 1.0, 9.0],
        ("loading", "PyG", "adj_t", 2): [5.0, 6.0, 7.0],
        ("loading", "ours", "edge_index", 0): [3.0, 3.0, 3.0],
        ("loading", "ours", "adjs", 2): [0.1, 2.0, 8.0],
        ("loading and training", "ours", "adjs", 0): [1.0],
        ("loading and training", "PyG", "adj_t", 0): [0.5],
    }
    assert loaders.best(seconds, "loading") == "2.0x"
    assert loaders.best(seconds, "loading and training") == "0.5x"


def test_without_a_backend_ours_is_measured_and_it_is_said(main, monkeypatch, capsys):
    typing = importlib.import_module("torch_geometric.typing")
    for name in BACKENDS:
        monkeypatch.setattr(typing, name, False)
    assert main(["loaders", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert loaders.NO_BACKEND in printed and "its backend: none" in printed
    assert "| loading and training | ours | adjs |" in printed and "| PyG |" not in printed
    assert "Compared: the same logits with all neighbours, 3 ways." in printed


def test_with_a_backend_each_way_has_its_rows(main, capsys):
    pytest.importorskip("torch_sparse", reason="torch-sparse is not installed")
    assert main(["loaders", "--quick", "--workers", "0"]) == 0
    printed = capsys.readouterr().out
    for who, given in ways():
        assert f"| loading and training | {who} | {given} |" in printed
        assert (f"| loading | {who} | {given} |" in printed) != given.endswith("trimmed")
    assert "torch-sparse " in printed and "PyG's best over our best: " in printed
