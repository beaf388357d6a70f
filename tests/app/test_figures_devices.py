"""The figures of what devices and ranks send one another count and model what they say."""

import itertools
from dataclasses import asdict

import networkx as nx
import numpy as np
import pytest
from figure_labs import experiment_of, lab_of, rows_of

import fastimpl
from bench.figures import between_processes, experiment
from bench.figures import row_counts as counts
from bench.figures.experiments import devices, exchange, topologies
from bench.figures.experiments.devices import Load, load, loaded_by_fresh, speedups
from bench.figures.experiments.exchange import Links, bandwidths
from bench.figures.synthetic_data import banded, diameter_at_least, drawn_roots, made_graph
from bench.figures.training import settings
from bench.launching import no_mpi
from refimpl.lab.data import power_law
from refimpl.lab.distributed.parts import FeatureParts
from refimpl.lab.training.methods.base import LoadCounts
from refimpl.loader import SimComm, Topology

pytestmark = pytest.mark.runs

BYTES = 4  # float32


def sizes_of(module, **changed):
    """Return the quick sizes of a figure, some of them changed."""
    figure = experiment_of(module)
    return {**figure.full, **figure.quick, **changed}


def owner(v, n, parts):
    return next(p for p in range(parts) if v < n * (p + 1) // parts)


# Graphs of other topologies


@pytest.mark.parametrize(("band", "degree"), [(3, 2.0), (20, 6.0), (299, 6.0)])
def test_banded_graphs_have_their_degree_and_no_longer_edge(band, degree):
    graph = banded(300, degree, band, 2.5)
    matrix = graph.to_scipy().toarray()
    u, v = np.nonzero(matrix)
    assert np.abs(u - v).max() <= band and (u != v).all() and (matrix == matrix.T).all()
    assert graph.e == degree * 300
    whole = nx.from_numpy_array(matrix)
    largest = whole.subgraph(max(nx.connected_components(whole), key=len))
    found = diameter_at_least(graph)
    assert 0.8 * nx.diameter(largest) <= found <= nx.diameter(largest)
    reach = max(largest) - min(largest)
    assert nx.diameter(largest) >= reach / band


def test_ends_of_edges_are_anywhere_in_the_band():
    """With weights that hardly differ: any length is as frequent, both ends of the ids alike."""
    graph = banded(3000, 20, 300, 100)
    lengths = np.abs(np.repeat(np.arange(3000), graph.degrees()) - graph.indices)
    assert abs(lengths.mean() / 150.5 - 1) < 0.03
    first, middle, last = (graph.degrees()[k : k + 300].mean() for k in (0, 1350, 2700))
    assert abs(first / last - 1) < 0.05 and first < middle


def test_a_far_node_of_a_path_sees_all_of_it():
    path = fastimpl.graph.from_edges(range(40), range(1, 41), symmetrize=True)
    assert diameter_at_least(path) == 40


def test_a_band_without_room_is_refused():
    with pytest.raises(ValueError, match="no room for a mean degree of 9"):
        banded(50, 9, 4, 2.5)


def test_the_degree_cache_saves_the_rows_of_the_nodes_with_most_neighbours():
    sizes = sizes_of(topologies, roots=0.2, share=0.1)
    graph = power_law(300, 6, exponent=2.5)
    rows, saved = topologies.saved_on(fastimpl, graph, sizes, 8)
    degrees = graph.degrees().tolist()
    hottest = sorted(range(300), key=lambda v: (-degrees[v], v))[:30]
    roots = np.sort(drawn_roots(300, 60))
    graphs = list(counts.minibatches(fastimpl, graph, roots, 10, sizes["fanouts"], epoch=1))
    needed = [set(mfg.nodes[0].tolist()) for mfg in graphs]
    assert rows == sum(map(len, needed)) / 6
    hits = sum(len(one & set(hottest)) for one in needed)
    assert saved[topologies.BY_DEGREE] == pytest.approx(hits / sum(map(len, needed)), rel=1e-12)
    assert 0 < saved[topologies.BEST] < 1 and 0 < saved["FreshGNN"] < 1


# Between devices


def wanted_by_sets(graphs, n, ranks):
    """Return (source, target) -> rows of each step, by sets of nodes."""
    steps = []
    for first in range(0, len(graphs), ranks):
        found = dict.fromkeys(itertools.permutations(range(ranks), 2), 0)
        for target, mfg in enumerate(graphs[first : first + ranks]):
            for v in set(mfg.nodes[0].tolist()):
                if owner(v, n, ranks) != target:
                    found[owner(v, n, ranks), target] += 1
        steps.append(found)
    return steps


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_rows_between_ranks_are_those_of_their_minibatches(ranks):
    graph = power_law(101, 5)
    graphs = list(counts.minibatches(fastimpl, graph, np.arange(60), 5, [3, 2]))[: 2 * ranks]
    assert len({len(mfg.nodes[0]) for mfg in graphs}) > 1
    found = counts.rows_between(graphs, graph.n, ranks, 2)
    for step, want in zip(found, wanted_by_sets(graphs, graph.n, ranks), strict=True):
        assert {pair: step[pair] for pair in want} == want
        assert not np.diag(step).any()


def links(make, **changed):
    sizes = {"features": 16, "latency": 0.0, "memory": 100e9, "half_row": 0, **changed}
    return Links(sizes, make, 1000.0)


def test_one_transfer_takes_what_the_premises_say():
    """Of 10 rows of 64 bytes, over a link of 1000 bytes a second."""
    cost = {"latency": 0.5, "memory": 200.0, "half_row": 64}
    found = links(lambda b: Topology.crossbar(2, b), **cost)
    rows = np.array([[0, 10], [0, 0]])
    plans = found.plans(rows)
    for gamma in (0.0, 1.0):
        two = found.seconds("two-sided", rows, gamma, plans)
        assert two == pytest.approx(0.5 + 80 / 1000 + 640 / 200 + 0.5 + 640 / 1000)
        one = found.seconds("one-sided", rows, gamma, plans)
        assert one == pytest.approx(0.5 + 640 / 500)
        assert found.seconds("rounds", rows, gamma, plans) == pytest.approx(one + 0.5)


def test_an_owner_packs_for_all_who_ask_and_owners_pack_at_once():
    found = links(lambda b: Topology.crossbar(3, 1e9), memory=200.0)
    rows = np.array([[0, 10, 5], [7, 0, 0], [7, 0, 0]])
    assert found.seconds("two-sided", rows, 0.0, {}) == pytest.approx(15 * 64 / 200, rel=1e-3)


def test_row_numbers_go_the_other_way():
    """Device 0 has a slow link out: it matters for rows, not for their numbers."""
    ways = ((0, 2, 10.0), (2, 0, 1000.0), (1, 2, 1000.0), (2, 1, 1000.0))
    found = links(lambda b: Topology(2, ways), memory=1e12)
    rows = np.array([[0, 10], [0, 0]])
    assert found.seconds("two-sided", rows, 0.0, {}) == pytest.approx(80 / 1000 + 640 / 10)
    assert found.seconds("two-sided", rows.T, 0.0, {}) == pytest.approx(80 / 10 + 640 / 1000)


def test_the_papers_example_takes_five_rounds_or_four():
    found = links(lambda b: Topology.tree((2, 2), b), latency=0.25)
    rows = 10 * (1 - np.eye(4, dtype=np.int64))
    plans = found.plans(rows)
    a_round = 0.25 + 640 / 1000 + 0.25
    for way, count in (("rounds", 5), ("rounds, mixed", 4)):
        assert len(plans[way]) == count
        for gamma in (0.0, 0.7):  # no link is shared, so nothing is lost
            assert found.seconds(way, rows, gamma, plans) == pytest.approx(count * a_round)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (5,)])
