"""The progress bar of a run."""

import sys

from tqdm import tqdm

FORMAT = "{l_bar}{bar}| epoch {n:.1f}/{total} [{elapsed}<{remaining}{postfix}]"


class Progress:
    """A bar on stderr with loss and validation F1; silent where stderr is not a terminal."""

    def __init__(self, epochs, done):
        self.bar = tqdm(
            total=epochs, initial=done, bar_format=FORMAT, file=sys.stderr, disable=None
        )
        self.done = done

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.bar.close()

    def within_epoch(self, share):
        """Show that `share` of the epoch under way is done."""
        self.bar.update(self.done + share - self.bar.n)

    def after_epoch(self, record):
        """Show an epoch's loss and score."""
        self.done = record.epoch
        self.bar.set_postfix(
            loss=f"{record.loss:.4f}", val_f1=f"{record.val_f1:.4f}", refresh=False
        )
        self.bar.update(self.done - self.bar.n)
