"""Values of options as the user writes them; what they are called is shown in errors."""

import re
from fractions import Fraction
from pathlib import Path

from refimpl.lab.data.loading import BUILT_IN

NO_LIMIT = "inf"
BYTES = {"": 1, "b": 1} | {
    prefix + unit: base**power
    for unit, base in (("b", 1000), ("ib", 1024))
    for power, prefix in enumerate("kmgt", 1)
}


def data_source(text):
    """Return a built-in name as it is, and a folder as an absolute path."""
    return text if text in BUILT_IN else str(Path(text).resolve())


def fanouts(text):
    """Return numbers separated by commas as a list, "all" as -1, a list for those with colons."""
    return [
        [_fanout(number) for number in hop.split(":")] if ":" in hop else _fanout(hop)
        for hop in text.split(",")
    ]


def shown_fanouts(fanouts):
    """Return fan-outs as the user writes them."""
    return ",".join(
        ":".join(map(_shown, hop)) if isinstance(hop, list) else _shown(hop) for hop in fanouts
    )


def _fanout(text):
    return -1 if text == "all" else int(text)


def _shown(fanout):
    return "all" if fanout < 0 else str(fanout)


def numbers(text):
    """Return numbers separated by commas as a list, as a checkpoint holds them."""
    return [int(number) for number in text.split(",")]


def size(text):
    """Return bytes: a number alone, or with a unit as in 256MB (10^6) or 1.5GiB (2^30)."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([A-Za-z]*)", text, re.ASCII)
    if found is None or found[2].lower() not in BYTES:
        raise ValueError(text)
    return int(Fraction(found[1]) * BYTES[found[2].lower()])


def age(text):
    """Return a number, or `NO_LIMIT` as it is."""
    return text if text == NO_LIMIT else int(text)
