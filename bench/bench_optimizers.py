"""Adam, on the weights of one layer."""

import numpy as np
from numpy.testing import assert_allclose

from bench import inputs
from bench.work import stream


def test_adam_step(case):
    rows, cols = {"small": (256, 128), "large": (2_048, 1_024)}[case.size]
    theta, grad, m = (inputs.normal((rows, cols), seed) for seed in (1, 2, 3))
    v = inputs.normal((rows, cols), 4) ** 2
    # read theta, grad, m and v; write theta, m and v
    case.describe("adam_step", f"{rows}x{cols} float32", stream(7 * theta.nbytes))

    def fresh(turn):
        return [theta.copy(), grad, m.copy(), v.copy(), 10 + turn]

    (got, _, got_m, got_v, t), _ = case.run_turns(case.gnn.adam_step, fresh)
    theta, grad, m, v = (array.astype(np.float64) for array in (theta, grad, m, v))
    m, v = m + 0.1 * (grad - m), v + 0.001 * (grad**2 - v)
    step = 0.01 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)  # Adam's other form, its section 2
    moved = step * m / (np.sqrt(v) + 1e-8 * np.sqrt(1 - 0.999**t))
    assert_allclose(got_m, m, atol=1e-6)
    assert_allclose(got_v, v, rtol=1e-5, atol=1e-12)
    assert_allclose(got, theta - moved, rtol=1e-5, atol=1e-5)
