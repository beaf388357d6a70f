"""Every allocation of every kernel made to fail in turn: MemoryError, no leak, no harm."""

import ctypes
import gc
import tracemalloc
from functools import partial

import numpy as np
import pytest
import test_dense_twins
import test_layer_twins
from comparison import assert_bits, threads
from test_every_twin import HUBS, LARGE, sage
from test_layer_twins import DEPTHS, GAT_WAYS, gat, gcn, mixhop
from test_neighbor_twins import EPOCH, NAME
from test_pruning_twins import EVEN, LAYOUTS, some_hits
from test_rgcn_twins import RGCN_WAYS, rgcn

import fastimpl
from fastimpl import Sampler, _buffers, _lending, _memory

# called by NumPy, and calling it, with Python's lock
ALLOCATE = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
ZEROS = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
RESIZE = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
SET_HANDLER, GET_HANDLER = 304, 305  # places in the table of NumPy's C functions
SMALL = 4096  # bytes that stay in caches of their own; the arrays of these calls are larger
DATA_DOMAIN = 389047  # NumPy's number for its arrays' data in tracemalloc


class Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("allocate", ALLOCATE),
        ("zeros", ZEROS),
        ("resize", RESIZE),
        ("free", ctypes.c_void_p),
    ]


class NumpyMemory:
    """NumPy's allocation of data, of which one can be made to fail."""

    def __init__(self):
        api = ctypes.pythonapi
        pointer = api.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = ctypes.cast(
            pointer(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p)
        )
        handler = ctypes.PYFUNCTYPE(ctypes.py_object)(table[GET_HANDLER])()
        self._real = ctypes.cast(pointer(handler, b"mem_handler"), ctypes.POINTER(Handler)).contents
        # arrays may outlive the test, and keep the handler: they are freed by NumPy's function
        self._ours = Handler(
            b"failing", 1, self._real.context, ALLOCATE(self._allocate), ZEROS(self._zeros),
            RESIZE(self._resize), self._real.free,
        )  # fmt: skip
        make = api.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._capsule = make(ctypes.addressof(self._ours), b"mem_handler", None)
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER])
        self._before = handler
        self._left = 0

    def fail_at(self, number):
        """Let the allocation with this number fail; return whether one of those before has."""
        reached = self._left <= 0
        self._left = number
        self._set(self._capsule if number else self._before)
        return reached

    def _fails(self):
        self._left -= 1
        return self._left == 0

    def _allocate(self, context, size):
        return None if self._fails() else self._real.allocate(context, size)

    def _zeros(self, context, many, size):
        return None if self._fails() else self._real.zeros(context, many, size)

    def _resize(self, context, memory, size):
        return None if self._fails() else self._real.resize(context, memory, size)


NUMPY = NumpyMemory()
PIN_TILE = Sampler("pin_tile", m=50, n=400, eta=1.2)
ROOTS = np.arange(0, 3000, 9)
MODES = "layered", "shared", "labor", "labor_exact", "labor_2"
SMALLER = {  # with fewer allocations: the call is made once for each
    "prune_mfg": lambda: [
        fastimpl.prune_mfg(EVEN, some_hits(EVEN, 0.3), layout=layout) for layout in LAYOUTS
    ],
    "sample_many": lambda: fastimpl.sample_many(HUBS, PIN_TILE, 4, 0, 6),
    "sample_mfg": lambda: [
        fastimpl.sample_mfg(HUBS, ROOTS, (25, 10), **NAME, mode=mode) for mode in MODES
    ],
    "sample_mfg_many": lambda: [
        fastimpl.samplers.sample_mfg_many(HUBS, [ROOTS, ROOTS + 1], (70, 3), **EPOCH, mode=mode)
        for mode in MODES
    ],
}
PASSES = {  # both passes of a layer, in one way at a time
    "gat": (gat, GAT_WAYS),
    "gcn": (gcn, test_layer_twins.ORDERS),
    "mixhop": (mixhop, DEPTHS),
    "rgcn": (rgcn, RGCN_WAYS),
    "sage": (lambda orders: sage(*orders), test_dense_twins.ORDERS),
}
CALLS = {
    **{name: call for name, call in LARGE.items() if name.partition("_")[0] not in PASSES},
    **SMALLER,
    **{
        f"{name} {number}": partial(call, [way])
        for name, (call, ways) in PASSES.items()
        for number, way in enumerate(ways)
    },
}


def forget():
    """Give back all memory that waits to be used again: the next call asks for its own."""
    _lending._held.clear()
    _buffers.release_waiting()


def fail_each(call, fail_at):
    """Call once for each allocation, which fails; return how many there are."""
    number, failed = 0, True
    while failed:
        number, failed = number + 1, False
        forget()
        fail_at(number)
        try:
            call()
        except MemoryError:
            failed = True
        finally:
            reached = fail_at(0)
        assert reached == failed, f"allocation {number} failed without an error"
    return number - 1


def held():
    """Return the kernels' pieces of memory, and the bytes of NumPy's arrays."""
    forget()
    gc.collect()
    ctypes.pythonapi.PyTraceMalloc_Untrack(DATA_DOMAIN, ctypes.c_size_t(0))  # what failed: NULL
    traces = tracemalloc.take_snapshot().filter_traces(
        [tracemalloc.DomainFilter(inclusive=True, domain=DATA_DOMAIN)]
    )
    return _memory.living(), sum(trace.size for trace in traces.traces)


@pytest.fixture
def traced():
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.runs
@pytest.mark.parametrize("name", CALLS)
def test_every_failing_allocation_is_a_memory_error_and_no_leak(name, traced):
    call = CALLS[name]
    with threads(1):
        want = call()
        pieces, size = held()
        numbers = [fail_each(call, hook) for hook in (_memory.fail_at, NUMPY.fail_at)]
        pieces_now, size_now = held()
        assert pieces_now <= pieces and size_now <= size + SMALL
        assert_bits(call(), want)
    assert any(numbers) or name == "key"  # of numbers alone


@pytest.mark.runs
@pytest.mark.parametrize("name", ["sample_many", "sample_mfg_many", "layer_sample"])
def test_threads_survive_a_failing_allocation(name):
    call = CALLS[name]
    with threads(3):
        want = call()
        assert fail_each(call, _memory.fail_at) > 3
        assert_bits(call(), want)