def test_without_loss_and_latency_nothing_beats_all_at_once(shape):
    found = links(lambda b: Topology.tree(shape, b))
    devices = found.links.devices
    steps = np.random.default_rng(devices).integers(0, 50, (2, devices, devices))
    steps[:, range(devices), range(devices)] = 0
    free, lossy = (
        {way: rates[0] for way, rates in bandwidths(found, steps, [g]).items()} for g in (0.0, 0.5)
    )
    assert all(rate <= free["one-sided"] * (1 + 1e-9) for rate in free.values())
    assert all(lossy[way] <= free[way] * (1 + 1e-9) for way in free)
    assert lossy["one-sided"] < free["one-sided"]
    for way in ("rounds", "rounds, mixed"):
        assert lossy[way] == pytest.approx(free[way])
    slowest = max(max(step.sum(axis=0).max(), step.sum(axis=1).max()) for step in steps)
    if len(shape) == 1:
        busy = sum(max(step.sum(axis=0).max(), step.sum(axis=1).max()) for step in steps) * 64
        assert free["one-sided"] <= steps.sum() * 64 / (busy / 1000) * (1 + 1e-9)
    assert slowest > 0


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_measure_every_way_of_the_same_bytes(ranks):
    sizes = {
        "nodes": 120,
        "degree": 5,
        "batch": 6,
        "fanouts": [3, 2],
        "features": 4,
        "steps": 2,
    }
    found = SimComm.run(ranks, lambda comm: between_processes.fetches(comm, fastimpl, sizes, 3))
    graph = made_graph(120, 5)
    roots = drawn_roots(120, 6 * ranks * 2)
    graphs = list(counts.minibatches(fastimpl, graph, roots, 6, [3, 2]))
    rows = sum(sum(step.values()) for step in wanted_by_sets(graphs, 120, ranks))
    for one in found:
        assert one["bytes"] == 16 * rows
        assert list(one["seconds"]) == ["two-sided", "one-sided", "rounds"]
        assert all(len(times) == 3 and min(times) > 0 for times in one["seconds"].values())


