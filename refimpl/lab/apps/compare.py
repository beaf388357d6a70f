"""Both implementations on the same data, seed and settings: results and speed."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from refimpl._support import require
from refimpl._support.reprs import one_line
from refimpl.adjacency import Adjacency
from refimpl.block import Block
from refimpl.graph import Graph, Subgraph
from refimpl.lab.apps import info, report
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.option import Option
from refimpl.lab.apps.options import RUN, load_implementation, train_options
from refimpl.lab.apps.preparing import check_sampler, facts_of, limited_threads, load_data
from refimpl.lab.apps.progress import Stages
from refimpl.lab.apps.results import check_free, check_place
from refimpl.lab.apps.settings import asked, config_of, recorded
from refimpl.lab.training.divergence import Diverged
from refimpl.lab.training.settings import MOST

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from typing_extensions import Self

    from refimpl.lab.apps.option import Chosen, Options
    from refimpl.lab.training.trainer import Trainer

    Seconds: TypeAlias = list[list[dict[str, float]]]  # of each trainer, in every round, by part

SLOW, FAST = "refimpl", "fastimpl"
TOLERANCE = {"float32": 1e-3, "float64": 1e-9}  # largest relative difference of weights
WHOLE = "whole iteration"
# Options of `train` that are none here, beside those that change no result: a thread that samples
# would run in the other's turn, and features stay in memory as they are.
UNUSED = ("impl", "epochs", "best_by", "patience", "eval_every", "half_features")
POOL = Option(
    "pool",
    "take this many iterations in a round; subgraphs or batches are sampled that many at a time",
    2,
    parse=int,
    metavar="COUNT",
    group=RUN,
)
SOURCES = ("pool", "minibatches", "batches", "passes")  # of iterations: what they are taken from
PARTS = tuple(part for part in report.TRAINING if part != "normalization")  # of an iteration


def compare_options() -> Options:
    """Return the options of ``compare``."""
    kept = {
        key: option
        for key, option in train_options().items()
        if key == "threads" or not (option.free or key in UNUSED)
    }
    return {POOL.key: POOL, **kept}


def compare(
    given: Chosen, *, options: Options, rounds: int, out: str | None, overwrite: bool
) -> int:
    """Train both implementations for `rounds` rounds; print the table; return the exit status.

    Parameters
    ----------
    given : dict
        The values that the user gave, by the keys of `options`, as JSON holds them.
    options : dict of Option
        From `compare_options`.
    rounds : int
        Each of as many iterations as the pool holds, so that each round samples once.
    out : str, optional
        A JSON file for the table.
    overwrite : bool
        Replace it if it is there; without it that is an error.

    Returns
    -------
    int
        0 if subgraphs and weights agree, else 1.

    Raises
    ------
    UserError
        If the options, the data or the file are at fault.
    """
    if rounds < 1:
        raise UserError(f"--rounds must be at least 1, got {rounds}")
    if out is not None:
        check_place(Path(out))
    check_free(out, overwrite)
    settings = asked(options, given)
    with user_errors():
        pool = require.integer("pool", settings["pool"], 1, MOST)
    gnns = [load_implementation(name) for name in (SLOW, FAST)]
    with limited_threads(settings["threads"]), ExitStack() as until_the_end:
        dataset = load_data(settings)
        config = config_of(settings, dataset)
        settings = _shown_settings(recorded(options, settings, config), options)
        for gnn in gnns:
            check_sampler(gnn, dataset, config)
        with user_errors():
            trainers = [
                until_the_end.enter_context(gnn.make_trainer(dataset, config)) for gnn in gnns
            ]
        before = _normalization(trainers)
        taken = [_recording(trainer.iterations) for trainer in trainers]
        with Stages() as stages:
            seconds, losses, same = _run_rounds(
                trainers, taken, rounds, pool, lambda share: stages.show("rounds", share)
            )
        counted = config.method.counts_loads
        loads = [trainer.counts_of_epoch for trainer in trainers]
        result: dict[str, Any] = {
            "parts": _speeds(seconds, pool),
            "normalization": before,
            "rounds": rounds,
            "iterations": rounds * pool,
            "same_subgraphs": same,
            "same_loads": loads[0] == loads[1] if counted else None,
            "loss_difference": _difference(*map(np.array, losses)),
            "weights_difference": max(
                _difference(W, trainers[1].state.weights[name])
                for name, W in trainers[0].state.weights.items()
            ),
            "tolerance": TOLERANCE[settings["dtype"]],
            "settings": settings,
            "dataset": facts_of(dataset),
            "versions": info.versions(),
            "build": info.build_of(gnns[1]),
            "threads": info.threads_of(gnns[1]),
        }
    same = same and (before is None or before["same_counts"])
    result["agree"] = same and result["weights_difference"] <= result["tolerance"]
    try:
        if out is not None:
            with user_errors():
                report.write_json(out, result)
    finally:
        _show(result)
    if out is not None:
        print(f"wrote {one_line(out)}")
    return 0 if result["agree"] else 1


def _shown_settings(settings: Chosen, options: Options) -> Chosen:
    """Return the settings without those that `train` alone has."""
    unused = {o.name for key, o in train_options().items() if key not in options}
    return {name: value for name, value in settings.items() if name not in unused}


class Recorded:
    """An iterator that keeps what was taken from it."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.taken: list[Any] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        self.taken.append(next(self.source))
        return self.taken[-1]

    def close(self) -> None:
        """End the threads of the iterator."""
        self.source.close()


