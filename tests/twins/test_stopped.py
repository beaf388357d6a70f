"""A kernel whose result nobody wants any more ends before its time; the next call is whole."""

from concurrent.futures import CancelledError

import numpy as np
import pytest
from comparison import assert_bits, threads
from test_every_twin import HUBS, LARGE

import fastimpl
from refimpl._support.thread_limits import in_background
from refimpl.samplers.neighbor import MODES

# Every other kernel looks at the watch. These write where their caller will look: half of what they
# write would be neither the old state nor the new, so they go on to their end.
WHOLE = {
    "adam_step": "short, because it passes once over the weights of a model",
    "cache_admit": "short, because it copies the embeddings of one batch",
    "read_rows": "waits for storage, in threads of its own",
}


def test_every_kernel_stops_or_is_known_to_be_short():
    assert LARGE.keys() == set(fastimpl.compiled)
    assert LARGE.keys() > WHOLE.keys()


@pytest.mark.parametrize("name", sorted(LARGE.keys() - WHOLE.keys()))
def test_a_kernel_ends_when_nobody_waits_for_it(name):
    with threads(3):
        want = LARGE[name]()
        with pytest.raises(CancelledError, match="nobody waits for the result"):
            in_background(bytearray([1]), LARGE[name])
        assert_bits(LARGE[name](), want)


@pytest.mark.parametrize("mode", MODES)
def test_sampling_ends_in_every_mode(mode):
    def call():
        name = {"seed": 1, "epoch": 0, "batch": 0, "mode": mode}
        return fastimpl.sample_mfg(HUBS, np.arange(3000), (5, 20), **name)

    with threads(3):
        want = call()
        with pytest.raises(CancelledError, match="nobody waits for the result"):
            in_background(bytearray([1]), call)
        assert_bits(call(), want)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_kernel_that_writes_in_place_goes_on_to_its_end(name):
    assert_bits(in_background(bytearray([1]), LARGE[name]), LARGE[name]())


@pytest.mark.parametrize("name", ["sample_many", "spmm", "dense_forward"])
def test_a_kernel_goes_on_while_somebody_waits_for_it(name):
    assert_bits(in_background(bytearray([0]), LARGE[name]), LARGE[name]())
