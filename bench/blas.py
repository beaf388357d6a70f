"""Dense products of a training step on SciPy's BLAS and on MKL."""

import numpy as np
from threadpoolctl import threadpool_limits

from bench import inputs
from bench.command import Common, numbers
from bench.markdown import significant, table
from bench.timing import elapsed, in_turns, summary
from fastimpl import _blas_choice, _mkl
from fastimpl._blas_choice import Choice
from fastimpl.propagation import matmul_into, matmul_t_into

COMMON = Common(threads=True, rounds=9)
QUICK = {"nodes": 600, "widths": [20, 16, 3]}


def add_options(parser):
    """Add what only this benchmark has."""
    parser.add_argument("--nodes", type=int, default=8000, help="of a subgraph (default: 8000)")
    parser.add_argument(
        "--widths",
        type=numbers(int),
        default=[602, 512, 512, 41],
        help="of features, hidden layers and classes (default: 602,512,512,41)",
    )


def report(options):
    """Measure; yield the table."""
    found = _mkl.installed()
    sides = {"SciPy": Choice("scipy", "in bench")}
    if found:
        sides["MKL"] = Choice("mkl", "in bench", _mkl.opened(found[1]))
    yield (
        f"GFLOP/s of the products of a layer in float32, {options.nodes:,} rows, as the layers "
        f"call them; medians of {options.rounds} interleaved rounds. *SciPy*: "
        f"{_blas_choice.scipys()}; *MKL*: {found[0] if found else 'not installed'}."
    )
    yield ""
    before = _blas_choice.in_use()
    try:
        rows = [
            row(name, call, flops, sides, threads, options.rounds)
            for name, call, flops in products(options.nodes, options.widths)
            for threads in options.threads
        ]
    finally:
        _blas_choice.use(before)
    yield from table(["product", "threads", *sides, *(["MKL / SciPy"] if found else [])], rows)


def products(nodes, widths):
    """Yield (name, call, floating-point operations) for each product of each layer."""
    for f, h in dict.fromkeys(zip(widths, widths[1:], strict=False)):
        X, W, G = (
            inputs.normal(shape, seed, "float32")
            for seed, shape in enumerate([(nodes, f), (f, h), (nodes, h)])
        )
        for name, product, A, B, shape in (
            ("X W", matmul_into, X, W, (nodes, h)),
            ("X^T G", matmul_t_into, X, G, (f, h)),
            ("G W^T", multiply_t, G, W, (nodes, f)),
        ):
            yield f"{name}, {f} to {h}", caller(product, A, B, shape), 2 * nodes * f * h


def multiply_t(A, B, C):
    """Write A B^T to C and return it."""
    return matmul_into(A, B, C, transpose_b=True)


def caller(product, A, B, shape):
    """Return a function that computes a product into memory that is kept."""
    C = np.empty(shape, np.float32)
    left = A.T if product is matmul_t_into else A
    right = B.T if product is multiply_t else B
    want = left[:3].astype(np.float64) @ right

    def call():
        product(A, B, C)

    def check():
        call()
        np.testing.assert_allclose(C[:3], want, rtol=1e-3, atol=1e-2)

    call.check = check
    return call


def row(name, call, flops, sides, threads, rounds):
    """Return the cells of a product on some threads."""

    def on(side):
        def timed(_):
            _blas_choice.use(side)
            return elapsed(call)

        return timed

    with threadpool_limits(threads):
        for side in sides.values():
            _blas_choice.use(side)
            call.check()
        seconds = in_turns({name: on(side) for name, side in sides.items()}, rounds, warm_up=1)
    medians = [summary(each).median for each in seconds.values()]
    ratio = [f"{medians[0] / medians[1]:.2f}"] if len(medians) > 1 else []
    return [name, threads, *(significant(1e-9 * flops / median) for median in medians), *ratio]
