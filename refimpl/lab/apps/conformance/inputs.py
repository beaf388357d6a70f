"""What cases of layers are made from: patterns with values, and numbers that all differ.

Numbers are odd multiples of a power of two, so that sums and products of a few of them are exact
in every order, in single precision too: a wrong result then is a wrong formula, not rounding.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refimpl.adjacency import Adjacency
from refimpl.block import Block, transpose_block
from refimpl.graph import Graph, transpose_perm
from refimpl.lab.apps.conformance.case import Case, Close
from refimpl.streams import permutation

FloatKind: TypeAlias = np.dtype[np.floating[Any]] | type[np.floating[Any]]
Cases: TypeAlias = Mapping[str, tuple[dict[str, Any], tuple[str, ...]]]  # id: arguments, flags


def numbers(
    shape: int | tuple[int, ...], seed: int, step: float = 0.25, dtype: FloatKind = np.float64
) -> NDArray[Any]:
    """Return an array of distinct odd multiples of `step` around 0, shuffled by `seed`."""
    size = int(np.prod(shape))
    odd = 2 * permutation(seed, size).astype(dtype) - 2 * (size // 2) + 1
    return (odd * np.dtype(dtype).type(step)).reshape(shape)


def block(rows: Sequence[Sequence[int]], n_src: int, dead: int = 0) -> Block:
    """Return the Block with these rows; after each come `dead` entries that belong to no row."""
    lengths = np.array([len(row) for row in rows], np.int64)
    start = np.cumsum(lengths + dead) - lengths - dead
    indices = [u for row in rows for u in (*row, *[0] * dead)]
    return Block(start, start + lengths, np.array(indices, np.int64), n_src)


def weighted(pattern: Graph | Block, data: NDArray[Any]) -> Adjacency:
    """Return the Adjacency with the values `data`, and its transpose."""
    if isinstance(pattern, Graph):
        perm = transpose_perm(pattern)
        return Adjacency(pattern, data, data[perm], perm=perm)
    transposed, perm = transpose_block(pattern)
    return Adjacency(pattern, data, data[perm], transposed, perm)


def distinct(
    pattern: Graph | Block, seed: int, step: float = 0.25, dtype: FloatKind = np.float64
) -> Adjacency:
    """Return an Adjacency with `numbers` as values, NaN where an entry belongs to no row."""
    data = np.full(pattern.e, np.nan, dtype)
    live = [j for a, b in zip(pattern.start, pattern.end, strict=True) for j in range(a, b)]
    data[live] = numbers(len(live), seed, step, dtype)
    return weighted(pattern, data)


def single(value: Any) -> Any:
    """Return `value` with every float64 array in it, however deep, as float32."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float32) if value.dtype == np.float64 else value
    if isinstance(value, Adjacency):
        data, data_t = single(value.data), single(value.data_t)
        return Adjacency(value.graph, data, data_t, value.graph_t, value.perm)
    if isinstance(value, dict):
        return {name: single(item) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(single, value))
    return type(value)(map(single, value)) if isinstance(value, tuple | list) else value


def backward(
    forward: Callable[..., Any], arguments: dict[str, Any], seed: int, **more: Any
) -> dict[str, Any]:
    """Return the arguments of a layer's backward pass: those of `forward`, its result, G_out."""
    out = forward(**arguments)
    name, X_out = ("Y", out) if isinstance(out, np.ndarray) else ("out", out.X_out)
    G_out = numbers(X_out.shape, seed, dtype=X_out.dtype)
    return {**arguments, name: out, "G_out": G_out, **more}


def backwards(forward: Callable[..., Any], cases: Cases, seed: int, **more: Any) -> Cases:
    """Return the cases of a backward pass: those of `forward`, with seeds from `seed` on."""
    return {
        id: (backward(forward, arguments, seed + i, **more), flags)
        for i, (id, (arguments, flags)) in enumerate(cases.items())
    }


def among(listed: Sequence[Case], cases: Cases) -> tuple[Case, ...]:
    """Return the cases of a TOML file, with generated ones in front of those that must fail."""
    answered = [case for case in listed if case.error is None]
    refused = [case for case in listed if case.error is not None]
    return (*answered, *(Case(id, *of) for id, of in cases.items()), *refused)


# Three destinations, five sources; the second row is empty, sources stand in no order.
SAMPLED = block([[4, 1, 3], [], [0, 2]], 5)
PRUNED = block([[4, 1, 3], [], [0, 2]], 5, dead=1)

LINEAR = Close(
    1e-12,
    1e-12,
    "Only the cases on thirds round. There float64 sums of at most 30 products, in any order, "
    "fused or not, have terms whose sizes add up to less than 150: 30 * 150 * 2**-53 < 1e-12. "
    "All others, those in float32 too, hold small multiples of a power of two: they are exact.",
)
LAYER_FLAGS = {
    "BIAS": "A bias, added before the ReLU.",
    "BLOCK": "A rectangular pattern: more columns than rows, entries of a row in any order.",
    "DEAD": "Entries of the pattern that belong to no row; their value is NaN, never to be read.",
    "LINEAR": "No ReLU: negative results stay, and the gradient has no mask.",
    "THIRDS": "Values that no binary number is: only here may results round.",
}
BACK_FLAGS = {
    "KINK": "A result of the ReLU that is 0 because its argument is: the gradient there is 0.",
    "NO_DX": "The gradient of X is not asked for: None.",
}
