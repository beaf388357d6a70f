"""A MODEL of features that change places between devices, in several ways.

The demand is that of real minibatches of neighbour sampling: in step i device r has minibatch
number i * devices + r, and needs the rows of its input nodes, of which each device holds a part.
Bandwidth is the bytes of all rows that change places by the seconds of it. The links are those of
`refimpl.loader.simulate`: a tree of two switches under a host, as of PCIe, and a crossbar, as of
NVLink. Its premises:
- a link with k transfers carries bandwidth / (1 + gamma (k - 1)), shared fairly; gamma is fitted
  to nothing, and decides whether rounds pay;
- two-sided: 8 bytes for each row to its owner, all at once; each owner packs its rows, at `memory`
  bytes a second; then the rows, all at once;
- one-sided: the rows alone, all at once, each device from one source after another, each owner to
  one target after another ("shifted"), or in the rounds of `plan_rounds`: those of the paper, and
  with routes of all lengths mixed. A row of s bytes uses s / (s + half_row) of a link;
- a transfer begins after `latency`, and so does each round after the one before.
"""

from typing import Any

from refimpl.loader import Topology, plan_rounds, simulate

ID_BYTES = 8
TWO_SIDED, ONE_SIDED, ROUNDS = "two-sided", "one-sided", "rounds"
ORDERS: dict[str, Any] = {
    ONE_SIDED: "all_at_once",
    "fifo per destination": "fifo_per_destination",
    "shifted": "shifted",
    ROUNDS: "rounds",
    "rounds, mixed": "rounds",
}
WAYS = [TWO_SIDED, *ORDERS]


class Links:
    """A topology, and the seconds that each way of the model takes on it."""

    def __init__(self, sizes, make, bandwidth):
        self.row_bytes = sizes["features"] * 4
        used = self.row_bytes / (self.row_bytes + sizes["half_row"])
        self.memory, self.latency = sizes["memory"], sizes["latency"]
        self.links = make(bandwidth)  # of large messages
        self.of_rows = make(bandwidth * used)

    def plans(self, rows):
        """Return the rounds of the two ways that have rounds."""
        demand = rows * self.row_bytes
        plan = {ROUNDS: False, "rounds, mixed": True}
        return {
            way: plan_rounds(self.links, demand, mix_classes=mixed) for way, mixed in plan.items()
        }

    def seconds(self, way, rows, gamma, plans):
        """Return the seconds that a step takes whose rows go from s to d at ``rows[s, d]``."""
        cost = {"gamma": gamma, "latency": self.latency}
        demand = rows * self.row_bytes
        if way == TWO_SIDED:
            asked = simulate(self.links, rows.T * ID_BYTES, "all_at_once", **cost).seconds
            packed = demand.sum(axis=1).max() / self.memory
            sent = simulate(self.links, demand, "all_at_once", **cost).seconds
            return asked + packed + sent
        if way in plans:
            cost |= {"rounds": plans[way], "barrier": self.latency}
        return simulate(self.of_rows, demand, ORDERS[way], **cost).seconds


def tree(sizes, devices):
    """Return the links of a tree of two switches."""
    return Links(sizes, lambda b: Topology.tree((2, devices // 2), b), sizes["tree"])


def crossbar(sizes, devices):
    """Return the links of a crossbar."""
    return Links(sizes, lambda b: Topology.crossbar(devices, b), sizes["crossbar"])


SHAPES = {"tree": tree, "crossbar": crossbar}


def bandwidths(links, steps, gammas):
    """Return {way: bytes a second for each gamma} over some steps."""
    plans = [links.plans(rows) for rows in steps]
    total = links.row_bytes * steps.sum()
    return {
        way: [
            total
            / sum(
                links.seconds(way, rows, gamma, plan)
                for rows, plan in zip(steps, plans, strict=True)
            )
            for gamma in gammas
        ]
        for way in WAYS
    }
