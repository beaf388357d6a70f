"""What a cache has to remember so that a run can go on to the same bits."""

import numpy as np

from refimpl.history.entries import STALENESS, Entries
from refimpl.history.policy import MOST
from refimpl.history.ring import HEADERS, NUMBERS, OVERFLOWS

COUNTS = ("admitted", "evicted", "lost", "dropped", "refilled")


def state_of(cache):
    """Return the state of a `BidirectionalCache`: a dictionary of arrays, copied."""
    numbers = [getattr(cache.ring, name) for name in NUMBERS]
    numbers += [getattr(cache, name) for name in COUNTS]
    arrays = arrays_in_use(cache, cache.hwm)
    return {
        "options": options_of(cache),
        "numbers": np.array(numbers, np.int64),
        **{name: array.copy() for name, array in arrays.items()},
    }


def take_over(cache, state):
    """Put a `state` into a cache with the same options, all of it or, with an error, nothing."""
    names = ["options", "numbers", *arrays_in_use(cache, 0)]
    if not isinstance(state, dict):
        raise ValueError(f"state must be a dictionary, got {type(state).__name__}")
    missing = [name for name in names if name not in state]
    if missing:
        raise ValueError(f"state must hold {', '.join(missing)}")
    if len(state) > len(names):
        raise ValueError(f"state must hold nothing but {', '.join(names)}")
    if not np.array_equal(state["options"], options_of(cache)):
        raise ValueError("state must be of a cache with the same options")
    numbers = _numbers(cache, state["numbers"])
    arrays = arrays_in_use(cache, numbers["used"])
    for name, array in arrays.items():
        _check_like(name, state[name], array)
    for name, (low, high) in _ranges(cache).items():
        if state[name].size and not low <= state[name].min() <= state[name].max() <= high:
            raise ValueError(f"state must hold {name} in [{low}, {high}]")
    for name, number in numbers.items():
        setattr(cache.ring if name in NUMBERS else cache, name, number)
    for name, array in arrays.items():
        array[...] = state[name]


def _numbers(cache, found):
    """Return what a ring and a cache remember, by name, from a state's array of it."""
    slots, names = cache.ring.slots, (*NUMBERS, *COUNTS)
    _check_like("numbers", found, np.zeros(len(names), np.int64))
    numbers = dict(zip(names, found.tolist(), strict=True))
    most = {"head": slots, "used": slots, "top": numbers["used"], "cycle": MOST}
    for name, number in numbers.items():
        low, high = -(name == "cycle"), most.get(name, 2**63 - 1)
        if not low <= number <= high:
            raise ValueError(f"state must hold {name} in [{low}, {high}], got {number}")
    return numbers


def _check_like(name, found, array):
    """Raise unless `found` is an array of the shape and dtype of `array`."""
    kind = array.shape, array.dtype
    if not isinstance(found, np.ndarray) or (found.shape, found.dtype) != kind:
        raise ValueError(f"state must hold {name} as {array.shape} {array.dtype}")


def _ranges(cache):
    """Return the least and the largest value of each array of integers."""
    return {
        "slot_of": (-1, cache.ring.slots - 1),
        "back": (-1, cache.layers * cache.n - 1),
        "stamp": (0, MOST),
        "rank": (0, MOST),
    }


def all_arrays(cache):
    """Return all arrays of a cache by name."""
    maps = {name: getattr(cache.entries, name) for name in Entries._fields[1:]}
    return {"arena": cache.arena, **maps, "rank": cache.rank}


def arrays_in_use(cache, used):
    """Return views of what is ever read again, where the first `used` slots are in use."""
    rows = cache.features_beside(used)
    arrays = all_arrays(cache)
    del arrays["arena"]
    features = cache.features[len(cache.features) - rows :]
    if cache.refill and cache.ring.header == "cycle":  # entries of earlier cycles stay behind
        used = cache.slots_beside(rows)
    return {"embeddings": cache.entries.rows[:used], "features": features, **arrays}


def options_of(cache):
    """Return the options of a cache as numbers: a state fits caches that have the same."""
    ring = cache.ring
    t_stale = -1 if cache.t_stale is None else cache.t_stale
    shares = [cache.arena.size, ring.slots, len(cache.features)]
    choices = [
        HEADERS.index(ring.header),
        OVERFLOWS.index(ring.overflow),
        STALENESS.index(cache.staleness),
        cache.refill,
    ]
    sizes = [cache.n, cache.d, cache.h, cache.layers]
    return np.array([*sizes, *shares, t_stale, ring.start_iter, *choices], np.int64)
