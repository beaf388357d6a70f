"""Python's values between ranks that are threads: any, of any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.lab.distributed import collectives
from refimpl.lab.distributed.collectives import everyones, swapped, to_first
from refimpl.loader import SimComm

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.data(), st.integers(1, 4), st.sampled_from([4, 11, 64, collectives.MOST]))
def test_any_values_reach_their_ranks(draw, size, most):
    """Also those that take many messages, and of another size from each rank."""
    table = [[draw.draw(VALUES) for _ in range(size)] for _ in range(size)]

    def work(comm):
        mine = table[comm.rank]
        return (
            swapped(comm, mine),
            everyones(comm, mine[0]),
            to_first(comm, mine[-1]),
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collectives, "MOST", most)
        found = SimComm.run(size, work)
    for rank, (each, all_of, at_first) in enumerate(found):
        assert list(each) == [table[k][rank] for k in range(size)]
        assert list(all_of) == [table[k][0] for k in range(size)]
        if rank:
            assert at_first is None
        else:
            assert list(at_first) == [table[k][-1] for k in range(size)]


@pytest.mark.parametrize("most", [7, 1000, collectives.MOST])
def test_arrays_errors_and_nothing(most, monkeypatch):
    monkeypatch.setattr(collectives, "MOST", most)

    def work(comm):
        X = np.arange(500.0 * comm.rank).reshape(-1, 5)
        return everyones(comm, (X, ValueError(f"of {comm.rank}"), None))

    for found in SimComm.run(3, work):
        for rank, (X, error, nothing) in enumerate(found):
            assert np.array_equal(X, np.arange(500.0 * rank).reshape(-1, 5)) and X.dtype == float
            assert str(error) == f"of {rank}" and type(error) is ValueError
            assert nothing is None


def test_what_arrives_is_a_copy():
    def work(comm):
        mine = [comm.rank]
        found = everyones(comm, mine)
        found[0].append("changed")
        comm.barrier()
        return mine

    assert SimComm.run(2, work) == [[0], [1]]
