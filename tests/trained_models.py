"""Models to use: of every kind, trained for a moment; and what they are compared by."""

from dataclasses import fields

import numpy as np

from refimpl import TrainedModel
from refimpl.lab.training.config import config_from

KINDS = {
    "sage": {},
    "sage, all options": {
        "bias": True,
        "row_l2": True,
        "concat": "self_first",
        "dropout": 0.2,
        "classifier_relu": True,
        "layers": 3,
    },
    "gcn": {"model": "gcn"},
    "mixhop": {"model": "mixhop", "hops": 3},
    "gat": {"model": "gat", "heads": 2, "attention": "softmax"},
    "gat, its last layer the classifier": {
        "model": "gat",
        "heads": 4,
        "classifier": "layer",
        "attention_dropout": 0.3,
        "layers": 3,
    },
    "sage, added": {"concat": "sum", "classifier": "layer"},
    "mlp": {"model": "mlp", "layers": 1},
}


def trained(gnn, data, **options):
    """Return the TrainedModel of a short run."""
    config = config_from({"hidden": 8, "epochs": 2, "lr": 0.05, **options})
    return TrainedModel.trained(data, config, gnn.train(data, config).weights)


def raw(folder):
    return np.load(folder / "feats.npy")


def same_model(a, b):
    """Whether two models are equal, to the bit."""
    names = [f.name for f in fields(TrainedModel) if f.name not in ("weights", "scaling")]
    arrays = [{**m.weights, **dict(enumerate(m.scaling or ()))} for m in (a, b)]
    return (
        all(getattr(a, name) == getattr(b, name) for name in names)
        and arrays[0].keys() == arrays[1].keys()
        and all(
            x.dtype == arrays[1][name].dtype and x.tobytes() == arrays[1][name].tobytes()
            for name, x in arrays[0].items()
        )
    )
