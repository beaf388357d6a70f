"""Comparing what the two packages return or raise."""

import functools
import inspect
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import ThreadpoolController

import fastimpl
import refimpl
from refimpl.lab.backend import find

# Dense products and exponentials may differ by rounding only.
RTOL = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}


@functools.cache
def controller():
    """Return the controller of the thread pools, made when both packages have been loaded."""
    return ThreadpoolController()


def threads(count):
    """Limit OpenMP and BLAS to `count` threads while the context lasts."""
    return controller().limit(limits=count)


def parts(value, name="result"):
    """Yield (name, array or plain value) for everything inside `value`."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        for field in value._fields:
            yield from parts(getattr(value, field), f"{name}.{field}")
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, list | tuple):
        yield f"len({name})", len(value)
        for i, item in enumerate(value):
            yield from parts(item, f"{name}[{i}]")
    else:
        yield name, value


def assert_bits(got, want):
    """Check that two results are the same to the last bit: types, dtypes, shapes, signs of 0."""
    assert type(got) is type(want)
    for (name, a), (_, b) in zip(parts(got), parts(want), strict=True):
        assert type(a) is type(b), name
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            assert a.flags.c_contiguous, name
            assert a.tobytes() == b.tobytes(), f"{name}: {a} is not {b}"
        else:
            assert a == b, name


def assert_near(got, want, bound):
    """Check that `got` is `want` but for rounding.

    `bound` is the same result for the absolute values of the input: the sum of the sizes of the
    terms. Where terms cancel, the error is a fraction of that, not of the small sum, so the
    absolute tolerance is scaled to it.
    """
    assert type(got) is type(want)
    for (name, a), (_, b), (_, size) in zip(parts(got), parts(want), parts(bound), strict=True):
        assert type(a) is type(b), name
        if b is None:
            continue
        if not isinstance(b, np.ndarray | float | np.floating):
            assert a == b, name
            continue
        rtol = RTOL[np.asarray(b).dtype]
        if isinstance(b, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            assert a.flags.c_contiguous, name
        largest = float(np.max(np.abs(size), initial=0))
        assert_allclose(a, b, rtol=rtol, atol=rtol * largest, err_msg=name)


def assert_twins(name, *args, count=2, near=None, **kwargs):
    """Check that the function `name` of both packages returns the same; return that.

    Bits must agree, or numbers up to rounding where `near` is the bound of `assert_near`. Neither
    may raise: for errors there is `assert_same_error`.
    """
    want = find(refimpl, name)(*args, **kwargs)
    with threads(count):
        got = find(fastimpl, name)(*args, **kwargs)
    if near is None:
        assert_bits(got, want)
    else:
        assert_near(got, want, near)
    return want


def assert_same_error(name, *args, error=(TypeError, ValueError), **kwargs):
    """Check that both packages refuse these arguments in the same words, and name one of them.

    The exception is an `error`; any other fails, in one package or in both. Returns the message.
    """
    with pytest.raises(error) as want:
        find(refimpl, name)(*args, **kwargs)
    with pytest.raises(error) as got:
        find(fastimpl, name)(*args, **kwargs)
    message = str(want.value)
    assert (got.type, str(got.value)) == (want.type, message)
    known = argument_names(name, (*args, *kwargs.values()))
    assert known & set(re.findall(r"\w+", message)), f"{message!r} names no argument"
    return message


def argument_names(name, arguments):
    """Return the names of a function's parameters and of the parts that its arguments have."""
    names = set(inspect.signature(find(refimpl, name)).parameters)
    if name == "sample_mfg_many":  # each of its batches is checked as the other's is
        names |= set(inspect.signature(refimpl.sample_mfg).parameters)
    for argument in arguments:
        names |= set(getattr(argument, "_fields", ())) | set(getattr(argument, "options", ()))
    return names


def read_only(array):
    """Return `array`, which no kernel may write to from now on."""
    array.flags.writeable = False
    return array
