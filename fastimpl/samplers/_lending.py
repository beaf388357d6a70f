"""Relabellings, kept from one minibatch to the next."""

from contextlib import contextmanager
from weakref import WeakKeyDictionary

from fastimpl.samplers._relabelling import Relabelling

_idle: WeakKeyDictionary = WeakKeyDictionary()  # Graph -> relabellings that nobody is using


@contextmanager
def relabellings(graph, count):
    """Lend relabellings that no other Python thread is using; they have to come back empty."""
    idle = _idle.setdefault(graph, [])
    lent: list[Relabelling] = []
    while len(lent) < count:
        try:
            lent.append(idle.pop())
        except IndexError:
            lent.append(Relabelling(graph.n))
    yield lent
    idle.extend(lent)  # not after an error, which may leave nodes in them
