"""The pictures of a run and of a sample."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from refimpl._support.reprs import one_line
from refimpl._support.whole_files import replacing
from refimpl.lab.apps.report import TRAINING, totals
from refimpl.lab.training.state import EpochRecord
from refimpl.loader.lookahead_features import ReadCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from refimpl.hints import FilePath

TITLE = 85  # characters of a line
NO_MATPLOTLIB = "matplotlib is not installed (pip install 'minibatch-gnn[plot]')"


def missing(draw: Callable[..., object], path: FilePath, *args: object) -> str | None:
    """Call ``draw(path, *args)``, which draws a picture; return the reason why there is none.

    The reason is None if the picture was drawn. Any error of matplotlib is a reason: a picture is
    no result. An older picture at `path` is then removed, because it shows other numbers.
    Warnings of matplotlib, such as a letter that its font lacks, are not shown.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draw(path, *args)
        return None
    except ModuleNotFoundError as error:
        reason = NO_MATPLOTLIB if (error.name or "").startswith("matplotlib") else str(error)
    except MemoryError:
        reason = "out of memory"
    except OSError as error:
        reason = str(error)
    except Exception as error:  # of an installation that is broken, or a setting of the user's
        reason = f"matplotlib failed: {type(error).__name__}: {' '.join(str(error).split())}"
    with suppress(OSError):
        Path(path).unlink(missing_ok=True)
    return one_line(reason)


def _put_title(figure: Any, title: str) -> None:
    """Give a figure a title of several lines, in which a "$" begins no formula.

    matplotlib's own wrapping reads formulas all the same.
    """
    figure.suptitle(textwrap.fill(title, TITLE), parse_math=False)


def draw_curves(
    path: FilePath,
    history: Sequence[EpochRecord],
    title: str,
    loads: Sequence[Mapping[str, int]] = (),
    reads: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Draw loss and validation F1 against epochs and against seconds of training.

    If `loads`, the counts of what each epoch loaded, tell of a cache, draw what it saved too. If
    `reads`, the counts of what each epoch read from storage, are there, draw MiB a second, the hit
    rate and the share of waiting.
    """
    from matplotlib.figure import Figure  # without pyplot: no display, no global state

    epochs = [record.epoch for record in history]
    seconds = [sum(getattr(record, part) for part in TRAINING) for record in history]
    curves: list[tuple[str, dict[str, Any]]] = [
        ("training loss", {"": [record.loss for record in history]}),
        ("validation F1-micro", {"": np.array([record.val_f1 for record in history], float)}),
    ]
    shares = [totals([counts]) for counts in loads]
    if any(share["lookups"] or share["feature_hits"] for share in shares):
        names = {
            "embedding_saving": "rows spared by embeddings",
            "feature_hit_rate": "remaining rows in the feature cache",
            "embedding_hit_rate": "hit rate of embeddings",
        }
        # None, for 0 / 0, becomes NaN: a gap
        saved = {names[k]: np.array([share[k] for share in shares], float) for k in names}
        curves.append(("share", saved))
    if reads:
        lengths = np.diff(seconds, prepend=0)
        found = [ReadCounts(**one).shares(s) for one, s in zip(reads, lengths, strict=True)]
        read = {key: np.array([one[key] for one in found], float) for key in found[0]}
        curves.append(("MiB/s read", {"": read["mib_a_second"]}))
        shown = {"hit rate of rows": "hit_rate", "waiting for rows": "wait_share"}
        curves.append(("share", {name: read[key] for name, key in shown.items()}))
    figure = Figure(figsize=(9, max(6, 2 * len(curves))), layout="constrained")
    grid = figure.subplots(len(curves), 2, sharex="col", sharey="row")
    for row, (label, values_by_name) in zip(grid, curves, strict=True):
        for axes, x in zip(row, (epochs, seconds), strict=True):
            for name, values in values_by_name.items():
                axes.plot(x, values, marker=".", label=name)
            axes.grid(alpha=0.3)
        row[0].set_ylabel(label)
        if len(values_by_name) > 1:
            row[0].legend()
    grid[-1][0].set_xlabel("epochs")
    grid[-1][1].set_xlabel("seconds of training, without evaluation")
    _put_title(figure, title)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=120)


def draw_sample(
    path: FilePath, degrees: dict[str, NDArray[Any]], counters: dict[str, Any], title: str
) -> None:
    """Draw degree distributions, `degrees` by name, and the counters of a sampler as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, values in degrees.items():
        counts = np.bincount(values, minlength=1)
        at_least = counts[::-1].cumsum()[::-1] / max(values.size, 1)
        present = np.flatnonzero(counts[1:]) + 1  # degree 0 has no place on this axis
        left.plot(present, at_least[present], marker=".", linestyle="", label=name)
    left.set(xscale="log", yscale="log", xlabel="degree", ylabel="share of nodes of this or more")
    left.legend()
    left.grid(alpha=0.3)
    shown = {name.replace("_", " "): value for name, value in counters.items() if value > 0}
    right.barh(list(shown), list(shown.values()))
    for name, value in shown.items():
        right.annotate(f" {value:.4g}", (value, name), va="center")
    right.set(xscale="log", xlabel="mean of a subgraph")
    right.invert_yaxis()
    right.margins(x=0.25)
    _put_title(figure, title)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=120)
