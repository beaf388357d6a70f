"""What samplers count."""

from __future__ import annotations

from typing import NamedTuple


class Counters(NamedTuple):
    """What a sampler did, in operations, for comparison with the papers' cost models.

    Those of IPDPS'19 Equation 2 and JPDC'21 Equation 9: `sample_cost`, `cleanups_from_graph`.

    Attributes
    ----------
    pops : int
        Frontier nodes replaced; steps, for samplers without a frontier.
    probes : int
        Random entries looked at.
    rounds : int
        Groups of `lanes` probes.
    cleanups : int
        Clean-ups of the Dashboard.
    moved : int
        Entries rewritten by clean-ups.
    truncated : int
        Nodes that got fewer entries than their weight.
    popped_degree_sum, added_degree_sum : int
        Degrees of the nodes popped, and of those added.
    capacity : int
        Entries of the Dashboard.
    draws : int
        Of the stream `main`; clipping takes the next ones.
    """

    pops: int = 0  # frontier nodes replaced
    probes: int = 0  # random entries looked at
    rounds: int = 0  # groups of `lanes` probes
    cleanups: int = 0
    moved: int = 0  # entries rewritten by clean-ups
    truncated: int = 0  # nodes that got fewer entries than their weight
    popped_degree_sum: int = 0
    added_degree_sum: int = 0
    capacity: int = 0  # entries of the dashboard
    draws: int = 0  # of the stream `main`; clipping takes the next ones
