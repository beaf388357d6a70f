"""The progress bar of training, where somebody sees it: on a terminal or in a notebook."""

from __future__ import annotations

import importlib.util
import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from refimpl._support.reprs import score

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = "{l_bar}{bar}| epoch {n:.1f}/{total} [{elapsed}<{remaining}{postfix}]"
READING = "{bar}| {n:.1f}/{total} [{elapsed}<{remaining}{postfix}]"  # with what is read
NARROWED = 9  # characters that tqdm's bar loses if the line has no room for them
FORMS = {"mib_a_second": "{:.1f}MiB/s", "hit_rate": "hit={:.0%}", "wait_share": "wait={:.0%}"}


def bar(shown: bool = True, **options: Any) -> Any:
    """Return a bar of tqdm: a widget where a notebook has these, else text on stderr.

    It is silent unless it is `shown`, and where nobody would see it: stderr is no terminal. Where
    it can be written no more, as the terminal is gone, it is silent from then on.
    """
    notebook = "ipykernel.zmqshell" in sys.modules
    if notebook and importlib.util.find_spec("ipywidgets"):  # without it, tqdm.auto warns
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    unseen = False if notebook else None  # None: tqdm asks stderr

    class Bar(tqdm):  # type: ignore[misc]  # tqdm has no types
        monitor_interval = 0  # else tqdm starts a thread

        def display(self, *args: Any, **form: Any) -> Any:
            try:
                return super().display(*args, **form)
            except (OSError, ValueError):
                self.disable = True

        def close(self) -> None:
            with suppress(OSError, ValueError):
                super().close()

    if sys.stderr is None and not notebook:  # the program was started without one
        shown = False
    return Bar(file=sys.stderr, disable=unseen if shown else True, **options)


class Progress:
    """A bar with an epoch's loss and validation F1, and what a cache of embeddings saves.

    If features are read ahead from storage, the bar shows MiB/s, the hit rate of the cache of rows
    and the share of the time in which training waited for rows, in the epoch so far. If the graph
    is read from storage, the bar shows the MiB/s of these reads. Words that do
    not fit in a line of the terminal are left out, from the last.

    Parameters
    ----------
    trainer : Trainer
    shown : bool
        False: no bar. Of several ranks the first has one.
    """

    def __init__(self, trainer: Any, shown: bool = True) -> None:
        self.trainer = trainer
        self.reads = trainer.reading is not None or trainer.stored is not None
        self.bar = bar(
            shown and trainer.team.rank == 0,
            total=trainer.config.epochs,
            initial=len(trainer.state.history),
            bar_format=READING if self.reads else FORMAT,
        )
        self.scores: dict[str, str] = {}
        self.saved: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.bar.close()

    def within_epoch(self, share: float) -> None:
        """Show that `share` of the epoch under way is done, and what was loaded in it so far."""
        if self.bar.disable:
            return
        if self.trainer.config.method.counts_loads:
            loads = self.trainer.counts_of_epoch
            shares = {
                "hits": loads.embedding_hit_rate,
                "rows_spared": loads.embedding_saving,
                "features_cached": loads.feature_hit_rate,
            }
            self.saved = {name: f"{x:.1%}" for name, x in shares.items() if not math.isnan(x)}
        self._put(len(self.trainer.state.history) + share)

    def after_epoch(self) -> None:
        """Show the loss and the score of the epoch that is just done."""
        record = self.trainer.state.history[-1]
        self.scores = {"loss": f"{record.loss:.4f}", "val_f1": score(record.val_f1)}
        self._put(record.epoch)

    def _put(self, done: float) -> None:
        """Show the number of epochs that are done, and the words behind the bar."""
        if self.bar.disable or not self.reads:
            self.bar.set_postfix(self.scores | self.saved, refresh=False)
        else:
            self.bar.set_postfix_str(self._words(done), refresh=False)
        self.bar.update(done - self.bar.n)

    def _words(self, done: float) -> str:
        """Return scores, what was read in this epoch and what a cache saved, as far as they fit."""
        counts, seconds = self.trainer.reads_of_epoch()
        shares = counts.shares(seconds)
        read = [form.format(shares[key]) for key, form in FORMS.items() if shares[key] is not None]
        if self.trainer.stored is not None and seconds:
            speed = self.trainer.graph_bytes_of_epoch() / 2**20 / seconds
            read.append(f"graph={speed:.1f}MiB/s")
        scores, saved = (
            [f"{name.removeprefix('val_')}={value}" for name, value in some.items()]
            for some in (self.scores, self.saved)
        )
        words, facts = scores + read + saved, self.bar.format_dict | {"n": done}
        columns, facts["ncols"] = facts["ncols"], None
        while words and columns:
            line = self.bar.format_meter(**facts | {"postfix": " ".join(words)})
            if len(line) - NARROWED <= columns:
                break
            words.pop()
        return " ".join(words)