def test_without_mpi_the_model_is_all(monkeypatch):
    monkeypatch.setattr(experiment, "no_mpi", lambda: "there is none")
    lab = lab_of(experiment_of(exchange))
    rows = rows_of(experiment_of(exchange), lab)
    assert exchange.MACHINE not in {row["links"] for row in rows}
    assert "were not measured, because MPI is not installed" in exchange.verdicts(lab, rows)[0].ours


def test_what_is_measured_between_processes_stands_below_the_model(monkeypatch):
    """Bandwidths by hand: 1 and 2 GB/s two-sided, 1.5 and 2.5 one-sided, 1 and 3 in rounds."""
    seconds = {"two-sided": [2.0, 1.0], "one-sided": [4 / 3, 0.8], "rounds": [2.0, 2 / 3]}
    monkeypatch.setattr(experiment, "no_mpi", lambda: None)
    monkeypatch.setattr(exchange, "measured", lambda *_: {"bytes": 2e9, "seconds": seconds})
    lab = lab_of(experiment_of(exchange))
    rows = rows_of(experiment_of(exchange), lab)
    *_, last = exchange.table(lab, rows)[1]
    assert last[:2] == ["measured: 2 processes", "-"] and "-" in last[3:]
    assert last[2] == "1.50 (1.00 to 2.00)" and last[-1] == "0.93 (0.67 to 1.20)"
    assert "one machine it is 1.38 (1.25 to 1.50) times" in exchange.verdicts(lab, rows)[0].ours
    assert exchange.plot(lab, rows)


def test_between_processes():
    if no_mpi():
        pytest.skip(no_mpi())
    lab = lab_of(experiment_of(exchange))
    rows = exchange.measure(lab, {"links": exchange.MACHINE, "devices": 2})
    assert [row["way"] for row in rows[::3]] == ["two-sided", "one-sided", "rounds"]
    assert len(rows) == 9 and min(row["gigabytes_a_second"] for row in rows) > 0


