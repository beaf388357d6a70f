"""The progress bars of work that has stages."""

from typing import Any

from refimpl.lab.training.progress import bar

STAGE = "{l_bar}{bar}| [{elapsed}<{remaining}]"


class Stages:
    """A bar for each stage of some work."""

    def __init__(self):
        self.what: str | None = None
        self.bar: Any = bar(shown=False)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.bar.close()

    def show(self, what, share):
        """Show that `share` of the stage called `what` is done."""
        if what != self.what:
            self.bar.close()
            self.what = what
            self.bar = bar(total=1, desc=what, bar_format=STAGE)
        self.bar.update(share - self.bar.n)
