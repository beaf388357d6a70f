"""The benchmarks of FreshGNN's cache count what training counts."""

import json
from itertools import chain

import numpy as np
import pytest

import fastimpl
from bench import reads, storage
from bench.figures.row_counts import SEED, Rules, minibatches, policies
from refimpl import TrainConfig, methods
from refimpl.lab.data.communities import communities

pytestmark = pytest.mark.runs


def test_a_policy_loads_the_rows_that_training_loads():
    """The same batches, ranks and buffer: FreshGNN with random ranks, without its model."""
    data = communities(1, nodes=500)
    graph, d, h = data.train_graph, data.features.shape[1], 4
    rules = Rules((3, 2, 2), batch=25, p_grad=0.8, t_stale=5, share=0.3, overflow="wrap")
    method = methods.Fresh(
        fanouts=(3, 2, 2),
        batch_size=25,
        p_grad=0.8,
        t_stale=5,
        control="random",
        hotness="profile",
        buffer=4 * rules.floats(graph.n, d),
    )
    config = TrainConfig(method=method, layers=3, hidden=h, rng=SEED)
    roots = np.arange(graph.n, dtype=np.int32)
    policy = policies(fastimpl, rules, graph, roots, d, h)["bidirectional"]
    with fastimpl.make_trainer(data, config) as trainer:
        about = fastimpl, graph, roots, rules.batch, rules.fanouts
        graphs = chain.from_iterable(minibatches(*about, epoch) for epoch in range(9))
        for i, mfg in zip(range(20), graphs, strict=False):
            policy.step(i, mfg)
            before = trainer.counts_of_epoch.loaded
            trainer.step()
            assert policy.loaded[-1] == trainer.counts_of_epoch.loaded - before
        counts = trainer.counts_of_epoch
        assert counts.hits > 0 and counts.feature_hits > 0


def test_packed_rows_are_on_fewer_pages():
    text = list(reads.report(11, [4, 3], 5, 4 * 2048 + 289 * 500))
    assert text[0].startswith("2048 nodes, 128 features of float16, 16 rows a page")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text[5:]]
    pages = {tuple(row[:3]): int(row[4]) for row in rows}
    read = {tuple(row[:3]): int(row[3]) for row in rows}
    assert len(pages) == 8
    for method, folder, evict in pages:
        assert read[method, folder, evict] == read[method, "packed", evict] > 0
        if folder == "unpacked":
            assert pages[method, "packed", evict] < pages[method, folder, evict]


@pytest.mark.parametrize("cache", [0, 10**6])
@pytest.mark.parametrize("method", ["neighbor", "fresh"])
def test_training_from_the_file_counts_rows(tmp_path, method, cache):
    size = storage.write_data(tmp_path, nodes=200, width=64)
    assert size == 200 * 64 * 4
    settings = {"fanouts": [3, 2], "layers": 2, "batch_size": 20, "hidden": 4}
    if method == "fresh":
        settings |= {"hotness": "none", "p_grad": 0.9, "t_stale": 20, "buffer": 8000}
    cold, warm = storage.trained(tmp_path, method, cache, json.loads(json.dumps(settings)))
    assert warm["needed"] > 0 and warm["seconds"] > 0
    assert (warm["rows"] < warm["needed"]) == (method == "fresh")
    assert cold["rows"] <= cold["needed"]