# Of ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_what_ranks_load_is_counted(ranks):
    n, rng = 37, np.random.default_rng(ranks)
    steps = [
        [np.unique((n * rng.random(rng.integers(0, 12)) ** 3).astype(int)) for _ in range(ranks)]
        for _ in range(4)
    ]
    found = load(steps, n, 8)
    remote, busiest, messages = [], [], []
    for step in steps:
        read = [[v for v in ids.tolist() if owner(v, n, ranks) != r] for r, ids in enumerate(step)]
        given = [sum(owner(v, n, ranks) == r for ids in read for v in ids) for r in range(ranks)]
        peers = [{owner(v, n, ranks) for v in ids} for ids in read]
        remote.append(sum(map(len, read)) / ranks)
        busiest.append(8 * max(*map(len, read), *given))
        messages.append(max(map(len, peers)))
    assert found.loaded == np.mean([sum(map(len, step)) / ranks for step in steps])
    want = [np.mean(x) for x in (remote, busiest, messages)]
    assert list(found[1:]) == pytest.approx(want, rel=1e-12)
    assert (found.remote == 0) == (ranks == 1)


def made(sizes):
    """Return the data set of V Fig 11, its graph and roots, and the minibatches of two epochs."""
    data = devices.made_data(sizes)
    return data, data.graph, data.roots, devices.two_epochs(fastimpl, sizes, data)


def test_one_rank_loads_what_training_loads():
    """With ranks drawn instead of gradients, in the second epoch."""
    sizes = sizes_of(devices, batches=20, nodes=500, share=0.2, fanouts=[3, 2, 2])
    dataset, graph, roots, graphs = made(sizes)
    fresh = loaded_by_fresh(fastimpl, sizes, graph, roots, graphs, 1)
    config = settings(
        "fresh",
        rng=counts.SEED,
        layers=3,
        hidden=sizes["hidden"],
        fanouts=(3, 2, 2),
        batch_size=4,
        control="random",
        **devices.fresh_settings(sizes, graph.n),
    )
    with fastimpl.make_trainer(dataset, config) as trainer:
        for _ in range(20):
            trainer.step()
        for step in fresh:
            before = trainer.counts_of_epoch.loaded
            trainer.step()
            loaded = trainer.counts_of_epoch.loaded - before
            assert len(step[0]) == loaded
        assert trainer.counts_of_epoch.hits > 0 and trainer.counts_of_epoch.feature_hits > 0


def test_ranks_have_caches_of_their_own():
    """And each meets its own minibatches only: those of the others may be any."""
    sizes = sizes_of(devices, batches=12, share=0.2)
    _, graph, roots, graphs = made(sizes)
    fresh = loaded_by_fresh(fastimpl, sizes, graph, roots, graphs, 3)
    other = [
        [mfg if i % 3 == 1 else of_epoch[0] for i, mfg in enumerate(of_epoch)]
        for of_epoch in graphs
    ]
    alone = loaded_by_fresh(fastimpl, sizes, graph, roots, other, 3)
    assert len(fresh) == 4
    for step, (mine, theirs) in enumerate(zip(fresh, alone, strict=True)):
        np.testing.assert_array_equal(mine[1], theirs[1])
        for rank in range(3):
            assert set(mine[rank].tolist()) <= set(graphs[1][3 * step + rank].nodes[0].tolist())


def test_the_model_adds_up():
    counts = {
        1: Load(9, 0, 0, 0),
        2: Load(9, 4, 3000, 1),
        4: Load(9, 6, 9000, 3),
    }
    reading = {1: 0, 2: 0.25 + 3, 4: 0.75 + 9}
    gradients = {1: 0, 2: 2 * 0.25 + 4 * 100 / 1000, 4: 6 * 0.25 + 4 * 150 / 1000}
    for R, one in counts.items():
        found = speedups(R, one.messages, one.busiest, 100, 2.0, 0.25, 1000.0)
        want = R * 2 / (2 + reading[R] + gradients[R])
        assert found["one after another"] == pytest.approx(want)
        want = R * 2 / (max(2, reading[R]) + gradients[R])
        assert found["fetched ahead"] == pytest.approx(want)


