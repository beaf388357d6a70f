"""Decide which embeddings enter FreshGNN's cache, and which leave it."""

import numpy as np

from refimpl.history.policy import select_stable


def policy(ids, score, comp, p, *, gradient_evict=True, allow=None):
    """Return which rows of a layer are admitted to the cache, and which nodes are evicted.

    FreshGNN, section 4.1. After the backward pass each live node of a layer has the norm of its
    gradient as its score. A fraction p of all of them, cached and computed alike, is stable: those
    of the lowest score. Then

    - a stable embedding that was computed in this iteration is admitted;
    - a stable one that came from the cache stays there as it is, with its old stamp: it is not
      admitted again, or it would never get too old;
    - of an unstable node the entry is evicted, wherever its embedding came from: one that was
      computed may have an older entry.

    Parameters
    ----------
    ids : (m,) int64 array
        The nodes, each once.
    score : (m,) float array
    comp : (m,) bool array
        Whether the embedding was computed now; otherwise it came from the cache.
    p : float in [0, 1]
        The papers' p_grad. `select_stable(score, ids, p)` says which rows are stable.
    gradient_evict : bool
        False: nothing is evicted, as in the public code.
    allow : (m,) bool array, optional
        Rows that may be admitted, as the policy for performance says. It says nothing of eviction.

    Returns
    -------
    dict
        "admit": the numbers of the rows that are admitted, ascending; "evict": the nodes (of `ids`)
        whose entries are evicted, in the order of the rows.
    """
    stable = select_stable(score, ids, p)
    new = stable & comp
    if allow is not None:
        new = new & allow
    evicted = ids[~stable] if gradient_evict else ids[:0]
    return {"admit": np.flatnonzero(new), "evict": evicted}
