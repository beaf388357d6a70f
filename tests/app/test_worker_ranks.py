"""Several workers on any number of ranks, which are threads here: the same bits."""

from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs
from threadpoolctl import threadpool_limits
from tiny_data import same_run, tiny_dataset
from worker_cases import (
    OPTIONS,
    bits,
    config_of,
    divisors,
    on_ranks,
    part_of,
    small_dataset,
)

import fastimpl
import refimpl
from refimpl.lab.distributed import FeatureParts, gathered_state
from refimpl.lab.training.checkpoints import load_checkpoint, save_checkpoint
from refimpl.lab.training.methods import METHODS
from refimpl.loader import SimComm

pytestmark = pytest.mark.runs


def check(gnn, data, config, sizes, **features):
    """Assert that every rank of any number of them gives the bits of one process."""
    expected = bits(gnn.train(data, config))
    for size in sizes:
        for result in on_ranks(gnn, size, data, config, **features):
            assert bits(result) == expected, size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", OPTIONS)
def test_the_bits_do_not_depend_on_the_ranks(gnn, tmp_path, method, dtype):
    check(gnn, tiny_dataset(tmp_path, dtype), config_of(method, 4), (1, 2, 4))


@pytest.mark.parametrize("workers", [3, 6, 8])
def test_any_number_of_workers(gnn, data, workers):
    check(gnn, data, config_of("neighbor", workers), divisors(workers))


@pytest.mark.parametrize(
    "method, model",
    [("graph", "gcn"), ("graph", "gat"), ("graph", "mixhop"), ("fresh", "gcn"), ("fresh", "gat")],
)
def test_other_models(gnn, data, model, method):
    check(gnn, data, config_of(method, 4, model=model), (2, 4))


@pytest.mark.parametrize("method", ["graph", "neighbor", "fresh"])
def test_typed_data(gnn, typed, method):
    check(gnn, typed, config_of(method, 4, model="rgcn"), (2, 4))


def test_normalised_subgraphs(gnn, data):
    check(gnn, data, config_of("graph", 4, normalize="both"), (2, 4))


@pytest.mark.parametrize("rounds", [None, "pairwise", (2, 2), (4,)], ids=str)
@pytest.mark.parametrize("method", ["graph", "neighbor", "fresh", "fastgcn"])
def test_features_in_parts(gnn, data, method, rounds):
    check(gnn, data, config_of(method, 4), (4,), rounds=rounds, parts=True)


def test_features_in_parts_of_two_and_of_one(gnn, data):
    for rounds in (None, "pairwise"):
        check(gnn, data, config_of("neighbor", 4), (1, 2), rounds=rounds, parts=True)


@pytest.mark.parametrize("rounds", [None, "pairwise"])
def test_rows_are_those_of_the_nodes_whatever_was_asked_for(rounds):
    """Asked for in order, in another, or not at all."""
    X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32)
    a, b, c = (np.array(ids) for ids in ([1, 19, 3], [18, 2, 2], [0, 10, 11]))

    def work(comm):
        with FeatureParts(comm, X[10 * comm.rank : 10 * comm.rank + 10], rounds) as parts:
            for asked, loaded in (([a, b], [a, b]), ([a], [b, a]), ([b, c], [c, a]), ([], [c])):
                for nodes in asked:
                    parts.ask(nodes)
                for nodes in loaded:
                    assert np.array_equal(parts.load(nodes), X[nodes])

    SimComm.run(2, work)


def test_what_is_read_of_others_is_counted(gnn, data):
    """With one rank nothing; with two the rows that are not here, each of its bytes."""
    config = config_of("neighbor", 2, epochs=1)

    def work(comm):
        with FeatureParts(comm, part_of(data, comm)) as features:
            begin = perf_counter()
            gnn.train(data, config, comm=comm, features=features)
            assert 0 < features.fetching.waiting < perf_counter() - begin
            return features.fetching, features.row_bytes

    ((alone, _),) = SimComm.run(1, work)
    assert (alone.rows, alone.bytes, alone.messages) == (0, 0, 0)
    for fetching, row_bytes in SimComm.run(2, work):
        assert fetching.rows > 50
        assert fetching.bytes == fetching.rows * row_bytes
        assert row_bytes == 12 * 4
        assert 1 <= fetching.messages <= 6  # 5 steps, and perhaps one ahead


