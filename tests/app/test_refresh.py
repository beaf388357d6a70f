"""REST: forward-only passes make histories younger, and nothing else changes."""

import threading
from itertools import islice

import numpy as np
import pytest
from dense_histories import bits, layer, matrix, pattern, small_dataset, weights_of
from worker_cases import bits as bits_of_run
from worker_cases import config_of as workers_config
from worker_cases import on_ranks

from refimpl.lab.training.config import config_from
from refimpl.lab.training.methods import METHODS
from refimpl.lab.training.methods.cluster import ClusterOrder
from refimpl.lab.training.methods.gas import cluster_order

pytestmark = pytest.mark.runs

CASES = {
    "gas": {"batch_size": 6},
    "vrgcn": {"batch_size": 6, "fanouts": (2,)},
    "fresh": {"batch_size": 6, "fanouts": (6, 6), "t_stale": 8, "p_grad": 1.0},
}
WAYS = [
    ("gas", {}),
    ("vrgcn", {}),
    ("fresh", {}),
    ("fresh", {"draw_all": True}),
    ("fresh", {"sample_mode": "labor"}),
    ("fresh", {"header": "cycle", "control": "random", "p_grad": 0.7, "warmup": 2}),
]

# Losses, weights and rows of 2 epochs of the commit before there were passes (ba4fbd83, refimpl).
WITHOUT = {
    "gas": (
        [1.3389880487782728, 1.0477215649887481],
        -128.87623346407193,
        [442, 442, 312, 312, 130],
    ),
    "vrgcn": (
        [1.3371757946864888, 1.0246196560395313],
        17.293943194405728,
        [732, 732, 504, 504, 366],
    ),
    "fresh": (
        [1.3622921215053845, 0.9553965845441461],
        -8.258893838902107,
        [1733, 881, 610, 374, 236],
    ),
}


def weighted_sum(weights):
    """Return a sum of all weights in which each has its place in its array as a factor."""
    return sum((W.reshape(-1) * np.arange(1, W.size + 1)).sum() for W in weights.values())


def config_of(method, **options):
    usual = {"hidden": 6, "rng": 6, "lr": 0.05, "dropout": 0.2}
    return config_from({"method": method, **usual, **CASES[method], **options})


