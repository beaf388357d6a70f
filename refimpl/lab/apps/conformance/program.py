"""A program of any language that speaks the protocol, as a supervised worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refimpl.lab.apps.conformance.compare import short
from refimpl.lab.apps.conformance.protocol import PROTOCOL
from refimpl.lab.apps.worker import Clock, Lost, Worker

if TYPE_CHECKING:
    from refimpl.lab.apps.conformance.encode import JsonObject


class Program(Worker):
    """A worker that is greeted by the protocol's name.

    Parameters
    ----------
    command : list of str
    clock : Clock
    env : dict, optional
        As of `Worker`.

    Attributes
    ----------
    name, version : str
        As it says.
    """

    def __init__(
        self, command: list[str], clock: Clock, env: dict[str, str | None] | None = None
    ) -> None:
        super().__init__(command, clock, hello={"hello": PROTOCOL}, env=env)

    def greeted(self, answer: JsonObject) -> None:
        """Note its name; one that has none, or greets with a fault, is lost."""
        self.name, self.version = short(answer.get("name")), short(answer.get("version"))
        super().greeted(answer)
        if "name" not in answer:
            raise Lost(f"the greeting has no name: {short(answer)}")
