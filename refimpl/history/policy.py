"""Which embeddings are stable enough to be kept: FreshGNN's policy for accuracy (section 4.1)."""

from typing import NamedTuple

import numpy as np

from refimpl import _check

LANES = 8  # partial sums of a row's norm: as many as a vector register holds
MOST = 2**31 - 1  # iterations, slots and nodes are counted in int32
CONTROLS = ("gradient", "random", "anti")


class PolicyCounts(NamedTuple):
    """What one update of a layer did: `policy_update` returns it.

    Attributes
    ----------
    low : int
        Rows that count as stable.
    admitted : int
        Embeddings that the cache stored.
    evicted : int
        Entries taken out of the cache.
    """

    low: int
    admitted: int
    evicted: int


def gradient_norms(G):
    """Return the Euclidean norm of every row: how far its embedding is from stable.

    Sums in float64 and in one order: column j is added to partial sum j % 8, from left to right,
    then the eight are added up. The scores of FreshGNN section 4.1.1 (E-V9). O(m f) time.

    Parameters
    ----------
    G : (m, f) float32 or float64 array
        Gradients of embeddings.

    Returns
    -------
    (m,) float64 array

    Raises
    ------
    TypeError, ValueError
        If `G` is no such array.
    """
    G = _check.floats("G", G, (None, None))
    lanes, total = np.zeros((len(G), LANES)), np.zeros(len(G))
    with np.errstate(over="ignore"):
        for j in range(0, G.shape[1], LANES):
            part = G[:, j : j + LANES].astype(np.float64)
            lanes[:, : part.shape[1]] += part * part
        for k in range(LANES):
            total += lanes[:, k]
    return np.sqrt(total)


def select_stable(score, ids, p):
    """Return which rows are among the ``floor(p m + 1e-9)`` smallest by (score, id).

    The fraction p is of the rows that are ranked, and exact whatever the ties. FreshGNN
    (section 4.1.1) leaves open how ties are broken: here by id, then by position (E-V10).
    O(m log m) time; fastimpl O(m).

    Parameters
    ----------
    score : (m,) float32 or float64 array
    ids : (m,) integer array
        Not negative.
    p : float in [0, 1]

    Returns
    -------
    (m,) bool array

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    FloatingPointError
        If a score is NaN: it must never pass for stable.

    Examples
    --------
    >>> select_stable(np.array([0.3, 0.1, 0.2, 0.1]), [0, 1, 2, 3], 0.5)
    array([False,  True, False,  True])
    """
    score, ids, k = stable_arguments(score, ids, p)
    low = np.zeros(len(score), np.bool_)
    low[np.lexsort((ids, score))[:k]] = True
    return low


def policy_update(
    gnn,
    cache,
    layer,
    ids,
    score,
    comp,
    values,
    i,
    *,
    p,
    rank_base="all",
    gradient_evict=True,
    control="gradient",
    key=None,
    allow=None,
):
    """Admit the stable new embeddings of a layer to the cache, evict the unstable cached ones.

    FreshGNN section 4.1.1. The rows are the live nodes of the layer. A stable row that was
    computed is admitted with stamp `i`; an unstable one that came from the cache is evicted; a
    stable one that came from the cache keeps its value and its stamp. Rows are admitted in the
    order given, so a caller that wants the dearest first gives them in that order. O(m log m)
    time in refimpl, O(m) in fastimpl, besides the copying.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    cache : BidirectionalCache, StaticSplitCache or DictCache
    layer : int
        From 1.
    ids : (m,) integer array
        The nodes, each once.
    score : (m,) float array
        Norms of their gradients; see `gradient_norms`.
    comp : (m,) bool array
        Whether the embedding was computed now; otherwise it was read from the cache.
    values : (m, h) float array
        The embeddings, in the dtype of the cache. Only rows that are admitted are read.
    i : int
        This iteration.
    p : float in [0, 1]
        Fraction of stable rows.
    rank_base : {"all", "new"}
        The rows that `p` is a fraction of. With "new", only computed rows are ranked, and a cached
        row is unstable if it is behind the last one admitted; with p = 1, or where nothing was
        computed and p > 0, no cached row is.
    gradient_evict : bool
        False leaves unstable rows in the cache, as the public code does.
    control : {"gradient", "random", "anti"}
        "random" ranks by draw number id of the stream `key`, "anti" by the largest gradient.
    key : int in [0, 2**64), optional
        Only for "random"; should be new in every iteration and layer.
    allow : (m,) bool array, optional
        Rows that may be admitted: the policy for performance. It never admits more.

    Returns
    -------
    PolicyCounts

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    FloatingPointError
        If a score is NaN.
    """
    _check.choice("rank_base", rank_base, ("all", "new"))
    _check.choice("control", control, CONTROLS)
    score, ids, _ = stable_arguments(score, ids, p)
    comp = mask("comp", comp, len(ids))
    if len(values) != len(ids):
        raise ValueError(f"values must have {len(ids)} rows like ids, got {len(values)}")
    if control == "random":
        score = gnn.streams.uniform(_check.word("key", key), ids.astype(np.uint64))
    elif control == "anti":
        score = -score
    low = low_rows(gnn, score, ids, comp, p, rank_base)
    admit = low & comp if allow is None else low & comp & mask("allow", allow, len(ids))
    evicted = cache.evict(layer, ids[~low & ~comp]) if gradient_evict else 0
    rows = np.flatnonzero(admit)
    admitted = cache.admit(layer, ids[rows], values, i, take=rows)
    return PolicyCounts(int(np.count_nonzero(low)), admitted, evicted)


