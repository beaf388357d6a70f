"""What ranks send each other for the gradients, counted by hand; evaluation over ranks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs
from test_evaluation import CLASSES, GRAPH, MODELS, NARROW, WIDE, N, case, same
from worker_cases import config_of, divisors

import refimpl
from refimpl.lab.distributed.team import Team
from refimpl.lab.training.evaluation import Evaluation, full_graph_forward
from refimpl.lab.training.methods.base import LoadCounts, Step
from refimpl.loader import SimComm

pytestmark = pytest.mark.runs


def subtrees(lo, hi, first, last):
    """Return how many largest nodes of the tree over lo .. hi - 1 lie within first .. last - 1."""
    if first <= lo and hi <= last:
        return 1
    if hi - lo == 1 or hi <= first or last <= lo:
        return 0
    power = 1
    while 2 * power < hi - lo:
        power *= 2
    parts = ((lo, lo + power), (lo + power, hi))
    return sum(subtrees(*part, first, last) for part in parts)


@pytest.mark.parametrize("method", ["graph", "neighbor", "fresh"])
@pytest.mark.parametrize("workers", [1, 2, 3, 4, 6, 8, 10])
def test_bytes_and_messages_of_the_gradients(data, workers, method):
    """Slices of partial sums, then sums of a slice, to every other rank; and a record a worker.

    All slices are as long as the longest, and ranks send as many of them as any one has.
    """
    config, steps = config_of(method, workers, bias=True), 3
    for size in divisors(workers):

        def work(comm):
            with refimpl.make_trainer(data, config, comm=comm) as trainer:
                for _ in range(steps):
                    trainer.step()
                return trainer.team.traffic, trainer.state.weights

        share = workers // size
        most = max(subtrees(0, workers, k * share, k * share + share) for k in range(size))
        for traffic, weights in SimComm.run(size, work):
            numbers = sum(W.size for W in weights.values())
            sums = 4 * (most + 1) * -(-numbers // size) * (size - 1)
            record = 8 * (2 + len(LoadCounts._fields)) * share * (size - 1)
            assert traffic.bytes == steps * (sums + record)
            assert traffic.messages == steps * 3 * (size - 1)
            assert (traffic.waiting > 0) == (traffic.exchanging > 0) == (workers > 1)


@settings(max_examples=40)
@given(st.data(), st.integers(1, 9), st.sampled_from([np.float32, np.float64]))
def test_a_team_gives_one_mean_on_any_ranks(draw, workers, dtype):
    """Of gradients of any shapes, fewer numbers than ranks too, and of losses."""
    shapes = {"a": (2, 3), "b": (), "c": (0, 2)} if draw.draw(st.booleans()) else {"a": (1,)}
    rng = np.random.default_rng(draw.draw(st.integers(0, 99)))
    steps = []
    for _ in range(workers):
        G = {name: np.asarray(rng.standard_normal(shape), dtype) for name, shape in shapes.items()}
        steps.append(Step(float(rng.standard_normal()), G, int(rng.integers(9))))

    def work(comm):
        step = Team(workers, comm).step(steps.__getitem__)
        assert list(step.gradients) == list(shapes)
        arrays = {name: (G.dtype, G.shape, G.tobytes()) for name, G in step.gradients.items()}
        return step.loss, arrays, step.nodes

    expected = work(None)
    assert expected[2] == sum(step.nodes for step in steps)
    for name, shape in shapes.items():
        assert expected[1][name][:2] == (dtype, shape)
        mean = np.mean([step.gradients[name] for step in steps], axis=0)
        got = np.frombuffer(expected[1][name][2], dtype).reshape(shape)
        np.testing.assert_allclose(got, mean, rtol=1e-4, atol=1e-6)
    for size in divisors(workers):
        assert SimComm.run(size, work) == [expected] * size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", MODELS)
def test_evaluation_over_ranks_has_the_bits_of_one(gnn, kind, dtype):
    """With any memory, which may differ between ranks; of any nodes; again with other weights."""
    rng = np.random.default_rng(1)
    last = {"classifier_relu": True} if "hop" in kind else {"classifier": "layer"}
    for width, options in ((NARROW, {"row_l2": True}), (WIDE, last), (WIDE, {**last, "layers": 1})):
        stack, W, X = case(gnn, MODELS[kind], width, dtype, **options)
        other = {name: A[::-1].copy() for name, A in W.items()}
        plain = [full_graph_forward(stack, weights, GRAPH, X).logits for weights in (W, other)]
        for size, memory, count in ((1, 10**4, 9), (2, 1, 3), (3, 10**4, 20), (4, 10**6, N)):
            nodes = rng.integers(0, N, count)

            def work(comm, memory=memory, nodes=nodes, stack=stack, X=X, both=(W, other)):
                evaluation = Evaluation(
                    stack, GRAPH, nodes, dtype=dtype, memory=memory * (1 + comm.rank), comm=comm
                )
                return [evaluation.run(each, lambda ids: X[ids]).logits for each in both]

            for found in SimComm.run(size, work):
                assert found[0].shape == (count, CLASSES)
                for got, whole in zip(found, plain, strict=True):
                    assert same(got, whole[nodes])


@settings(max_examples=25)
@given(graphs(min_nodes=1, max_nodes=8), st.data())
def test_evaluation_over_ranks_on_small_graphs(gnn, graph, draw):
    """Fewer rows than ranks, no node at all, nodes without edges."""
    graph = refimpl.as_graph(graph, self_loops=False)
    stack, W, X = case(gnn, refimpl.models.Gcn(), 3, np.float32, graph)
    nodes = np.array(draw.draw(st.lists(st.integers(0, graph.n - 1), max_size=6)), np.int64)
    memory = draw.draw(st.sampled_from([1, 3000, 10**7]))
    whole = full_graph_forward(stack, W, graph, X).logits

    def work(comm):
        evaluation = Evaluation(stack, graph, nodes, dtype=np.float32, memory=memory, comm=comm)
        return evaluation.run(W, lambda ids: X[ids]).logits

    for got in SimComm.run(draw.draw(st.integers(1, 5)), work):
        assert same(got, whole[nodes])


def test_ranks_read_fewer_rows_each(gnn):
    """They share the work: no rank reads the features that one alone reads."""
    stack, W, X = case(gnn, MODELS["gcn"], NARROW, np.float32)
    nodes = np.arange(N)

    def work(comm):
        rows = []

        def load(ids):
            rows.append(len(ids))
            return X[ids]

        evaluation = Evaluation(stack, GRAPH, nodes, dtype=np.float32, memory=10**7, comm=comm)
        evaluation.run(W, load)
        return sum(rows)

    (alone,) = SimComm.run(1, work)
    assert all(0 < rows < alone for rows in SimComm.run(4, work))
