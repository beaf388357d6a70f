"""How long transfers take on links that they share: a model of contention, this project's own."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal, NamedTuple

from refimpl._support import require
from refimpl._support.argument_checks import checked_by
from refimpl.hints import Float, Table
from refimpl.loader.rounds import Topology, Transfer, demand_arguments, demands, loads, plan_rounds

POLICIES = ("all_at_once", "fifo_per_destination", "shifted", "rounds")


class Simulation(NamedTuple):
    """What a simulation gives: `simulate` returns it.

    Attributes
    ----------
    seconds : float
        When the last byte arrives.
    throughput : float
        All bytes by all seconds; 0 without any.
    finish : dict
        (source, target) -> when its last byte arrives.
    """

    seconds: float
    throughput: float
    finish: dict[tuple[int, int], float]


def simulation_arguments(topology, demand, policy, rounds, gamma, latency, barrier):
    """Check the arguments of `simulate`; return them."""
    topology, demand = demand_arguments(topology, demand)
    require.choice("policy", policy, POLICIES)
    gamma, latency = require.real("gamma", gamma, 0), require.real("latency", latency, 0)
    barrier = require.real("barrier", barrier, 0)
    if rounds is not None:
        if policy != "rounds":
            raise ValueError(f"rounds must be None for policy {policy!r}")
        rounds = tuple(tuple(step) for step in rounds)
        if _carried(rounds) != demands(demand):
            raise ValueError("rounds must carry just the bytes of demand")
    return topology, demand, policy, rounds, gamma, latency, barrier


@checked_by(simulation_arguments)
def simulate(
    topology: Topology,
    demand: Table,
    policy: Literal["all_at_once", "fifo_per_destination", "shifted", "rounds"] = "rounds",
    *,
    rounds: Sequence[Sequence[Transfer]] | None = None,
    gamma: Float = 0.0,
    latency: Float = 0.0,
    barrier: Float = 0.0,
) -> Simulation:
    """Time the transfers on links that they share fairly (max-min), as fluids.

    A model, not a measurement. With gamma = 0 links are shared without loss, and no order is
    faster than all at once; rounds pay only where sharing costs something.
    Not in the papers. O(events x transfers x links) time.

    Parameters
    ----------
    topology : Topology
    demand : (devices, devices) integer array
        As for `plan_rounds`.
    policy : {"all_at_once", "fifo_per_destination", "shifted", "rounds"}
        "fifo_per_destination": each device takes from one source after another, in order.
        "shifted": each device sends to one target after another, beginning with the next device.
        "rounds": a round begins when the one before has ended.
    rounds : tuple of tuples of Transfers, optional
        For "rounds": default `plan_rounds(topology, demand)`. They have to carry just `demand`.
    gamma : float
        A link with k transfers carries bandwidth / (1 + gamma (k - 1)).
    latency, barrier : float
        Seconds before each transfer begins to move, and after each round.

    Returns
    -------
    Simulation

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above, or a transfer has no way.
    """
    left = demands(demand)
    if policy == "rounds":
        rounds = plan_rounds(topology, demand) if rounds is None else rounds
        steps = [[[transfer] for transfer in step] for step in rounds]
    else:
        steps = [_queues(left, policy, topology.devices)]
    now, finish = 0.0, {}
    for queues in steps:
        ends = _run(topology, queues, gamma, latency)
        finish.update({pair: now + end for pair, end in ends.items()})
        now += max(ends.values(), default=0.0) + (barrier if policy == "rounds" else 0.0)
    total = sum(left.values())
    return Simulation(float(now), float(total / now) if now else 0.0, finish)


def _queues(left, policy, devices):
    """Return lists of transfers, of which each begins when the one before has ended."""
    if policy == "all_at_once":
        return [[Transfer(s, d, m)] for (s, d), m in sorted(left.items())]
    shift = policy == "shifted"

    def rank(pair):
        return (pair[1] - pair[0]) % devices if shift else pair[0]

    queues: dict[int, list] = {}
    for pair in sorted(left, key=rank):
        queues.setdefault(pair[0] if shift else pair[1], []).append(
            Transfer(pair[0], pair[1], left[pair])
        )
    return list(queues.values())


def _run(topology, queues, gamma, latency):
    """Return when each transfer of these queues ends, counted from now."""
    queues = [deque(queue) for queue in queues if queue]
    now, ends = 0.0, {}
    waiting = [(latency, k) for k in range(len(queues))]  # when, and the head of which queue
    moving: dict[int, float] = {}  # queue -> bytes left
    while waiting or moving:
        rates = _fair_rates(topology, {k: queues[k][0][:2] for k in moving}, gamma)
        times = {k: left / rates[k] for k, left in moving.items()}
        step = min([*times.values(), *(when - now for when, _ in waiting)])
        now += step
        done = [k for k, time in times.items() if time <= step * (1 + 1e-12)]
        moving = {k: left - rates[k] * step for k, left in moving.items() if k not in done}
        for k in done:
            ends[queues[k].popleft()[:2]] = now
            if queues[k]:
                waiting.append((now + latency, k))
        moving.update({k: float(queues[k][0].bytes) for when, k in waiting if when <= now})
        waiting = [(when, k) for when, k in waiting if when > now]
    return ends


def _fair_rates(topology, pairs, gamma):
    """Return the max-min fair rate of each transfer: progressive filling."""
    load = loads(topology, pairs.values())
    room = {k: topology.links[k][2] / (1 + gamma * (count - 1)) for k, count in load.items()}
    rates: dict[int, float] = {}
    while len(rates) < len(pairs):
        open_load = loads(topology, [pair for k, pair in pairs.items() if k not in rates])
        tight = min(open_load, key=lambda k: (room[k] / open_load[k], k))
        rate = room[tight] / open_load[tight]
        for k, pair in pairs.items():
            if k not in rates and tight in topology.routes[pair]:
                rates[k] = rate
                for link in topology.routes[pair]:
                    room[link] = max(room[link] - rate, 0.0)
    return rates


def _carried(rounds):
    carried: dict[tuple, int] = {}
    for transfer in (t for step in rounds for t in step):
        carried[transfer[:2]] = carried.get(transfer[:2], 0) + transfer.bytes
    return carried
