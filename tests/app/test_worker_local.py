"""Workers in parts of their own: what they see, and that a run is the same on any ranks."""

import numpy as np
import pytest
from tiny_data import same_run
from typed_data import write_typed
from worker_cases import OPTIONS, bits, config_of, divisors, on_ranks, small_dataset

import refimpl
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.distributed import local
from refimpl.lab.distributed.local import first_parts, shuffled
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.methods import METHODS
from refimpl.loader import SimComm

pytestmark = pytest.mark.runs

IN_PARTS = ("graph", "neighbor", "layer", "fastgcn", "ladies")


def local_of(method, a_step=4, /, shuffle=0.3, **options):
    return config_of(method, a_step, partition="local", shuffle=shuffle, epochs=3, **options)


def parts_of(data, config):
    """Return the part of each node in each epoch, by the definition."""
    parts = [first_parts(data.train_graph, config.workers_a_step, config.rng)]
    for epoch in range(1, config.epochs):
        parts.append(shuffled(parts[-1], config.shuffle, config.rng, epoch))
    return parts


@pytest.fixture
def seen(monkeypatch):
    """Note the rows of features that each worker's minibatches load: (iterations, worker, X)."""
    noted, load = [], local.PartRun.load

    def noting(run, nodes=None):
        X = load(run, nodes)
        noted.append((run.state.iterations, run.worker, X))
        return X

    monkeypatch.setattr(local.PartRun, "load", noting)
    return noted


@pytest.mark.parametrize("method", ["layer", "neighbor"])
@pytest.mark.parametrize("shuffle", [0, 0.3, 1])
def test_the_nodes_that_came_from_another_worker_are_counted(gnn, data, method, shuffle):
    config = local_of(method, shuffle=shuffle)
    with gnn.make_trainer(data, config) as trainer:
        while not trainer.done:
            trainer.epoch()
        moved = trainer.iterations.moved
    parts = parts_of(data, config)
    assert moved == sum(np.sum(a != b) for a, b in zip(parts, parts[1:], strict=False))
    assert (moved > 0) == (shuffle > 0)


@pytest.mark.parametrize("shuffle", [0, 0.3, 1])
@pytest.mark.parametrize("method", IN_PARTS)
def test_a_minibatch_has_only_nodes_of_its_workers_part(gnn, data, seen, method, shuffle):
    """Known by their features, in every epoch; all parts together are looked at."""
    config = local_of(method, shuffle=shuffle)
    records = gnn.train(data, config).history
    every = data.inputs(data.in_graph(np.arange(data.train_graph.n)))
    node_of = {row.tobytes(): v for v, row in enumerate(every)}
    assert len(node_of) == len(every)
    ends, met = [record.iterations for record in records], set()
    parts = parts_of(data, config)
    assert seen
    for iteration, worker, X in seen:
        epoch = int(np.searchsorted(ends, iteration, side="right"))
        nodes = [node_of[row.tobytes()] for row in X]
        assert (parts[epoch][nodes] == worker).all()
        met |= {(epoch, v) for v in nodes}
    assert {w for _, w, _ in seen} == {0, 1, 2, 3}
    assert len({epoch for epoch, _ in met}) == 3
    if method != "fastgcn":
        assert len({v for _, v in met}) > 0.8 * len(every)
    changed = [(a != b).any() for a, b in zip(parts, parts[1:], strict=False)]
    assert all(changed) == (shuffle > 0) and any(changed) == (shuffle > 0)


def test_a_sampler_sees_the_graph_between_the_nodes_of_a_part(gnn, data):
    """All edges between them, and no others."""
    config, graphs = local_of("neighbor"), set()
    sample = gnn.sample_mfg

    def noted(graph, *args, **kwargs):
        graphs.add((np.asarray(graph.indptr).tobytes(), np.asarray(graph.indices).tobytes()))
        return sample(graph, *args, **kwargs)

    gnn.backend(gnn, sample_mfg=noted).train(data, config)
    expected = set()
    for parts in parts_of(data, config):
        for worker in range(4):
            sub = refimpl.induced_subgraph(data.train_graph, np.flatnonzero(parts == worker))
            expected.add((sub.graph.indptr.tobytes(), sub.graph.indices.tobytes()))
    assert graphs == expected and len(expected) == 12


