"""Build a table from which one of k outcomes is drawn in constant time."""

import numpy as np

from refimpl.samplers.alias import AliasTable


def alias_build(weights):
    """Return the table to draw outcome i in proportion to weights[i]: Walker's alias method.

    Cut the law into k equal parts of at most two outcomes each: of part i, the share prob[i] is
    outcome i itself, the rest is outcome alias[i]. Then one draw chooses a part, and one more an
    outcome in it.

    Vose's way to build it (1991). Scale the weights so that they add up to k:
    p[i] = weights[i] / total * k, from left to right. Put the outcomes on two stacks in ascending
    order: `small` where p[i] < 1, `large` otherwise. As long as neither is empty, take the top of
    both, `low` and `high`: part low is p[low] of itself, the rest of high. So high has less:
    p[high] becomes (p[high] + p[low]) - 1; put it back on the stack where it belongs now. What is
    left at the end has a whole part to itself: prob 1, alias itself.

    Parameters
    ----------
    weights : (k,) float array
        Not negative; their sum is above 0. Add them up from left to right, in float64.

    Returns
    -------
    AliasTable
        Of prob, a (k,) float64 array, and alias, a (k,) int64 array.
    """
    weights = weights.astype(np.float64)
    k = len(weights)
    p = (weights / np.cumsum(weights)[-1] * k).tolist()
    prob, alias = np.ones(k), np.arange(k)
    small, large = [], []
    for i in range(k):
        (small if p[i] < 1 else large).append(i)
    while small and large:
        low, high = small.pop(), large.pop()
        prob[low], alias[low] = p[low], high
        p[high] = (p[high] + p[low]) - 1
        (small if p[high] < 1 else large).append(high)
    return AliasTable(prob, alias)


# ---- what follows is the course's ----

PAGE = "learn/edge_and_walks"
REFERENCE = "refimpl.samplers.alias:alias_build"
BESIDE = "The reference is the same; it refuses weights that are no law."
HINTS = (
    "A Python list is a stack: `append` puts on top, `pop()` takes from there.",
    "`np.sum` adds in another order than from left to right; `np.cumsum(weights)[-1]` does not.",
    "Begin with `prob = np.ones(k)` and `alias = np.arange(k)`: what is never `low` stays whole.",
)
MISTAKES = (
    (
        "p[high] = (p[high] + p[low]) - 1",
        "p[high] = p[high] - p[low]",
        "takes p[low] away from high, which gives 1 - p[low]",
        "1 of 6 numbers differ",
    ),
    (
        "        (small if p[high] < 1 else large).append(high)\n    return",
        "        large.append(high)\n    return",
        "puts high back among the large ones even if less than 1 is left of it",
        "",
    ),
    (
        "small.pop(), large.pop()",
        "small.pop(0), large.pop(0)",
        "takes from the front of the lists, as from queues, and not from the top",
        "",
    ),
    (
        "    weights = weights.astype(np.float64)\n",
        "",
        "computes in float32 where the weights are float32",
        "weights is float32",
    ),
    (
        "/ np.cumsum(weights)[-1] * k",
        "* k",
        "does not divide by the sum of the weights",
        "",
    ),
)
