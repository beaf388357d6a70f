"""Forward and backward pass of two layers and a classifier: a training step without Adam."""

from functools import cache

import numpy as np

from bench import inputs
from bench.answers import near, near_norm
from bench.case import Bench, Task, timed
from bench.peers.cases import Passes, inputs_at

MODELS = "sage", "gcn", "gat"
PARTS = (
    *(f"{model}_{way}" for model in MODELS for way in ("forward", "backward")),
    "dense_forward",
    "dense_backward",
    "softmax_cross_entropy",
)
CLOSE = 5e-3  # of a gradient's norm: in float32 a ReLU near 0 may fall on either side


@cache
def passes(gnn, model, size):
    """Return the `Passes` of a package; what training makes once is made."""
    return Passes(*inputs_at(model, size), gnn)


def both(gnn, model, size):
    """Return loss and gradients."""
    return passes(gnn, model, size).backward()


def check(got, args, other):
    """Compare loss and gradients with another package's."""
    if other is None:
        return
    (loss, gradients), (want_loss, want) = got, both(other, **args)
    near("loss", float(loss), float(want_loss), rtol=1e-4)
    least = 1e-3 * max(np.linalg.norm(gradient) for gradient in want.values())  # others are noise
    for name, gradient in want.items():
        near_norm(f"gradient of {name}", gradients[name], gradient, CLOSE, least)


def tasks(size):
    """Yield the passes of each model."""
    scale = inputs.SIZES[size]
    graph = inputs.graph_text(inputs.layer_graph(size))
    for model in MODELS:
        text = f"{model} {graph} f={scale.f} h={scale.hidden} C={scale.classes} float32"
        yield Task(text, {"model": model, "size": size}, check, call=both)


test_steps = timed(Bench("forward and backward", tasks, parts=PARTS, forms=MODELS))
