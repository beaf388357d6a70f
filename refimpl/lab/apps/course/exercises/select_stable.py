"""Choose the embeddings whose gradients are smallest."""

import numpy as np


def select_stable(score, ids, p):
    """Return which rows are among the stable ones: a fraction `p`, those of the lowest score.

    FreshGNN, section 4.1. The score of a node's embedding is the norm of its gradient: where it is
    small, the embedding will change little, and may be kept. Of m rows, floor(p m + 1e-9) are
    stable: 0.29 times 100 is 28.999999999999996 in float64, and 29 is meant. Rows stand in the
    order of their score; of equal scores the lower id is first, of equal ids the row further up.

    Parameters
    ----------
    score : (m,) float32 or float64 array
    ids : (m,) integer array
        Of the nodes.
    p : float in [0, 1]

    Returns
    -------
    (m,) bool array
    """
    count = int(p * len(score) + 1e-9)
    order = sorted(range(len(score)), key=lambda row: (score[row], ids[row]))
    stable = np.zeros(len(score), np.bool_)
    stable[order[:count]] = True
    return stable


# ---- what follows is the course's ----

PAGE = "learn/fresh_policy"
REFERENCE = "refimpl.history.policy:select_stable"
STEPPER = ("cache", "ranks", "")
BESIDE = "The reference sorts with `np.lexsort((ids, score))`, whose last key counts first."
HINTS = (
    "`sorted(range(m), key=..)` gives the rows in order. Python's sort keeps equal ones as they "
    "were.",
    "A key may be a pair: `(score[row], ids[row])` goes by score, then by id.",
    "`int(x)` rounds a positive number down.",
)
MISTAKES = (
    (
        "int(p * len(score) + 1e-9)",
        "int(p * len(score))",
        "rounds a product down that is a little below a whole number",
        "a product just below an integer counts as that",
    ),
    (
        "(score[row], ids[row])",
        "score[row]",
        "goes by position where scores are equal, and not by id",
        "Two candidates are equal",
    ),
    (
        "    stable[order[:count]] = True\n",
        "    if count:\n        stable[score <= score[order[count - 1]]] = True\n",
        "takes all rows whose score is not above the last stable one's, more than p where some are "
        "equal",
        "Two candidates are equal",
    ),
    (
        "(score[row], ids[row])",
        "(-score[row], ids[row])",
        "takes the largest gradients",
        "",
    ),
    (
        "int(p * len(score) + 1e-9)",
        "round(p * len(score))",
        "rounds to the nearest whole number, where it is down",
        "",
    ),
)