def low_rows(gnn, score, ids, comp, p, rank_base):
    """Return which rows are stable."""
    if rank_base == "all":
        return gnn.history.select_stable(score, ids, p)
    low = np.zeros(len(ids), np.bool_)
    low[comp] = gnn.history.select_stable(score[comp], ids[comp], p)
    if p == 1 or not comp.any():
        low[~comp] = p > 0
    elif low.any():
        highest = score[low].max()
        last = ids[low & (score == highest)].max()
        low |= ~comp & ((score < highest) | ((score == highest) & (ids < last)))
    return low


def stable_arguments(score, ids, p):
    """Check the arguments of `select_stable`; return (float64 score, int64 ids, k)."""
    score = _check.floats("score", score, (None,)).astype(np.float64, copy=False)
    ids = _check.ids("ids", ids, 0, 2**63 - 1, np.int64)
    if ids.size != score.size:
        raise ValueError(f"ids must have shape {score.shape} like score, got {ids.shape}")
    if np.isnan(score).any():
        raise FloatingPointError("score must not be NaN: the gradient is broken")
    p = _check.real("p", p, 0, high=1)
    return score, ids, int(p * len(score) + 1e-9)


def mask(name, value, m):
    """Return `value` as m bools, or raise."""
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must hold bools, got dtype {array.dtype}")
    if array.shape != (m,):
        raise ValueError(f"{name} must have shape ({m},), got {array.shape}")
    return np.ascontiguousarray(array)


def staleness_bound(t_stale):
    """Return `t_stale` as an int or None, or raise."""
    return None if t_stale is None else _check.integer("t_stale", t_stale, 0, MOST)


def layer_ids(layers, n, layer, ids):
    """Check a layer and nodes of it; return (int, int32 array)."""
    return _check.integer("layer", layer, 1, layers), _check.ids("ids", ids, 0, n, np.int32)


def rows_taken(values, shape, dtype, take):
    """Check `values` (m, h) and `take`, the row for each of `count` ids; return both."""
    count, h = shape
    values = _check.floats("values", values, (count if take is None else None, h), dtype)
    if take is not None:
        take = _check.ids("take", take, 0, len(values), np.int64)
        if take.size != count:
            raise ValueError(f"take must have shape ({count},) like ids, got {take.shape}")
    return values, take