@pytest.mark.parametrize("method", IN_PARTS)
def test_the_bits_do_not_depend_on_the_ranks(gnn, data, method):
    for workers in (2, 4):
        config = local_of(method, workers)
        expected = bits(gnn.train(data, config))
        for size in divisors(workers):
            for parts in (False, True) if method == "neighbor" else (False,):
                for result in on_ranks(gnn, size, data, config, parts=parts):
                    assert bits(result) == expected


def test_pools_and_threads(gnn, data):
    for method, options in (
        ("graph", {"pool": 3, "background": True}),
        ("layer", {"pool": 2}),
        ("neighbor", {"workers": 2}),
    ):
        expected = bits(gnn.train(data, local_of(method)))
        assert bits(gnn.train(data, local_of(method, **options))) == expected
        for result in on_ranks(gnn, 2, data, local_of(method, **options)):
            assert bits(result) == expected


def test_typed_data(gnn, tmp_path):
    data = load_dataset(write_typed(tmp_path / "typed"))
    config = local_of("neighbor", model="rgcn")
    expected = bits(gnn.train(data, config))
    assert all(bits(result) == expected for result in on_ranks(gnn, 4, data, config))


@pytest.mark.parametrize("method", ["graph", "neighbor"])
def test_a_run_goes_on_to_the_same_bits(gnn, data, tmp_path, method):
    """After each epoch, on other ranks: the parts are found again."""
    config = local_of(method)
    expected = gnn.train(data, config)
    save_checkpoint(tmp_path / "whole", expected.state, {})
    for epochs, size in ((1, 4), (2, 2)):
        with gnn.make_trainer(data, config) as trainer:
            for _ in range(epochs):
                trainer.epoch()
            save_checkpoint(tmp_path / "part", trainer.state, {})

        def go_on(comm):
            state, _ = load_checkpoint(tmp_path / "part")
            return gnn.train(data, config, state=state, comm=comm)

        for result in SimComm.run(size, go_on):
            assert bits(result) == bits(expected)
            save_checkpoint(tmp_path / "on", result.state, {})
            same_run(tmp_path / "whole", tmp_path / "on")


def test_shares_give_other_runs(gnn, data):
    found = [bits(gnn.train(data, local_of("neighbor", shuffle=P))) for P in (0, 0.1, 1)]
    first = [one[1][0][2] for one in found]
    assert len(set(first)) == 1  # parts of the first epoch are the same
    assert len({one[1][-1][2] for one in found}) == 3


def test_what_is_refused(gnn, data):
    in_parts = {name for name, kind in METHODS.items() if kind.in_parts}
    assert in_parts >= {"graph", "neighbor", "layer", "fastgcn", "ladies"}
    for method in METHODS.keys() - in_parts:
        workers = 2 if method in OPTIONS else 1
        with pytest.raises(ValueError, match='partition must be "whole"'):
            gnn.TrainConfig(method=method, workers_a_step=workers, partition="local")
    for options, message in (
        ({"workers_a_step": 1, "partition": "local"}, "partition.*workers_a_step"),
        ({"workers_a_step": 2, "shuffle": 0.5}, "shuffle must be 0.1 where partition"),
        ({"workers_a_step": 2, "partition": "parts"}, "partition must be"),
        ({"workers_a_step": 2, "partition": "local", "shuffle": 1.5}, "shuffle must be"),
        ({"workers_a_step": 2, "partition": "local", "shuffle": -0.1}, "shuffle must be"),
    ):
        with pytest.raises(ValueError, match=message):
            gnn.TrainConfig(**options)
    normal = gnn.methods.SampledGraph(normalize="both")
    with pytest.raises(ValueError, match="partition"):
        gnn.TrainConfig(method=normal, workers_a_step=2, partition="local")


def test_more_parts_than_training_nodes(gnn):
    """Refused by name, on every rank: a worker would have nothing to do."""
    data = small_dataset(refimpl.as_graph([(0, 1), (1, 2)], n=6, symmetrize=True))
    config = config_of("neighbor", 6, partition="local", shuffle=1)
    with pytest.raises(ValueError, match="workers_a_step|part"):
        gnn.train(data, config)
    with pytest.raises(ValueError, match="workers_a_step|part"):
        on_ranks(gnn, 3, data, config)
