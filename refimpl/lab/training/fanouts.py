"""How many neighbours a node draws on each hop, where nobody says otherwise and as asked for."""

from functools import partial

from refimpl import _check

FANOUTS = {  # of the roots' hop, the next, .. and, the last, of all others
    "layer": (25, 10),  # JPDC'21 section 7.7
    "fresh": (20, 15, 10),  # FreshGNN section 7.1
    "neighbor": (20, 15, 10),
    "vrgcn": (2,),  # "only two neighbors per node", Chen, Zhu and Song
}
BY_RELATION = ("fresh", "neighbor")  # methods


def default_fanouts(reach, method="layer"):
    """Return the fan-outs of `reach` hops, the roots' first, where nobody says otherwise."""
    first = FANOUTS[method]
    return (first + reach * first[-1:])[:reach]


def checked_fanouts(config):
    """Return the fan-outs of a TrainConfig as ints and tuples of ints, or raise."""
    if config.fanouts is None:
        return default_fanouts(config.hops_sampled, config.method)
    return one_a_hop("fanouts", config.fanouts, config.hops_sampled, partial(_fanout, config))


def one_a_hop(name, numbers, hops, checked):
    """Return numbers as a tuple, one for each hop sampled, each as `checked` returns it."""
    if not isinstance(numbers, list | tuple):
        raise TypeError(f"{name} must be a tuple of ints, got {type(numbers).__name__}")
    if len(numbers) != hops:
        raise ValueError(
            f"{name} must have {hops} numbers, one for each hop sampled, got {len(numbers)}"
        )
    return tuple(map(checked, numbers))


def _fanout(config, fanout):
    """Return the fan-out of one hop: an int, or a tuple with one for each relation."""
    if not isinstance(fanout, list | tuple):
        if _check.integer("fanouts", fanout, -1, 2**31 - 1) == 0:
            raise ValueError("fanouts must be -1 or at least 1, got 0")
        return int(fanout)
    if config.model != "rgcn" or config.method not in BY_RELATION:
        raise ValueError(
            "fanouts by relation are for model rgcn with method fresh or neighbor, not for "
            f"model {config.model} with method {config.method}"
        )
    if config.sample_mode != "layered":
        raise ValueError(f"fanouts by relation need sample_mode layered, not {config.sample_mode}")
    if len(fanout) != config.relations:
        raise ValueError(
            f"fanouts must have a number for each of {config.relations} relations, "
            f"got {len(fanout)}"
        )
    numbers = tuple(_check.integer("fanouts", number, -1, 2**31 - 1) for number in fanout)
    if not any(numbers):
        raise ValueError("fanouts must draw from a relation, got 0 for each of them")
    return numbers