class DictCache:
    """What a cache of embeddings means: a dictionary without a bound on its size.

    The oracle of `BidirectionalCache`: the same methods, and no features. An entry written in
    iteration i is valid in iteration j if ``j - i <= t_stale`` (FreshGNN section 4.1.2); reading
    it never makes it younger.

    Parameters
    ----------
    layers : int
        Layers whose embeddings are kept, 1 to `layers`.
    n : int
        Nodes of the graph.
    width : int
        Of an embedding.
    t_stale : int or None
        The highest age; None: any.
    dtype : float32 or float64

    Attributes
    ----------
    admitted, evicted : int
        Entries written, and taken out, so far.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
    """

    wrapped = dropped = refilled = 0

    def __init__(self, layers, n, width, t_stale, *, dtype="float32"):
        self.layers = _check.integer("layers", layers, 0)
        self.n = _check.integer("n", n, 0, MOST)
        self.width = _check.integer("width", width, 1)
        self.t_stale = staleness_bound(t_stale)
        self.dtype = _check.float_dtype("dtype", dtype)
        self.admitted = self.evicted = 0
        self._slots: dict[tuple[int, int], int] = {}  # (layer, node) -> slot
        self._rows: list[np.ndarray] = []  # of the slots
        self._stamps: list[int | None] = []  # None: evicted
        self._d = 0

    def fill(self, X, hotness):
        """Remember the width of the features `X`; it holds none, whatever their `hotness`."""
        self._d = np.shape(X)[1]

    def feature_mask(self, ids):
        """Return for which of the nodes `ids` the features are held: none."""
        return np.zeros(len(ids), np.bool_)

    def fetch_features(self, ids):
        """Return zeros for the nodes `ids`, and that none of their features is held."""
        return np.zeros((len(ids), self._d), self.dtype), self.feature_mask(ids)

    @property
    def nbytes(self):
        """Bytes of the embeddings held."""
        return len(self._rows) * self.width * self.dtype.itemsize

    def lookup(self, layer, ids, i):
        """Return the slots of the entries valid in iteration `i`, -1 for the others, int32.

        `layer` counts from 1, `ids` is a (k,) integer array of nodes.
        """
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        i = _check.integer("i", i, 0, MOST)
        slots = np.full(len(ids), -1, np.int32)
        for j, node in enumerate(ids.tolist()):
            slot = self._slots.get((layer, node), -1)
            stamp = self._stamps[slot] if slot >= 0 else None
            if stamp is not None and (self.t_stale is None or i - stamp <= self.t_stale):
                slots[j] = slot
        return slots

    def read(self, slots):
        """Return the embeddings in some `slots`, (len(slots), width)."""
        slots = _check.ids("slots", slots, 0, len(self._rows), np.int32)
        return np.array([self._rows[s] for s in slots], self.dtype).reshape(-1, self.width)

    def begin_update(self, i):
        """Begin the update of iteration `i`: nothing to do, as no slot is ever needed again."""
        _check.integer("i", i, 0, MOST)

    def evict(self, layer, ids):
        """Take out a `layer`'s entries of the nodes `ids`; return how many there were."""
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        count = 0
        for node in ids.tolist():
            slot = self._slots.get((layer, node), -1)
            if slot >= 0 and self._stamps[slot] is not None:
                self._stamps[slot] = None
                count += 1
        self.evicted += count
        return count

    def admit(self, layer, ids, values, i, *, take=None):
        """Write the entries of some nodes, in order; return how many.

        `layer`, `ids`, `values`, `i` and `take` are as for `cache_admit`; any number of nodes.
        """
        layer, ids = layer_ids(self.layers, self.n, layer, ids)
        i = _check.integer("i", i, 0, MOST)
        values, take = rows_taken(values, (len(ids), self.width), self.dtype, take)
        for j, node in enumerate(ids.tolist()):
            slot = self._slots.setdefault((layer, node), len(self._rows))
            value = values[j if take is None else take[j]].copy()
            self._rows[slot : slot + 1], self._stamps[slot : slot + 1] = [value], [i]
        self.admitted += len(ids)
        return len(ids)

    def state_dict(self):
        """Return everything that `load_state_dict` needs to go on alike: a dictionary of arrays."""
        held = [slot for slot in self._slots.values() if self._stamps[slot] is not None]
        keys = [key for key, slot in self._slots.items() if self._stamps[slot] is not None]
        return {
            "keys": np.array(keys, np.int64).reshape(-1, 2),
            "stamps": np.array([self._stamps[slot] for slot in held], np.int64),
            "rows": np.array([self._rows[slot] for slot in held], self.dtype).reshape(
                -1, self.width
            ),
            "counts": np.array([self.admitted, self.evicted], np.int64),
        }

    def load_state_dict(self, state):
        """Take over a `state` that `state_dict` of a cache with the same options returned."""
        rows = _check.floats("rows", state["rows"], (None, self.width), self.dtype)
        keys = np.asarray(state["keys"], np.int64).reshape(len(rows), 2)
        self._slots = {(layer, node): s for s, (layer, node) in enumerate(keys.tolist())}
        self._rows, self._stamps = list(rows.copy()), state["stamps"].tolist()
        self.admitted, self.evicted = state["counts"].tolist()
