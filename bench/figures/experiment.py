"""What an experiment is: runs that give rows, a table and a picture of them, verdicts on claims.

An experiment measures a figure or a table of the papers again. ``experiments.toml`` says what it is
about, its sizes, what the papers print and claim, and in which words a verdict says what was found.
Its code is a module in `experiments` with these functions of a `Lab` and rows:

    cells(lab)           the runs, each a dict of plain values that says all about it; not where
                         experiments.toml names the sizes whose values they combine
    measure(lab, cell)   rows of one run: a list of dicts of plain values
    table(lab, rows)     (titles, rows of words) for the terminal and the documentation
    verdicts(lab, rows)  a `Verdict` for each claim of the paper
    plot(lab, rows)      what is drawn, see `panels`

Rows carry the values of their cell, so that a CSV file of them is complete. What is compared in
time is measured in turns in one run.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from refimpl.lab.apps.errors import user_errors
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.distributed.launch import available_cores

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ABOUT: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("experiments.toml").read_text(encoding="utf-8")
)
HOLDS = "holds"
WEAKER = "holds weaker"
FAILS = "does not hold here"
UNTESTED = "cannot be tested here"
OUTCOMES = HOLDS, WEAKER, FAILS, UNTESTED
NEARLY, CLEARLY = 0.9, 1.05  # of a printed number, and of the number that would show no effect


class Verdict(NamedTuple):
    """What became of a claim: what was found here, one of `OUTCOMES`, and why."""

    claim: str
    ours: str
    outcome: str
    because: str = ""


def verdict(claim, outcome, **found):
    """Return the `Verdict` on a claim, in the words of experiments.toml, with what was found.

    The words stand beside the claim or, for all claims of a figure, beside its title: `ours`, and
    why the claim does not hold (`because`) or is not tested (`untested`), or in any case (`note`).
    """
    (about,) = (about for about in ABOUT.values() if claim in about["claims"])
    words = {**about, **about["claims"][claim]}
    reason = {HOLDS: "note", UNTESTED: "untested"}.get(outcome, "because")
    because = words.get(reason, words.get("note", ""))
    return Verdict(claim, words["ours"].format(**found), outcome, because.format(**found))


def graded(ours, printed, nothing=1.0):
    """Return the outcome of a claim with a number, where larger is better.

    It holds from nine tenths of the printed number on, and weaker where ours is more than a
    twentieth above `nothing`, the number that would show no effect.
    """
    if ours >= NEARLY * printed:
        return HOLDS
    return WEAKER if ours > CLEARLY * nothing else FAILS


def ranked(holds, weaker):
    """Return the outcome of a claim that holds, else holds weaker, where these are true."""
    return HOLDS if holds else WEAKER if weaker else FAILS


def crossed(lab, *axes):
    """Return a run for each combination of values: of each size named, or of "seed" the seeds."""
    sizes = {**lab.sizes, "seed": list(range(lab.seeds or 0))}
    values = [sizes[axis] if isinstance(sizes[axis], list) else [sizes[axis]] for axis in axes]
    return [dict(zip(axes, each, strict=True)) for each in product(*values)]


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the papers, and how it is made again.

    Attributes
    ----------
    id : str
        A letter of the paper and its item: "V-fig14". Others that it shows as well are in `also`.
    title, about : str
    full, quick : dict
        Sizes of the runs; `quick` only those that differ.
    cells, measure, table, verdicts, plot : callables
        See the module.
    claims : dict
        {name: {"where": paper and section, "says": the claim, with its number}}
    data : str or None
        The data set where the user gives none; None if it makes its own graphs.
    takes_data : bool
        Whether one that makes its own graphs takes the user's data set as well.
    seeds : int or None
        How many, where the user does not say; None if nothing depends on a seed of the user's.
    timed : bool
        Whether it shows times, which a busy machine spoils.
    also : tuple of str
    """

    id: str
    title: str
    full: dict[str, Any]
    quick: dict[str, Any]
    cells: Callable[..., list]
    measure: Callable[..., list]
    table: Callable[..., tuple]
    verdicts: Callable[..., list]
    plot: Callable[..., list]
    claims: dict[str, dict[str, Any]]
    about: str = ""
    data: str | None = None
    takes_data: bool = False
    seeds: int | None = None
    timed: bool = False
    also: tuple[str, ...] = ()

    def judged(self, lab, rows):
        """Return the verdicts as dicts, with where the paper has each claim, and what it says."""
        return [
            {
                "claim": one.claim,
                **{key: self.claims[one.claim][key] for key in ("where", "says")},
                **one._asdict(),
            }
            for one in self.verdicts(lab, rows)
        ]


@dataclass
class Lab:
    """What an experiment runs with.

    Attributes
    ----------
    gnn : module
        refimpl or fastimpl.
    sizes : dict
        `Experiment.full`, or that with what `Experiment.quick` or the user changes.
    data : str or None
        The data set, as `load_dataset` takes it.
    seeds : int or None
    threads : int
        The most that may be used.
    quick : bool
    """

    gnn: Any
    sizes: dict[str, Any]
    data: str | None = None
    seeds: int | None = None
    threads: int = field(default_factory=available_cores)
    quick: bool = False
    kept: dict = field(default_factory=dict, repr=False)

    def dataset(self, **options):
        """Return the data set, read once; `options` are those of `load_dataset`."""

        def load():
            assert self.data is not None  # of figures that have a data set
            with user_errors():
                return load_dataset(self.data, **options)

        return self.once(("dataset", self.data, *sorted(options.items())), load)

    def once(self, key, make):
        """Return what `make` returns, made once for all runs; the last few are kept."""
        if key not in self.kept:
            while len(self.kept) >= 4:  # a large graph each, perhaps
                del self.kept[next(iter(self.kept))]
            self.kept[key] = make()
        return self.kept[key]

    def thread_counts(self, also=()):
        """Return 1, 2, 4, .., those of `also` that are not too many, and `threads`."""
        counts = {2**k for k in range(self.threads.bit_length())} | {self.threads, *also}
        return sorted(count for count in counts if count <= self.threads)

    def has_cores(self, count):
        """Say whether so many threads may be used, each with a core of its own."""
        return min(self.threads, available_cores()) >= count
