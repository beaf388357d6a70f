"""The cache whose header goes back every cycle, where it is not like the other."""

import numpy as np
from cache_cases import N, admit, features, valid


def test_as_printed_the_header_passes_what_is_not_written(gnn):
    """4 rows into 3 slots: the header is where it would be after one row after the other."""
    cache = gnn.BidirectionalCache(N, 1, 1, 1, 3, t_stale=None, header="cycle")
    assert admit(cache, 1, [5, 6, 7, 8], 0) == 3
    assert (cache.head, cache.hwm, cache.dropped) == (1, 3, 1)
    assert cache.lookup(1, [5, 6, 7, 8], 1).tolist() == [-1, 1, 2, 0]
    admit(cache, 1, [9], 1)
    assert [v for _, v in valid(cache, 1)] == [7, 8, 9]


def test_refill_as_printed_takes_out_no_more(gnn):
    """Where no feature comes back, what the cycle did not write is served on, and saved."""
    options = {"t_stale": 2, "refill": True, "header": "cycle", "staleness": "header_only"}
    cache, other = (gnn.BidirectionalCache(N, 1, 1, 1, 40, **options) for _ in range(2))
    for one in (cache, other):
        one.fill(features(N, 1), np.arange(N))
    for i, ids in ((0, [0, 1, 2, 3]), (2, [7]), (4, [])):
        cache.begin_update(i)
        admit(cache, 1, ids, i)
    assert (cache.hwm, cache.refilled) == (1, 0)
    assert [v for _, v in valid(cache, 5)] == [1, 2, 3, 7]
    other.load_state_dict(cache.state_dict())
    assert valid(other, 5) == valid(cache, 5)
