"""The progress bars of a run, and of work that has stages."""

import math
import sys

from tqdm import tqdm

from refimpl.lab.apps.report import score

STAGE = "{l_bar}{bar}| [{elapsed}<{remaining}]"
FORMAT = "{l_bar}{bar}| epoch {n:.1f}/{total} [{elapsed}<{remaining}{postfix}]"


class Progress:
    """A bar on stderr with loss and validation F1, and what a cache of embeddings saves.

    Silent where stderr is not a terminal, or where it is not to be shown.
    """

    def __init__(self, epochs, done, shown=True):
        self.bar = tqdm(
            total=epochs,
            initial=done,
            bar_format=FORMAT,
            file=sys.stderr,
            disable=None if shown else True,
        )
        self.done = done
        self.scores: dict[str, str] = {}
        self.saved: dict[str, str] = {}

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.bar.close()

    def within_epoch(self, share, loads=None):
        """Show that `share` of the epoch under way is done, and the LoadCounts of that share."""
        if loads is not None and not self.bar.disable:
            shares = {"hits": loads.hit_rate, "I/O_saved": loads.io_saving}
            self.saved = {name: f"{x:.1%}" for name, x in shares.items() if not math.isnan(x)}
            self.bar.set_postfix(self.scores | self.saved, refresh=False)
        self.bar.update(self.done + share - self.bar.n)

    def after_epoch(self, record):
        """Show an epoch's loss and score."""
        self.done = record.epoch
        self.scores = {"loss": f"{record.loss:.4f}", "val_f1": score(record.val_f1)}
        self.bar.set_postfix(self.scores | self.saved, refresh=False)
        self.bar.update(self.done - self.bar.n)


class Stages:
    """A bar on stderr for each stage of some work. Silent where stderr is not a terminal."""

    def __init__(self):
        self.what, self.bar = None, tqdm(disable=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.bar.close()

    def show(self, what, share):
        """Show that `share` of the stage called `what` is done."""
        if what != self.what:
            self.bar.close()
            self.what = what
            self.bar = tqdm(total=1, desc=what, bar_format=STAGE, file=sys.stderr, disable=None)
        self.bar.update(share - self.bar.n)
