"""What commands do before they train or sample: threads, data, a trial of the sampler."""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from refimpl._support import require
from refimpl.lab.apps.errors import user_errors
from refimpl.lab.data.loading import load_dataset
from refimpl.loader.packed import PackedFeatures

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

    from refimpl.lab.apps.option import Chosen
    from refimpl.lab.data.dataset import Dataset
    from refimpl.lab.training.config import TrainConfig

MOST_THREADS = 1024
OF_GRAPHS = ("indptr", "indices", "weights", "edge_types", "node_types")
TABLES = ("features", "labels", "columns", "titles", "minus_one")


def limited_threads(threads: int | None) -> AbstractContextManager[object] | Any:
    """Return a context manager in which at most so many threads are used; None: no limit."""
    if threads is None:
        return nullcontext()
    with user_errors():
        require.integer("threads", threads, 1, MOST_THREADS)
    return threadpool_limits(threads)


def load_data(settings: Chosen) -> Dataset:
    """Return the Dataset that the settings name."""
    more: dict[str, Any] = {name: settings.get(name) for name in ("setting", "split", "scaling")}
    more["verify"] = settings.get("verify", False)
    tables: dict[str, Any] = {name: settings.get(name) for name in TABLES}
    with user_errors():
        return load_dataset(settings["data"], dtype=settings["dtype"], **more, **tables)


def check_sampler(gnn: ModuleType, dataset: Dataset, config: TrainConfig) -> None:
    """Draw a subgraph, to find out now whether the sampler's options fit the graph."""
    sampler = getattr(config.method, "sampler", None)
    if sampler is not None:
        with user_errors():
            gnn.sample_many(dataset.train_graph, sampler, config.rng, 0, 1)


def facts_of(dataset: Dataset) -> dict[str, Any]:
    """Return the size of a data set, and a digest to know it by.

    The digest is of the graph, with its weights and types, the raw features, the labels and the
    parts of the split. That of a folder of `Dataset.save` is of all its checksums, and of the
    parts: no other array is read. The scaling, which is rounded, is in neither.
    """
    digest = hashlib.blake2b(digest_size=8)
    arrays: list[NDArray[Any]] = [dataset.train, dataset.val, dataset.test]
    if dataset.checksums is None:
        graphs = [dataset.graph] + ([dataset.train_graph] if dataset.inductive else [])
        held = [getattr(graph, name, None) for graph in graphs for name in OF_GRAPHS]
        X: Any = dataset.features
        held += [X.indptr, X.indices, X.data] if require.issparse(X) else [X]
        arrays = [*(array for array in held if array is not None), dataset.labels, *arrays]
    else:
        digest.update(json.dumps(dataset.checksums, sort_keys=True).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return {
        "name": dataset.name,
        "nodes": dataset.graph.n,
        "edges": dataset.graph.e,
        "features": dataset.features.shape[1],
        "classes": dataset.classes,
        "multilabel": dataset.multilabel,
        "train": dataset.train.size,
        "val": dataset.val.size,
        "test": dataset.test.size,
        "setting": dataset.setting,
        "digest": digest.hexdigest(),
        **({"packed": True} if isinstance(dataset.features, PackedFeatures) else {}),
    }