def ages(gnn, data, config, epochs=6):
    """Return the ages, in weight updates, of the rows of layer 1 that training passes read."""
    found = []
    with gnn.make_trainer(data, config) as trainer:
        state, cache = trainer.state, trainer.state.cache
        fresh = config.method.name == "fresh"
        written = np.full(data.train_graph.n, -1)
        own = cache.lookup if fresh else (cache.read, cache.write)

        def lookup(l, ids, i):
            slots = own(l, ids, i)
            passes = config.method.refresh + 1
            if i % passes == passes - 1:
                found.append((i - cache.entries.stamp[slots[slots >= 0]]) / passes)
            return slots

        def read(l, ids):
            known = written[ids][written[ids] >= 0]
            found.append(state.iterations - known)
            return own[0](l, ids)

        def write(l, ids, values):
            written[ids] = state.iterations
            own[1](l, ids, values)

        if fresh:
            cache.lookup = lookup
        else:
            cache.read, cache.write = read, write
        batches = -(-data.train_graph.n // config.method.batch_size)
        for _ in range(2 * batches):
            trainer.step()
        found.clear()
        for _ in range(epochs * batches):
            trainer.step()
    return np.concatenate(found)


@pytest.mark.parametrize("method", CASES)
def test_histories_are_younger(gnn, dataset, method):
    """The age in weight updates is about 1 / (F + 1) of what it is without refreshing."""
    before = ages(gnn, dataset, config_of(method)).mean()
    for passes in (1, 3):
        after = ages(gnn, dataset, config_of(method, refresh=passes)).mean()
        assert after * (passes + 1) == pytest.approx(before, rel=0.35), (before, after)


@pytest.mark.parametrize(("method", "options"), WAYS)
def test_a_forward_only_pass_changes_histories_alone(gnn, dataset, method, options):
    with gnn.make_trainer(dataset, config_of(method, refresh=1, **options)) as trainer:
        for _ in range(5):
            trainer.step()
        iterations, run, before = trainer.iterations, trainer.run, bits(trainer.state)
        if method == "fresh":
            iterations.open_iteration(0)
        elif method == "gas":
            iterations._forward(next(iterations.passes), run.forward_only(), 1)
        else:
            mfg = next(iterations.others[0])
            iterations._write(mfg, iterations._forward(mfg, run.forward_only(), 1)[0])
        after = bits(trainer.state)
        groups = 4 * len(trainer.state.weights)
        assert after[:groups] == before[:groups]
        assert after[groups:] != before[groups:]


def test_what_a_pass_of_gas_writes():
    """The rows of a batch of a later step by dense algebra, without dropout."""
    import refimpl

    data, config = small_dataset(), config_of("gas", refresh=1)
    trainer = refimpl.make_trainer(data, config)
    order = cluster_order(trainer.run)
    weights = {name: W.copy() for name, W in trainer.state.weights.items()}
    trainer.step()
    later = order.nodes(order.shuffle.batches // 2)
    trained = order.nodes(0)
    A = pattern(data.train_graph)
    H = layer("sage", matrix("sage", A, A.sum(1)), weights_of(weights, "layer1"), inputs(data))
    rows = np.setdiff1d(later, trained)
    assert rows.size
    np.testing.assert_allclose(trainer.state.cache.rows[0, rows], H[rows], rtol=1e-11)
    others = np.setdiff1d(np.arange(len(A)), np.concatenate([later, trained]))
    assert not trainer.state.cache.rows[:, others].any()


def inputs(data):
    return data.inputs(data.in_graph(np.arange(data.train_graph.n)))


def test_passes_are_at_equal_distances(gnn, dataset):
    """Pass j of F is over the minibatch of the step that comes j / (F + 1) of an epoch later."""
    trainer = gnn.make_trainer(dataset, config_of("gas", refresh=3))
    run, iterations = trainer.run, trainer.iterations
    partition = cluster_order(run)
    assert isinstance(partition, ClusterOrder)
    batches = partition.shuffle.batches
    assert batches == 22
    for others, ahead in zip(iterations.others, (6, 11, 17), strict=True):
        np.testing.assert_array_equal(next(others), partition.nodes(ahead))


@pytest.mark.parametrize(("method", "W"), [("vrgcn", 1), ("fresh", 1), ("fresh", 4)])
def test_passes_of_sampled_batches_are_at_equal_distances(gnn, dataset, method, W):
    options = {"draw_all": True} if method == "fresh" else {}
    trainer = gnn.make_trainer(dataset, config_of(method, refresh=3, workers_a_step=W, **options))
    minibatches = trainer.iterations.others
    if method == "fresh":
        step = list(islice(trainer.iterations.passes, 4 * W))
        minibatches = [iter([p.minibatch for p in step if p.number == j]) for j in range(3)]
    for others, ahead in zip(minibatches, {1: (6, 11, 17), 4: (2, 3, 5)}[W], strict=True):
        for number in range(W * ahead, W * ahead + W):
            epoch, b = divmod(number, 22)
            batches = gnn.samplers.epoch_batches(trainer.run.roots, 6, 6, epoch)
            np.testing.assert_array_equal(next(others).nodes[-1], batches[b])


def test_orders_of_batches_are_drawn_once_an_epoch(monkeypatch):
    import refimpl

    drawn, own = [], refimpl.streams.pick_without_replacement
    monkeypatch.setattr(
        refimpl.streams,
        "pick_without_replacement",
        lambda *args: (drawn.append(args), own(*args))[1],
    )
    with refimpl.make_trainer(small_dataset(), config_of("gas", refresh=3)) as trainer:
        for _ in range(12):
            trainer.step()
    assert len(drawn) == len(set(drawn)) == 3  # 2 epochs, and what is ahead


@pytest.mark.parametrize("method", ["vrgcn", "fresh"])
def test_passes_have_no_threads_of_their_own(gnn, dataset, method):
    before = set(threading.enumerate())
    with gnn.make_trainer(dataset, config_of(method, refresh=20, workers=3)) as trainer:
        trainer.step()
        begun = set(threading.enumerate()) - before
    assert len([one for one in begun if one.name.startswith("minibatch-gnn-prefetch")]) <= 3


@pytest.mark.parametrize("method", CASES)
def test_inputs_are_those_of_training_passes(gnn, dataset, method):
    counts = []
    for passes in (0, 2):
        with gnn.make_trainer(dataset, config_of(method, refresh=passes)) as trainer:
            counts.append(trainer.step().counts)
    assert counts[0].inputs == counts[1].inputs
    assert 2 * counts[0].live < counts[1].live
    if method == "gas":  # the pass computes layer 1 alone, which reads no history
        assert counts[0].lookups == counts[1].lookups


@pytest.mark.parametrize("warmup", [0, 3])
def test_fresh_counts_passes(gnn, dataset, warmup):
    """Each pass of either kind is an iteration of the cache, from the one that warms up last on."""
    with gnn.make_trainer(dataset, config_of("fresh", refresh=2, warmup=warmup)) as trainer:
        cache, seen = trainer.state.cache, []
        begin = cache.begin_update
        cache.begin_update = lambda i: (seen.append(i), begin(i))
        for _ in range(5):
            trainer.step()
    assert seen == list(range(3 * warmup, 15))
    assert cache.ring.start_iter == 3 * warmup


def test_fresh_does_no_pass_while_it_warms_up(gnn, dataset):
    plain, passing = (config_of("fresh", warmup=4, refresh=passes) for passes in (0, 2))
    with gnn.make_trainer(dataset, plain) as one, gnn.make_trainer(dataset, passing) as other:
        steps = [(one.step(), other.step()) for _ in range(5)]
    assert [a.counts == b.counts for a, b in steps] == [True] * 4 + [False]
    assert [a.loss == b.loss for a, b in steps] == [True] * 4 + [False]


@pytest.mark.parametrize(("method", "options"), [*WAYS, ("fresh", {"warmup": 25})])
def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(gnn, dataset, tmp_path, method, options):
    options = {"refresh": 2, **options}
    whole = gnn.train(dataset, config_of(method, epochs=3, **options))
    part = gnn.train(dataset, config_of(method, epochs=1, **options))
    gnn.lab.training.save_checkpoint(tmp_path / "c.npz", part.state, {})
    state, _ = gnn.lab.training.load_checkpoint(tmp_path / "c.npz")
    last = gnn.train(dataset, config_of(method, epochs=3, **options), state=state)
    assert bits(last.state) == bits(whole.state)
    assert last.state.loads == whole.state.loads


@pytest.mark.parametrize("method", CASES)
def test_passes_change_the_result_and_zero_passes_do_not(gnn, dataset, method):
    plain, one = (gnn.train(dataset, config_of(method, epochs=2, refresh=F)) for F in (0, 1))
    losses, total, counts = WITHOUT[method]
    assert [record.loss for record in plain.history] == pytest.approx(losses, rel=1e-9)
    assert weighted_sum(plain.weights) == pytest.approx(total, rel=1e-9)
    found = plain.state.loads[-1]
    assert [found[name] for name in ("inputs", "live", "lookups", "hits", "admitted")] == counts
    assert bits(plain.state) != bits(one.state)
    assert one.iterations == plain.iterations
    assert one.state.loads[-1]["live"] > plain.state.loads[-1]["live"]


def test_ranks_change_no_bit(gnn, dataset):
    """Each worker refreshes its own cache with its own later minibatches."""
    config = workers_config("fresh", 4, refresh=1)
    alone = bits_of_run(gnn.train(dataset, config))
    assert all(bits_of_run(result) == alone for result in on_ranks(gnn, 2, dataset, config))
    assert alone != bits_of_run(gnn.train(dataset, workers_config("fresh", 4)))


def test_where_it_does_not_apply():
    with_histories = {"fresh", "gas", "vrgcn"}
    for method in METHODS:
        if method in with_histories:
            with pytest.raises(ValueError, match="refresh must be 0 where layers is 1, got 2"):
                config_from({"method": method, "refresh": 2, "layers": 1})
        else:
            with pytest.raises(ValueError, match=f'refresh is no setting where .*"{method}"'):
                config_from({"method": method, "refresh": 1})
    for name, nothing in (("p_grad", 0.0), ("t_stale", 0), ("cache_layers", ())):
        with pytest.raises(ValueError, match=f"^refresh must be 0 where {name} is .*, got 2: no"):
            config_of("fresh", **{"refresh": 2, name: nothing})
        assert config_of("fresh", **{name: nothing}).method.refresh == 0
    for wrong in (-1, 33):
        with pytest.raises(ValueError, match="refresh must be in"):
            config_from({"method": "gas", "refresh": wrong})
