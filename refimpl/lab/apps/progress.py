"""The progress bars of work that has stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refimpl.lab.training.progress import bar

if TYPE_CHECKING:
    from typing_extensions import Self

STAGE = "{l_bar}{bar}| [{elapsed}<{remaining}]"


class Stages:
    """A bar for each stage of some work."""

    def __init__(self) -> None:
        self.what: str | None = None
        self.bar: Any = bar(shown=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.bar.close()

    def show(self, what: str, share: float) -> None:
        """Show that `share` of the stage called `what` is done."""
        if what != self.what:
            self.bar.close()
            self.what = what
            self.bar = bar(total=1, desc=what, bar_format=STAGE)
        self.bar.update(share - self.bar.n)