@pytest.mark.parametrize(
    "options",
    [
        ("graph", {"pool": 3}),
        ("graph", {"pool": 5, "background": True}),
        ("layer", {"pool": 3, "background": True}),
        ("ladies", {"pool": 7}),
        ("cluster", {"background": True, "pool": 2}),
        ("neighbor", {"workers": 2}),
        ("fresh", {"workers": 3}),
    ],
    ids=str,
)
def test_pools_and_threads_that_sample_ahead(gnn, data, options):
    method, options = options
    expected = bits(gnn.train(data, config_of(method, 4)))
    assert bits(gnn.train(data, config_of(method, 4, **options))) == expected
    for result in on_ranks(gnn, 2, data, config_of(method, 4, **options)):
        assert bits(result) == expected


@settings(max_examples=25)
@given(st.data())
def test_any_workers_ranks_pools_and_threads(gnn, draw):
    """On graphs with isolated nodes, of one node too: in one process, then on ranks."""
    graph = draw.draw(graphs(min_nodes=1, max_nodes=9))
    graph = refimpl.as_graph(graph, self_loops=False)
    data = small_dataset(graph, draw.draw(st.sampled_from([np.float32, np.float64])))
    method = draw.draw(st.sampled_from(["graph", "neighbor", "fresh", "layer", "fastgcn"]))
    W = draw.draw(st.integers(1, 8))
    options = {"rng": draw.draw(st.integers(0, 99)), "epochs": 2}
    options |= {"layer_sizes": (3, 3)} if method == "fastgcn" else {}
    if method != "graph":
        options |= {"batch_size": draw.draw(st.integers(1, 4))}
    expected = bits(gnn.train(data, config_of(method, W, **options)))
    ahead = (
        {"workers": draw.draw(st.integers(0, 2))}
        if method in ("neighbor", "fresh")
        else {"pool": draw.draw(st.integers(1, 5)), "background": draw.draw(st.booleans())}
    )
    size = draw.draw(st.sampled_from(divisors(W)))
    config = config_of(method, W, **options, **ahead)
    rounds = draw.draw(st.sampled_from([None, "pairwise", (size,)]))
    with threadpool_limits(draw.draw(st.integers(1, 2))):
        found = on_ranks(gnn, size, data, config, rounds=rounds, parts=draw.draw(st.booleans()))
    for result in found:
        assert bits(result) == expected


def test_openmp_threads_change_no_bit(tmp_path):
    data = tiny_dataset(tmp_path)
    for method in ("graph", "neighbor", "fresh"):
        found = []
        for threads in (1, 2, 4):
            with threadpool_limits(threads):
                found += [bits(r) for r in on_ranks(fastimpl, 2, data, config_of(method, 4))]
        assert all(one == found[0] for one in found)


@pytest.mark.parametrize("method", OPTIONS)
def test_both_packages_see_the_same_minibatches(data, method):
    """Their losses are close, in every epoch."""
    config = config_of(method, 4)
    a, b = (bits(package.train(data, config))[1] for package in (refimpl, fastimpl))
    for one, other in zip(a, b, strict=True):
        assert one[1] == other[1]
        assert one[2] == pytest.approx(other[2], rel=1e-3)


@pytest.mark.parametrize("method", ["full", "gas", "graphfm", "vrgcn"])
def test_methods_with_rows_of_all_nodes_have_one_worker(gnn, method):
    with pytest.raises(ValueError, match=rf'workers_a_step must be 1 .*"{method}"'):
        gnn.TrainConfig(method=method, workers_a_step=2)
    assert METHODS[method].several_workers is False
    assert gnn.TrainConfig(method=method).workers_a_step == 1


def test_workers_that_the_ranks_do_not_divide(gnn, data):
    for workers, size in ((4, 3), (1, 2), (6, 4)):
        with pytest.raises(ValueError, match=rf"workers_a_step.*{workers}|{workers}.*{size}"):
            on_ranks(gnn, size, data, config_of("neighbor", workers))


