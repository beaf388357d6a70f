"""Which slots the header takes: against all slots at once, and how few it looks at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refimpl.history import ring
from refimpl.history.ring import Ring


def all_at_once(head, slots, free, count):
    """Return the next slots, and how many are left without a loss, from all of them."""
    used = len(free)
    order = np.roll(np.arange(used), -head)
    new = np.arange(used, slots)
    others = order[~free[order]]
    taken = np.concatenate([order[free[order]], new, others])[:count]
    return taken, int(free.sum()) + len(new)


@given(st.data(), st.integers(1, 4))
def test_the_header_takes_the_same_slots_in_chunks(data, chunk):
    free = np.array(data.draw(st.lists(st.booleans(), max_size=12)), np.bool_)
    slots = len(free) + data.draw(st.integers(0, 3))
    count = data.draw(st.integers(0, slots))
    one = Ring(slots, "continue", "wrap", None, 0)
    one.head, one.used = data.draw(st.integers(0, len(free))), len(free)
    want, room = all_at_once(one.head, slots, free, count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring, "CHUNK", chunk)
        assert one.room(count, free.__getitem__) == min(room, count)
        assert one.advance(count, free.__getitem__).tolist() == want.tolist()
    assert not count or one.head == want[-1] + 1


def test_the_header_looks_at_few_slots():
    """A million in use, all free: one chunk in "continue", none in "cycle"."""
    seen = []

    def is_free(slots):
        seen.append(slots)
        return np.ones(slots.stop - slots.start, np.bool_)

    for header, chunks in (("continue", [slice(70, 70 + ring.CHUNK)]), ("cycle", [])):
        one = Ring(10**6, header, "wrap", None, 0)
        one.head, one.used = 70, 10**6
        assert one.advance(300, is_free).tolist() == list(range(70, 370))
        assert seen == chunks
        seen.clear()
        assert one.room(300, is_free) == 300
        assert len(seen) == len(chunks)
        seen.clear()
