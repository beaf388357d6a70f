"""The progress bars of work that has stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refimpl.lab.training.progress import bar

if TYPE_CHECKING:
    from typing_extensions import Self

STAGE = "{l_bar}{bar}| [{elapsed}<{remaining}{postfix}]"


class Stages:
    """A bar for each stage of some work."""

    def __init__(self) -> None:
        self.what: str | None = None
        self.bar: Any = bar(shown=False)
        self.first = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.bar.close()

    def show(self, what: str, share: float, count: int = 0, unit: str = "") -> None:
        """Show that `share` of the stage called `what` is done, `count` rows or edges, say.

        What is done in the first call of a stage was done before: it has no part in the rate.
        """
        if what != self.what:
            self.bar.close()
            self.what, self.first = what, count
            self.bar = bar(total=1, initial=share, desc=what, bar_format=STAGE)
        seconds = 0 if self.bar.disable else self.bar.format_dict["elapsed"]
        if unit and seconds:
            rate = self.bar.format_sizeof((count - self.first) / seconds)
            self.bar.set_postfix_str(f"{rate} {unit}/s", refresh=False)
        self.bar.update(share - self.bar.n)
