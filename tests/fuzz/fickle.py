"""Values that answer honestly when they are read for the first time, and otherwise from then on."""

import numpy as np

from refimpl import Graph

MANY = 10**6  # what a later answer says: out of range for all that is drawn


class Fickle:
    """What changes when it is read: to compare it before and after a call says nothing."""


class FickleList(Fickle, list):
    """A list that is longer, and has other parts, once it was iterated over."""

    def __iter__(self):
        yield from list.__iter__(self)
        parts = [changed(part) for part in list.__iter__(self)]
        list.__setitem__(self, slice(None), parts * 2)


class ShrinkingList(Fickle, list):
    """A list with shorter arrays, and all integers 0, once it was read `honest` times."""

    def __init__(self, parts, honest=1):
        super().__init__(parts)
        self.honest = honest

    def __iter__(self):
        yield from list.__iter__(self)
        self._was_read()

    def __getitem__(self, key):
        found = list.__getitem__(self, key)
        self._was_read()
        return found

    def _was_read(self):
        self.honest -= 1
        if self.honest == 0:
            list.__setitem__(self, slice(None), [shrunk(part) for part in list.__iter__(self)])


class FickleArray(Fickle):
    """An object that gives a longer array, of other numbers, once it was asked for one."""

    def __init__(self, array):
        self._array, self._asked = array, False

    def __array__(self, dtype=None, copy=None):
        return np.array(self._next(), dtype)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(changed(self._array) if self._asked else self._array, name)

    def __len__(self):
        return len(changed(self._array) if self._asked else self._array)

    def __iter__(self):
        return iter(self._next())

    def __getitem__(self, key):
        return (changed(self._array) if self._asked else self._array)[key]

    def _next(self):
        array = changed(self._array) if self._asked else self._array
        self._asked = True
        return array


class LyingArray(np.ndarray):
    """An array that says that it is larger than it is."""

    shape = property(lambda self: tuple(2 * size for size in np.asarray(self).shape))
    size = property(lambda self: 4 * np.asarray(self).size)

    def __len__(self):
        return 2 * len(np.asarray(self))


class FickleInt(Fickle, int):
    """An integer that is large once it was asked for its value; its own digits are large, too."""

    def __new__(cls, value):
        made = int.__new__(cls, MANY)
        made.value = int(value)
        return made

    def __int__(self):
        value, self.value = self.value, MANY
        return value

    __index__ = __int__

    def __float__(self):
        return float(int(self))

    def __eq__(self, other):
        return self.value == other

    def __lt__(self, other):
        return self.value < other

    def __le__(self, other):
        return self.value <= other

    def __gt__(self, other):
        return self.value > other

    def __ge__(self, other):
        return self.value >= other

    __hash__ = int.__hash__


def changed(part):
    """Return what a part of a fickle value is from the second reading on."""
    if isinstance(part, np.ndarray):
        array = np.concatenate([part, part, part]) if part.ndim else part
        whole = array.dtype.kind in "iu" and array.dtype.itemsize > 2
        return np.full_like(array, MANY) if whole else array
    return MANY if type(part) is int else part


def shrunk(part):
    """Return what a part of a shrinking list is from the second reading on."""
    if isinstance(part, np.ndarray) and part.ndim:
        return part[:1]
    return 0 if type(part) is int else part


class AllAlike(Graph):
    """Graphs that all say that they are equal."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class NoHash(Graph):
    """Graphs that have no hash."""

    def __eq__(self, other):
        return isinstance(other, NoHash)

    __hash__ = None  # type: ignore[assignment]


LIES = {
    "n": property(lambda self: MANY),
    "e": property(lambda self: MANY),
    "n_dst": MANY,
    "n_src": property(lambda self: MANY),
    "start": property(lambda self: np.full(9, MANY)),
    "end": property(lambda self: np.full(9, MANY)),
    "symmetric": True,
    "self_loops": False,
    "max_degree": MANY,
    "weight_sum": lambda self, deg_cap=None: 1,
    "degrees": lambda self, nodes=None: np.full(2, MANY),
    "__getattribute__": lambda self, name: object.__getattribute__(self, name),
    "__post_init__": lambda self: None,
    "__dict__": {},
    "__class__": property(lambda self: Graph),
}


def lying_graph(graph, member):
    """Return the same graph as an object whose class defines a member anew, as `LIES` says."""
    return type("LyingGraph", (Graph,), {member: LIES[member]})(graph.indptr, graph.indices)
