"""Reading the pickles of Planetoid's files without running anything that stands in them.

A pickle is a program that makes objects. Here it makes lists, tuples, dicts, ints and strings;
what it asks of NumPy and SciPy is only written down (`Made`), then looked at, and an array is made
of its bytes alone. Whatever such a file does not need is refused: other names, other opcodes,
other dtypes, sizes that the bytes do not have.
"""

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from refimpl._support.sparse_matrices import checked_csr

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


class Name(NamedTuple):
    """A name in a module, as the pickle has it; never imported."""

    module: str
    name: str


class Made:
    """What a pickle asks for: something of this name, of these arguments, with this state."""

    def __init__(self, of: Name, args: tuple[Any, ...]) -> None:
        self.of, self.args = of, args
        self.state: Any = None


LISTS = {Name("__builtin__", "list"), Name("builtins", "list")}
DICT = Name("collections", "defaultdict")
DTYPE, ARRAY = Name("numpy", "dtype"), Name("numpy", "ndarray")
ARRAYS = {Name(f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")}
MATRICES = {Name(f"scipy.sparse.{csr}", "csr_matrix") for csr in ("csr", "_csr")}
ALLOWED = {*LISTS, DICT, DTYPE, ARRAY, *ARRAYS, *MATRICES}
CODES = {f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)} | {"b1", "f2", "f4", "f8"}
MARK = object()
LONGEST_INT = 8  # bytes


def unpickled(data: bytes) -> Any:
    """Return what the bytes of a pickle of protocol 2, 3 or 4 stand for.

    Raises
    ------
    ValueError
        If they are no whole pickle, or ask for anything else than Planetoid's files do.
    """
    try:
        return _Machine(data).run()
    except (IndexError, KeyError) as error:
        raise ValueError("it is no whole pickle") from error


def array_of(made: Any) -> NDArray[Any]:
    """Return the array that a `Made` stands for, of at most two dimensions.

    Raises
    ------
    ValueError
        If it is none, or one of other than numbers, or its bytes are not as many as its shape says.
    """
    if type(made) is not Made or made.of not in ARRAYS or made.args[:1] != (ARRAY,):
        raise ValueError("it holds no array where one must be")
    _, shape, dtype, fortran, raw = _tuple("the state of an array", made.state, 5)
    dtype, shape = _dtype_of(dtype), _sizes("the shape of an array", shape)
    promised = math.prod(shape) * dtype.itemsize
    if type(raw) is not bytes or len(raw) != promised:
        raise ValueError(f"an array of {shape} {dtype} must have {promised} bytes")
    flat = np.frombuffer(raw, dtype) if raw else np.zeros(0, dtype)
    array = flat.reshape(shape, order="F" if fortran is True else "C")
    return array.astype(dtype.newbyteorder("="))


def matrix_of(made: Any) -> sp.csr_array:
    """Return the SciPy CSR matrix that a `Made` stands for, everything in it checked.

    Raises
    ------
    ValueError
        If it is none.
    """
    if type(made) is not Made or made.of not in MATRICES or type(made.state) is not dict:
        raise ValueError("it holds no sparse matrix")
    data, indices, indptr = (
        array_of(made.state.get(name)) for name in ("data", "indices", "indptr")
    )
    shape = _sizes("the shape of a matrix", made.state.get("_shape"))
    if len(shape) != 2 or indptr.shape != (shape[0] + 1,) or data.shape != indices.shape:
        raise ValueError(f"the parts of its matrix do not fit a shape of {shape}")
    indptr, indices = checked_csr(indptr, indices, shape[1])
    return sp.csr_array((data, indices, indptr), shape=shape)


def _dtype_of(made: Any) -> np.dtype[Any]:
    """Return the dtype, one of numbers, that a `Made` stands for."""
    if type(made) is not Made or made.of != DTYPE:
        raise ValueError("it holds no dtype where one must be")
    code = _text(made.args[0] if made.args else None)
    if code not in CODES:
        raise ValueError(f"an array must hold real numbers, got dtype {code:.20}")
    state = made.state if type(made.state) is tuple else ()
    order = _text(state[1] if len(state) > 1 else None)
    if order not in ("<", ">", "|"):
        raise ValueError(f"a dtype must have byte order <, > or |, got {order:.20}")
    return np.dtype(order + code)


def _tuple(what: str, value: Any, length: int) -> Any:
    if type(value) is not tuple or len(value) != length:
        raise ValueError(f"{what} must be a tuple of {length}")
    return value


def _sizes(what: str, value: Any) -> Any:
    """Return a tuple of one or two sizes, or raise."""
    fits = type(value) is tuple and 1 <= len(value) <= 2
    if not fits or any(type(size) is not int or size < 0 for size in value):
        raise ValueError(f"{what} must be one or two integers from 0")
    return value


def _text(value: object) -> str:
    """Return a string of Python 2 or 3 as str; anything else as its type alone.

    Never by its repr or its hash: those of nested tuples may take for ever.
    """
    if type(value) is str:
        return value
    return value.decode("latin1") if type(value) is bytes else f"({type(value).__name__})"


class _Machine:
    """Runs the opcodes that Planetoid's files need, on values that can do no harm."""

    def __init__(self, data: builtins.bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Return what stands on the stack at the end."""
        while True:
            op = self.bytes(1)
            if op == pickle.STOP:
                return self.stack.pop()
            if op not in STEPS:
                raise ValueError(f"it has the opcode {op!r}, which is refused")
            STEPS[op](self)

    def bytes(self, count: int) -> builtins.bytes:
        """Return the next `count` bytes."""
        begin, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise ValueError("it ends early")
        return self.data[begin : self.at]

    def number(self, size: int, signed: bool = False) -> int:
        """Return the integer in the next `size` bytes."""
        return int.from_bytes(self.bytes(size), "little", signed=signed)

    def line(self) -> str:
        """Return the text up to the next end of a line."""
        end = self.data.find(b"\n", self.at)
        return self.bytes((end if end >= 0 else len(self.data)) + 1 - self.at)[:-1].decode()

    def marked(self) -> list[Any]:
        """Take all values above the last mark, and the mark, off the stack."""
        at = len(self.stack) - 1
        while self.stack[at] is not MARK:
            at -= 1
            if at < 0:
                raise ValueError("it has no mark where one must be")
        values = self.stack[at + 1 :]
        del self.stack[at:]
        return values

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def long(self) -> None:
        """Push an integer with its length before it."""
        size = self.number(1)
        if size > LONGEST_INT:
            raise ValueError(f"it has an integer of {size} bytes, at most {LONGEST_INT}")
        self.push(self.number(size, signed=True))

    def top(self, kind: type) -> Any:
        """Return the value on top of the stack, which must be of this type."""
        if type(self.stack[-1]) is not kind:
            raise ValueError(f"it has no {kind.__name__} where one must be")
        return self.stack[-1]

    def extend(self, values: Iterable[Any]) -> None:
        """Append values to the list on top."""
        self.top(list).extend(values)

    def fill(self, items: Iterable[Any]) -> None:
        """Put keys and values, one after the other, into the dict on top."""
        items = [*items]
        keys, values = items[::2], items[1::2]
        if any(type(key) not in (int, str, bytes) for key in keys) or len(keys) != len(values):
            raise ValueError("keys must be integers or strings, and have values")
        keys = [key if type(key) is int else _text(key) for key in keys]
        self.top(dict).update(zip(keys, values, strict=True))

    def pops(self, count: int) -> tuple[Any, ...]:
        """Take so many values off the stack; return them as a tuple."""
        if len(self.stack) < count or any(v is MARK for v in self.stack[-count:]):
            raise ValueError("it has too few values")
        values = tuple(self.stack[-count:])
        del self.stack[-count:]
        return values

    def name(self, module: object, name: object) -> None:
        """Push a name if it is one of those allowed."""
        module, name = _text(module), _text(name)
        if (module, name) not in ALLOWED:
            raise ValueError(f"it asks for {module:.40}.{name:.40}, which is refused")
        self.push(Name(module, name))

    def call(self) -> None:
        """Write down a call; of a defaultdict there is none: it is a dict."""
        of, args = self.pops(2)
        if type(of) is not Name or type(args) is not tuple:
            raise ValueError("it calls what is no name")
        plain = len(args) <= 1 and all(type(a) is Name and a in LISTS for a in args)
        if of in LISTS or (of == DICT and not plain):
            raise ValueError(f"it calls {of.module}.{of.name} as no Planetoid file does")
        self.push({} if of == DICT else Made(of, args))

    def build(self) -> None:
        """Write down a state."""
        (state,) = self.pops(1)
        made = self.top(Made)
        if made.state is not None:
            raise ValueError("it gives a state twice")
        made.state = state

    def remember(self, number: int) -> None:
        """Put the value on top into the memo."""
        self.memo[number] = self.stack[-1]


STEPS: dict[bytes, Callable[[_Machine], object]] = {
    pickle.PROTO: lambda m: m.bytes(1),
    pickle.FRAME: lambda m: m.bytes(8),
    pickle.MARK: lambda m: m.push(MARK),
    pickle.NONE: lambda m: m.push(None),
    pickle.NEWTRUE: lambda m: m.push(True),
    pickle.NEWFALSE: lambda m: m.push(False),
    pickle.BININT: lambda m: m.push(m.number(4, signed=True)),
    pickle.BININT1: lambda m: m.push(m.number(1)),
    pickle.BININT2: lambda m: m.push(m.number(2)),
    pickle.LONG1: _Machine.long,
    pickle.SHORT_BINSTRING: lambda m: m.push(m.bytes(m.number(1))),
    pickle.SHORT_BINBYTES: lambda m: m.push(m.bytes(m.number(1))),
    pickle.SHORT_BINUNICODE: lambda m: m.push(m.bytes(m.number(1)).decode()),
    pickle.BINSTRING: lambda m: m.push(m.bytes(m.number(4))),
    pickle.BINBYTES: lambda m: m.push(m.bytes(m.number(4))),
    pickle.BINBYTES8: lambda m: m.push(m.bytes(m.number(8))),
    pickle.BINUNICODE: lambda m: m.push(m.bytes(m.number(4)).decode()),
    pickle.EMPTY_TUPLE: lambda m: m.push(()),
    pickle.TUPLE1: lambda m: m.push(m.pops(1)),
    pickle.TUPLE2: lambda m: m.push(m.pops(2)),
    pickle.TUPLE3: lambda m: m.push(m.pops(3)),
    pickle.TUPLE: lambda m: m.push(tuple(m.marked())),
    pickle.EMPTY_LIST: lambda m: m.push([]),
    pickle.APPEND: lambda m: m.extend(m.pops(1)),
    pickle.APPENDS: lambda m: m.extend(m.marked()),
    pickle.EMPTY_DICT: lambda m: m.push({}),
    pickle.SETITEM: lambda m: m.fill(m.pops(2)),
    pickle.SETITEMS: lambda m: m.fill(m.marked()),
    pickle.BINPUT: lambda m: m.remember(m.number(1)),
    pickle.LONG_BINPUT: lambda m: m.remember(m.number(4)),
    pickle.MEMOIZE: lambda m: m.remember(len(m.memo)),
    pickle.BINGET: lambda m: m.push(m.memo[m.number(1)]),
    pickle.LONG_BINGET: lambda m: m.push(m.memo[m.number(4)]),
    pickle.GLOBAL: lambda m: m.name(m.line(), m.line()),
    pickle.STACK_GLOBAL: lambda m: m.name(*m.pops(2)),
    pickle.REDUCE: _Machine.call,
    pickle.NEWOBJ: _Machine.call,
    pickle.BUILD: _Machine.build,
}
