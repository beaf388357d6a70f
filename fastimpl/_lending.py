"""What kernels have for a graph, kept from one call to the next."""

from contextlib import contextmanager
from weakref import WeakKeyDictionary

_idle: WeakKeyDictionary = WeakKeyDictionary()  # Graph -> {kind: those that nobody is using}
_once: WeakKeyDictionary = WeakKeyDictionary()  # Graph -> {function: what it returned}


def once(function, graph):
    """Return ``function(graph)``, an array that nobody changes, worked out once for a graph."""
    found = _once.setdefault(graph, {})
    if function not in found:
        found[function] = function(graph)
    return found[function]


@contextmanager
def lent(kind, graph, count):
    """Lend `count` objects `kind(graph.n)` that no other Python thread is using.

    They have to come back as they were made, but for the memory that they have got since.
    """
    idle = _idle.setdefault(graph, {}).setdefault(kind, [])
    lent_now: list = []
    while len(lent_now) < count:
        try:
            lent_now.append(idle.pop())
        except IndexError:
            lent_now.append(kind(graph.n))
    yield lent_now
    idle.extend(lent_now)  # not after an error, which may leave something in them
