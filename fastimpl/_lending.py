"""What kernels have for a graph, kept from one call to the next.

A graph is found by identity: a subclass may say that two graphs are equal, or have no hash.
"""

from contextlib import contextmanager
from functools import partial
from weakref import ref

_held: dict[int, tuple[ref, dict]] = {}  # id of a graph -> (graph, what is kept for it)


def kept_for(graph):
    """Return the dictionary of what is kept for this graph, as long as the graph lives."""
    key = id(graph)
    found = _held.get(key)
    if found is None:  # the callback runs before another object can have this id
        found = _held.setdefault(key, (ref(graph, partial(_forget, key)), {}))
    return found[1]


def _forget(key, _):
    _held.pop(key, None)


def once(function, graph):
    """Return ``function(graph)``, which nobody changes, computed once for a graph."""
    found = kept_for(graph)
    if function not in found:
        found[function] = function(graph)
    return found[function]


@contextmanager
def lent(kind, graph, count):
    """Lend `count` objects ``kind(graph.n)`` that no other Python thread is using.

    They have to come back as they were made, except for the memory that they have got since.
    """
    idle = kept_for(graph).setdefault(kind, [])
    lent_now: list = []
    while len(lent_now) < count:
        try:
            lent_now.append(idle.pop())
        except IndexError:
            lent_now.append(kind(graph.n))
    yield lent_now
    idle.extend(lent_now)  # not after an error, which may leave something in them