def test_steps_between_processes_stand_below_the_model(monkeypatch):
    """Seconds by hand: 2 and 3 on one process, 1 and 2 on two."""
    seconds = {"1": [2.0, 3.0], "2": [1.0, 2.0]}
    monkeypatch.setattr(experiment, "no_mpi", lambda: None)
    monkeypatch.setattr(devices, "measured", lambda *_: dict.fromkeys(devices.METHODS, seconds))
    lab = lab_of(experiment_of(devices), ranks=[1, 2])
    rows = rows_of(experiment_of(devices), lab)
    *_, last = devices.table(lab, rows)[1]
    assert last[0] == "measured: 2 processes, FreshGNN: 1.75 (1.50 to 2.00) times as fast as one"
    assert "1.75 (1.50 to 2.00) with FreshGNN" in devices.verdicts(lab, rows)[0].ours
    assert devices.plot(lab, rows)


def test_processes_train_to_the_weights_of_one():
    """`between_processes.steps` compares all weights before it answers."""
    if no_mpi():
        pytest.skip(no_mpi())
    found = devices.measure(lab_of(experiment_of(devices)), {"what": devices.TIMED})
    assert {(row["method"], row["processes"]) for row in found} == {
        (method, count) for method in devices.METHODS for count in (1, 2)
    }
    assert len(found) == 12 and min(row["seconds"] for row in found) > 0


def counters(parts, trainer):
    """Return what a rank has fetched, and what it has sent for the gradients' sake."""
    fetched = asdict(parts.fetching)
    fetched["fetched"] = fetched.pop("messages")
    return {"bytes of rows": fetched.pop("bytes"), **fetched, **asdict(trainer.team.traffic)}


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("method", ["neighbor", "fresh"])
def test_counts_are_those_of_training_on_ranks(ranks, method):
    """A worker a rank, features in parts; FreshGNN admits all embeddings, however they rank."""
    sizes = sizes_of(devices, batches=8, nodes=300, share=0.2, p_grad=1.0)
    dataset, graph, roots, graphs = made(sizes)
    steps = 8 // ranks
    whole = [[graphs[1][i * ranks + r].nodes[0] for r in range(ranks)] for i in range(steps)]
    own = {}
    if method == "fresh":
        whole = loaded_by_fresh(fastimpl, sizes, graph, roots, graphs, ranks)
        own = devices.fresh_settings(sizes, graph.n)
    config = settings(
        method,
        rng=counts.SEED,
        layers=3,
        hidden=sizes["hidden"],
        fanouts=tuple(sizes["fanouts"]),
        batch_size=4,
        workers_a_step=ranks,
        **own,
    )
    bounds = [300 * r // ranks for r in range(ranks + 1)]

    def work(comm):
        X = dataset.features[bounds[comm.rank] : bounds[comm.rank + 1]].copy()
        with (
            FeatureParts(comm, X) as parts,
            fastimpl.make_trainer(dataset, config, features=parts, comm=comm) as trainer,
        ):
            found = []
            for _ in range(2 * steps):
                before = counters(parts, trainer)
                trainer.step()
                after = counters(parts, trainer)
                found.append({name: after[name] - before[name] for name in after})
            return found[steps:], sum(W.size for W in trainer.state.weights.values())

    each = SimComm.run(ranks, work)  # by rank: what each step moved, and how many weights there are
    moved = {k: np.array([[step[k] for step in one] for one, _ in each]) for k in each[0][0][0]}
    counted = load(whole, 300, 8 * BYTES)
    assert counted.remote == moved["rows"].mean() and (counted.remote > 0) == (ranks > 1)
    assert counted.messages == moved["fetched"].max(axis=0).mean()
    sent = fastimpl.cost_models.gradient_exchange(each[0][1], ranks)
    records = 8 * (2 + len(LoadCounts._fields)) * (ranks - 1)  # losses and counts go first
    assert (moved["messages"] == sent.messages + ranks - 1).all()
    assert (moved["bytes"] == BYTES * sent.numbers + records).all()
