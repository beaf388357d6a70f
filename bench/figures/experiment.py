"""What an experiment is: runs that give rows, a table and a picture of them, verdicts on claims.

An experiment measures a figure or a table of the papers again. ``experiments.toml`` says what it is
about, its sizes, what the papers print and claim, and in which words a verdict says what was found.
Its code is a module in `experiments` with these functions of a `Lab` and rows:

    cells(lab)           the runs, each a dict of plain values that says all about it; not where
                         experiments.toml has their form, see `crossed`
    measure(lab, cell)   rows of one run: a list of dicts of plain values
    table(lab, rows)     (titles, rows of words) for the terminal and the documentation
    verdicts(lab, rows)  a `Verdict` for each claim of the paper
    plot(lab, rows)      what is drawn, see `panels`

Rows carry the values of their cell, so that a CSV file of them is complete. What is compared in
time is measured in turns in one run.
"""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

from bench.launching import no_mpi
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.data.loading import load_dataset
from refimpl.lab.distributed.launch import available_cores
from refimpl.lab.training.config import suggestion

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


def crossed(lab, forms):
    """Return the runs of experiments.toml: for each form, one for each combination of its values.

    A list has values to combine, "@name" stands for those of a size, "@seed" for the seeds,
    "@threads" for `thread_counts` and "@ends" for its ends. Where a key names several columns, a
    value has a part for each. A form with "mpi" is left out where MPI is not installed.
    """
    known = {**lab.sizes, "seed": list(range(lab.seeds or 0)), "threads": lab.thread_counts()}
    known["ends"] = sorted({1, lab.threads})
    runs = []
    for form in forms:
        if form.get("mpi") and no_mpi():
            continue
        form = {key: value for key, value in form.items() if key != "mpi"}
        values = [known[x[1:]] if str(x).startswith("@") else x for x in form.values()]
        for each in product(*(x if isinstance(x, list) else [x] for x in values)):
            pairs = zip(form, each, strict=True)
            named = (zip(k.split(","), x if "," in k else [x], strict=True) for k, x in pairs)
            runs.append(dict(chain.from_iterable(named)))
    return runs


@dataclass(frozen=True)
class Experiment:
    """A figure or table of the papers, and how it is made again; see the module."""

    id: str  # a letter of the paper and its item: "V-fig14"; others that it shows are in `also`
    title: str
    full: dict[str, Any]  # sizes of the runs
    quick: dict[str, Any]  # those that differ with --quick
    cells: Callable[..., list]
    measure: Callable[..., list]
    table: Callable[..., tuple]
    verdicts: Callable[..., list]
    plot: Callable[..., list]
    claims: dict[str, dict[str, Any]]  # by name: "where", paper and section, "says" and more
    about: str = ""
    rule: str = ""  # when a claim holds, where it is the same for all
    data: str | None = None  # where the user gives none; None if it makes its own graphs
    takes_data: bool = False  # whether one that makes its own graphs takes the user's data as well
    seeds: int | None = None  # where the user does not say; None if nothing depends on them
    timed: bool = False  # whether it shows times, which a busy machine spoils
    also: tuple[str, ...] = ()

    def judged(self, lab, rows):
        """Return the verdicts as dicts, with where the paper has each claim, and what it says."""
        return [
            {"claim": one.claim, "where": about["where"], "says": about["says"], **one._asdict()}
            for one in self.verdicts(lab, rows)
            for about in [self.claims[one.claim]]
        ]


@dataclass
class Lab:
    """What an experiment runs with."""

    gnn: Any  # refimpl or fastimpl
    sizes: dict[str, Any]  # `Experiment.full`, with what `Experiment.quick` or the user changes
    data: str | None = None  # the data set, as `load_dataset` takes it
    seeds: int | None = None
    threads: int = field(default_factory=available_cores)  # the most that may be used
    quick: bool = False
    kept: dict = field(default_factory=dict, repr=False)

    def dataset(self, **options):
        """Return the data set, read once; `options` are those of `load_dataset`."""
        assert self.data is not None  # of figures that have a data set
        load = partial(load_dataset, self.data, **options)
        with user_errors():
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
        """Say whether `count` threads may be used, each with a core of its own."""
        return min(self.threads, available_cores()) >= count


def known():
    """Return all experiments, a dict of `Experiment` by id, in the papers' order."""
    return {id: load(id) for id in ABOUT}


@cache
def load(id):
    """Return the `Experiment` with an id of `ABOUT`, always the same one."""
    about = ABOUT[id]
    module = importlib.import_module(f"bench.figures.experiments.{about['module']}")
    parts = {part: getattr(module, part) for part in ("measure", "table", "verdicts", "plot")}
    forms = about.get("cells")
    parts["cells"] = module.cells if forms is None else lambda lab: crossed(lab, forms)
    described = (about.keys() & Experiment.__dataclass_fields__.keys()) - {"cells"}
    return Experiment(id=id, **{key: about[key] for key in described}, **parts)


def find(words):
    """Return the experiments that a user names, or refuse; ``["all"]`` are all of them."""
    figures = known()
    if words == ["all"]:
        return list(figures.values())
    names = {
        name.lower(): figure for figure in figures.values() for name in (figure.id, *figure.also)
    }
    for word in words:
        if word.lower() not in names:
            close = suggestion(word.lower(), names)
            raise UserError(f"there is no figure {word!r}{close}; python -m bench figure list")
    return list({figure.id: figure for figure in (names[word.lower()] for word in words)}.values())
