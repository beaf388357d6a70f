"""Each of some numbers once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from refimpl._support.distinct import distinct


@given(npst.arrays(st.sampled_from([np.int32, np.int64]), st.integers(0, 50)))
def test_each_number_is_there_once_ascending(values):
    found = distinct(values)
    assert found.tolist() == sorted(set(values.tolist())) and found.dtype == values.dtype