def test_wrong_arguments(gnn, data):
    for wrong in (0, -1, 2**16 + 1):
        with pytest.raises(ValueError, match="workers_a_step must be"):
            gnn.TrainConfig(workers_a_step=wrong)
    for wrong in (1.5, "2", None):
        with pytest.raises(TypeError, match="workers_a_step must be"):
            gnn.TrainConfig(workers_a_step=wrong)
    with pytest.raises(TypeError, match="comm"):
        gnn.train(data, config_of("neighbor", 2), comm=3)


def test_wrong_parts(gnn, data):
    """Rows that are missing, of another width, rounds that do not fit: on every rank."""
    X, config = data.features, config_of("neighbor", 2)

    def work(part, rounds=None):
        def on_rank(comm):
            with FeatureParts(comm, part(comm), rounds) as features:
                gnn.train(data, config, comm=comm, features=features)

        return on_rank

    for wrong, message in (
        (work(lambda comm: X[:7].copy()), "features must be"),
        (work(lambda comm: X[:65, : 3 + comm.rank].copy()), "width"),
        (work(lambda comm: X[:65].copy(), rounds=(3,)), "rounds"),
        (work(lambda comm: X[:65].copy(), rounds="ring"), "rounds"),
    ):
        with pytest.raises(ValueError, match=message):
            SimComm.run(2, wrong)


@pytest.mark.parametrize("method", ["fresh", "neighbor", "graph"])
def test_a_run_goes_on_on_another_number_of_ranks(gnn, data, tmp_path, method):
    """Its checkpoint has all workers' caches, whoever wrote it; see `--resume` under mpirun too."""
    config = config_of(method, 4, epochs=3)
    one = config_of(method, 4, epochs=1)
    whole = gnn.train(data, config)
    save_checkpoint(tmp_path / "whole", whole.state, {})
    for size in (1, 2, 4):

        def work(comm, size=size):
            with gnn.make_trainer(data, one, comm=comm) as trainer:
                trainer.epoch()
                kept = gathered_state(trainer.state, comm)
            if comm.rank == 0:
                save_checkpoint(tmp_path / f"of {size}", kept, {})

        SimComm.run(size, work)
        same_run(tmp_path / "of 1", tmp_path / f"of {size}")
        for others in (1, 2, 4):

            def go_on(comm, size=size):
                state, _ = load_checkpoint(tmp_path / f"of {size}")
                result = gnn.train(data, config, state=state, comm=comm)
                return bits(result), gathered_state(result.state, comm)

            found = SimComm.run(others, go_on)
            assert all(result == bits(whole) for result, _ in found)
            save_checkpoint(tmp_path / "on", found[0][1], {})
            same_run(tmp_path / "whole", tmp_path / "on")


def test_a_checkpoint_has_the_cache_of_each_worker(gnn, data, tmp_path):
    save_checkpoint(tmp_path / "c", gnn.train(data, config_of("fresh", 3)).state, {})
    with np.load(tmp_path / "c") as file:
        names = [name for name in file.files if name.startswith("cache/")]
        workers = {name.split("/")[1] for name in names}
        assert workers == {"0", "1", "2"}
        by_worker = {
            w: {n.split("/", 2)[2] for n in names if n.startswith(f"cache/{w}/")} for w in workers
        }
        assert len(set(map(frozenset, by_worker.values()))) == 1 and by_worker["0"]
        embeddings = [file[f"cache/{w}/embeddings"].tobytes() for w in sorted(workers)]
    assert len(set(embeddings)) == 3


def test_a_checkpoint_of_other_workers(gnn, data, tmp_path):
    """Named, not an error of the inside; fewer or more."""
    save_checkpoint(tmp_path / "c", gnn.train(data, config_of("fresh", 4, epochs=1)).state, {})
    for workers, message in ((1, "state"), (2, "of 2 workers, got"), (8, "state.cache.*worker")):
        state, _ = load_checkpoint(tmp_path / "c")
        with pytest.raises(ValueError, match=message):
            gnn.train(data, config_of("fresh", workers), state=state)