def _recording(iterations: Any) -> list[Any]:
    """Return what keeps all samples that a method's iterations work on, from now on."""
    for name in SOURCES:
        if hasattr(iterations, name):
            recorded = Recorded(getattr(iterations, name))
            setattr(iterations, name, recorded)
            return recorded.taken
    return [iterations.A]  # one for all iterations: the whole graph


def _equal(a: Any, b: Any) -> Any:
    """Whether two samples are equal in every array and count."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, Graph | Block):
        names = ("start", "end", "indices", "n_src", "edge_ids")
        return all(_equal(getattr(a, name, None), getattr(b, name, None)) for name in names)
    if isinstance(a, Adjacency):
        return _equal(a.graph, b.graph)  # its values come from kernels, which round differently
    if isinstance(a, Subgraph):
        return all(_equal(getattr(a, part.name), getattr(b, part.name)) for part in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a == b


def _normalization(trainers: list[Trainer]) -> dict[str, Any] | None:
    """Return the cost of what runs once, before training, and whether the counts are equal."""
    a, b = (getattr(trainer.iterations, "counts", None) for trainer in trainers)
    if a is None or b is None:
        return None
    slow, fast = (1000 * trainer.meter.seconds["normalization"] for trainer in trainers)
    return {
        **_ratio(slow, fast),
        "subgraphs": a.subgraphs,
        "same_counts": all(map(np.array_equal, a, b)),
    }


def _run_rounds(
    trainers: list[Trainer],
    taken: list[list[Any]],
    rounds: int,
    pool: int,
    show: Callable[[float], object],
) -> tuple[Seconds, list[list[float]], bool]:
    """Train in turns; ``show(share)`` is told how much is done.

    Returns
    -------
    seconds, losses : lists of lists
        Of each trainer: its seconds by part in every round, and its losses.
    same : bool
        Whether both packages sampled the same for all iterations, to the last edge.
    """
    seconds: Seconds = [[] for _ in trainers]
    losses: list[list[float]] = [[] for _ in trainers]
    same = True
    for number in range(rounds):
        show(number / rounds)
        for i, trainer in enumerate(trainers):
            before = dict(trainer.meter.seconds)
            for _ in range(pool):
                losses[i].append(_loss_of_step(trainer))
            after = trainer.meter.seconds
            seconds[i].append({part: after[part] - before[part] for part in PARTS})
        same = same and _equal(*map(tuple, taken))
        for samples in taken:
            samples.clear()  # the next round has others
    show(1)
    return seconds, losses, same


def _speeds(seconds: Seconds, pool: int) -> dict[str, dict[str, float | None]]:
    """Return milliseconds an iteration by part, as medians over the rounds, and speed-ups."""
    speeds = {}
    for part in (*PARTS, WHOLE):
        parts = PARTS if part == WHOLE else (part,)
        slow, fast = (
            1000 / pool * statistics.median(sum(one[p] for p in parts) for one in of_trainer)
            for of_trainer in seconds
        )
        if slow or fast or part not in report.RARE:
            speeds[part] = _ratio(slow, fast)
    return speeds


def _loss_of_step(trainer: Trainer) -> float:
    """Do an iteration; return its loss. A training that diverges is the user's to mend."""
    try:
        return trainer.step().loss
    except Diverged as error:
        advice = "correct that value" if error.first == "features" else "try a smaller --lr"
        raise UserError(f"{error}: {advice}") from error


def _ratio(slow: float, fast: float) -> dict[str, float | None]:
    speedup = slow / fast if fast else None
    return {f"{SLOW}_ms": slow, f"{FAST}_ms": fast, "speedup": speedup}


def _difference(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the largest difference over the largest magnitude in `a`."""
    largest = float(np.abs(a).max(initial=0))
    difference = float(np.abs(a - b).max(initial=0))
    if not np.isfinite(largest) or not np.isfinite(difference):
        raise UserError("the training diverged: try a smaller --lr")
    return difference / largest if largest else difference


def _show(result: dict[str, Any]) -> None:
    print(f"{report.title({**result['settings'], 'impl': 'both packages'}, result['dataset'])}")
    print(f"medians of {result['rounds']} rounds, ms an iteration; {result['threads']} threads\n")
    rows = [("part", SLOW, FAST, "speed-up")]
    before = result["normalization"]
    once = {} if before is None else {"normalization, once": before}
    for part, of in {**result["parts"], **once}.items():
        ratio = "-" if of["speedup"] is None else f"{of['speedup']:.1f}x"
        rows.append((part, f"{of[f'{SLOW}_ms']:.3f}", f"{of[f'{FAST}_ms']:.3f}", ratio))
    print(report.table(rows))
    print(f"\nafter {result['iterations']} iterations in {result['settings']['dtype']}:")
    print(f"subgraphs identical: {_yes(result['same_subgraphs'])}")
    if before is not None:
        counts = f"counts of {before['subgraphs']} subgraphs identical"
        print(f"{counts}: {_yes(before['same_counts'])}")
    if result["same_loads"] is not None:  # which embeddings are cached depends on the rounding
        print(f"counts of rows loaded and cached identical: {_yes(result['same_loads'])}")
    print(f"largest relative difference of losses: {result['loss_difference']:.1e}")
    difference, tolerance = result["weights_difference"], result["tolerance"]
    print(
        f"largest relative difference of weights: {difference:.1e} "
        f"(at most {tolerance:.0e}: {_yes(difference <= tolerance)})"
    )


def _yes(truth: bool) -> str:
    return "yes" if truth else "NO"
