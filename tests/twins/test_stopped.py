"""A kernel whose result nobody wants any more ends before its time; the next call is whole."""

from concurrent.futures import CancelledError

import pytest
from comparison import assert_bits, threads
from test_every_twin import LARGE

from refimpl._threads import in_background

# Those that write where their caller will look are never left half done; streams take no time.
WHOLE = {
    "adam_step",
    "below",
    "cache_admit",
    "cache_fetch",
    "cache_lookup",
    "cache_read",
    "cache_update",
    "key",
    "mix",
    "select_stable",
    "uniform",
}


@pytest.mark.parametrize("name", sorted(set(LARGE) - WHOLE))
def test_a_kernel_ends_when_nobody_waits_for_it(name):
    with threads(3):
        want = LARGE[name]()
        with pytest.raises(CancelledError, match="nobody waits for the result"):
            in_background(bytearray([1]), LARGE[name])
        assert_bits(LARGE[name](), want)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_kernel_that_writes_in_place_goes_on_to_its_end(name):
    assert_bits(in_background(bytearray([1]), LARGE[name]), LARGE[name]())


@pytest.mark.parametrize("name", ["sample_many", "spmm", "dense_forward"])
def test_a_kernel_goes_on_while_somebody_waits_for_it(name):
    assert_bits(in_background(bytearray([0]), LARGE[name]), LARGE[name]())
