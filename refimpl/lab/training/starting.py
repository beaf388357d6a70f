"""What a run is looked at for before it starts."""

import warnings

import numpy as np

from refimpl.lab.distributed.parts import FeatureParts


def what_is_run(gnn, dataset, config, state):
    """Return what all ranks of a run must have in common, as far as it is known at once."""
    parts = config, config.model, config.method
    return {
        "implementation": gnn.__name__,
        "configuration": repr([(part.name, part.values()) for part in parts]),
        "data set": (dataset.graph.n, dataset.graph.e, len(dataset.roots), dataset.dtype.name),
        "state": (state.iterations, state.best_epoch, sorted(state.weights)),
    }


def warn_of_lost_edges(dataset):
    """Warn where inductive training keeps less than half of the training nodes' edges."""
    share = dataset.kept_share()
    if share < 0.5:
        warnings.warn(
            f"the graph between the training nodes has {share:.1%} of their edges: "
            'setting "transductive" would train on all of them',
            stacklevel=4,
        )


def check_features(features, dataset):
    """Raise unless training can read its rows of features from `features`."""
    shape, dtype = (dataset.train_graph.n, dataset.features.shape[1]), dataset.dtype
    if not isinstance(features, np.ndarray | FeatureParts):
        raise TypeError(f"features must be an array, got {type(features).__name__}")
    plain = isinstance(features, FeatureParts) or features.flags.c_contiguous
    if features.shape != shape or not plain:
        raise ValueError(f"features must be C-contiguous {shape}, got {features.shape}")
    if np.result_type(features.dtype, np.float32) != dtype:
        raise TypeError(f"features must be {dtype} as the data set, got {features.dtype}")
