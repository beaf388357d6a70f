"""Adam, on the weights of one layer."""

import numpy as np

from bench import inputs
from bench.answers import near
from bench.case import Bench, Task, timed
from bench.work import stream

SHAPES = {"tiny": (16, 8), "medium": (256, 128), "large": (2_048, 1_024)}


def adam_tasks(size):
    """Yield a step, each on weights and moments of its own."""
    theta, grad, m = (inputs.normal(SHAPES[size], seed) for seed in (1, 2, 3))
    v = inputs.normal(SHAPES[size], 4) ** 2

    def turn(i):
        return {"theta": theta.copy(), "m": m.copy(), "v": v.copy(), "t": 10 + i}

    def check(got, args, other):
        before = (array.astype(np.float64) for array in (theta, grad, m, v))
        at, g, mean, square = before
        t, mean, square = args["t"], mean + 0.1 * (g - mean), square + 0.001 * (g**2 - square)
        step = 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)  # Adam's other form, its section 2
        at -= step * mean / (np.sqrt(square) + 1e-8 * np.sqrt(1 - 0.999**t))
        for name, want, close in (
            ("m", mean, {"atol": 1e-6}),
            ("v", square, {"rtol": 1e-5, "atol": 1e-12}),
            ("theta", at, {"rtol": 1e-5, "atol": 1e-5}),
        ):
            near(name, args[name], want.astype(np.float32), **close)

    rows, cols = SHAPES[size]
    # read theta, grad, m and v; write theta, m and v
    yield Task(f"{rows}x{cols} float32", {"grad": grad}, check, stream(7 * theta.nbytes), turn)


test_optimizers = timed(Bench("adam_step", adam_tasks))
