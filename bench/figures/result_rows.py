"""Rows of runs put together: picked, grouped, and made means with their ranges."""

import statistics
from typing import NamedTuple


class Spread(NamedTuple):
    """The mean (of `middle` the median) of some numbers, and the least and the largest of them."""

    mean: float
    low: float
    high: float

    def __format__(self, form):
        return self.text(form)

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
    return spread(values)._replace(mean=statistics.median(values))


def bands(spreads, scale=1.0):
    """Return the means, the least and the largest of some `Spread`: what `plotting.Curve` takes."""
    return [[scale * part for part in parts] for parts in zip(*spreads, strict=True)]


def pick(rows, **want):
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in want.items())]


def values_of(rows, *keys):
    """Return the different values of a column, in their order; of several columns, as tuples."""
    found = [tuple(row[key] for key in keys) for row in rows if all(key in row for key in keys)]
    return list(dict.fromkeys(found if len(keys) > 1 else (one for (one,) in found)))


def groups_of(rows, *keys):
    """Return the rows that agree in some columns together, in their order: a list of lists."""
    found: dict = {}
    for row in rows:
        if all(key in row for key in keys):
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(found.values())


def tabled(groups, columns):
    """Return a table: the titles, and a line for each group of rows.

    `columns` is {title: a column of the group's first row, a form of its columns such as
    "{nodes:,}", or a function of the group}.
    """

    def cell(column, some):
        if callable(column):
            return column(some)
        return column.format(**some[0]) if "{" in column else some[0][column]

    return list(columns), [[cell(column, some) for column in columns.values()] for some in groups]


def spreads(key, form=".3f", *, ranged=True):
    """Return a column of `tabled`: the mean of a column and its range; "-" for rows without it."""

    def cell(some):
        if key not in some[0]:
            return "-"
        found = spread_of(some, key)
        return found.text(form) if ranged else f"{found.mean:{form}}"

    return cell


def medians(key, form, *, scale=1.0, **want):
    """Return a column of `tabled`: the median of a column, over the rows that have these values."""
    return lambda some: f"{scale * median_of(some, key, **want):{form}}"


def spread_of(rows, key, **want):
    """Return the `Spread` of a column over the rows that have these values."""
    return spread(row[key] for row in pick(rows, **want))


def median_of(rows, key, **want):
    """Return the median of a column over the rows that have these values."""
    return statistics.median(row[key] for row in pick(rows, **want))


def quartiles_of(rows, key, **want):
    """Return the median of a column and the ends of the middle half of it, as a `Spread`."""
    values = [row[key] for row in pick(rows, **want)]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def ratios(rows, others, key):
    """Return how many times as large a column is as in other rows, row by row, as `middle` does."""
    return middle(a[key] / b[key] for a, b in zip(rows, others, strict=True))


def share_saved(rows):
    """Return the share of the rows that neighbour sampling loads which were not: I/O saved.

    Of rows with `loaded` and `inputs`, a ratio of sums; without the first epoch, which fills the
    cache.
    """
    warm = [row for row in rows if row["epoch"] > 1]
    return 1 - sum(row["loaded"] for row in warm) / sum(row["inputs"] for row in warm)


def points_by_seed(rows, others):
    """Return {seed: points of test F1 that a row has beyond the other row of this seed}."""
    target = {row["seed"]: row["test_f1"] for row in others}
    return {row["seed"]: 100 * (row["test_f1"] - target[row["seed"]]) for row in rows}


def points_beside(rows, others):
    """Return the `Spread` of `points_by_seed`."""
    return spread(points_by_seed(rows, others).values())


def curve_of(rows, x, y, *, scale=1.0, **want):
    """Return x, and the mean, least and largest y at each: what `plotting.Curve` takes."""
    chosen = pick(rows, **want)
    xs = sorted(values_of(chosen, x))
    return xs, *bands([spread_of(chosen, y, **{x: value}) for value in xs], scale)
