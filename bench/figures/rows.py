"""Rows of runs put together: picked, grouped, and made means with their ranges."""

import statistics
from typing import NamedTuple


class Spread(NamedTuple):
    """The mean (of `middle` the median) of some numbers, and the least and the largest of them."""

    mean: float
    low: float
    high: float

    def text(self, form=".3f", *, scale=1.0, unit=""):
        """Return the mean, with the range in brackets where there is one."""
        mean, low, high = (f"{scale * x:{form}}" for x in self)
        spans = "" if low == high else f" ({low} to {high})"
        return f"{mean}{unit}{spans}"


def spread(values):
    """Return the `Spread` of some numbers, at least one."""
    values = list(values)
    low, high = min(values), max(values)
    mean = statistics.fmean(values)  # of equal numbers it may be another one, by a rounding
    return Spread(min(max(mean, low), high), low, high)


def middle(values):
    """Return the median, least and largest of some numbers, at least one, as a `Spread`."""
    values = list(values)
    return Spread(statistics.median(values), min(values), max(values))


def bands(spreads, scale=1.0):
    """Return the means, the least and the largest of some `Spread`: what `panels.Curve` takes."""
    return [[scale * one[part] for one in spreads] for part in range(3)]


def share_saved(rows):
    """Return the share of the rows that neighbour sampling loads which were not: I/O saved.

    Of rows with `loaded` and `inputs`, a ratio of sums; without the first epoch, which fills the
    cache.
    """
    warm = [row for row in rows if row["epoch"] > 1]
    return 1 - sum(row["loaded"] for row in warm) / sum(row["inputs"] for row in warm)


def pick(rows, **want):
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in want.items())]


def values_of(rows, key):
    """Return the different values of a column, in the order in which they come."""
    return list(dict.fromkeys(row[key] for row in rows if key in row))


def spread_of(rows, key, **want):
    """Return the `Spread` of a column over the rows that have these values."""
    return spread(row[key] for row in pick(rows, **want))


def three_lists(triples):
    """Return the first parts of some triples, the second and the third, as `panels.Curve` does."""
    return tuple(map(list, zip(*triples, strict=True)))


def curve_of(rows, x, y, **want):
    """Return x, and the mean, least and largest y at each: what `panels.Curve` takes."""
    chosen = pick(rows, **want)
    xs = sorted(values_of(chosen, x))
    spreads = [spread_of(chosen, y, **{x: value}) for value in xs]
    return xs, *bands(spreads)
