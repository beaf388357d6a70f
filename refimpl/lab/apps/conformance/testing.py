"""The test vectors as tests of pytest, for the plugin `pytest_minibatch_gnn`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from traceback import format_exception
from typing import TYPE_CHECKING, Any

import pytest

from refimpl._support.beside import import_package
from refimpl.lab.apps.conformance import showing, vectors
from refimpl.lab.apps.conformance.encode import JsonObject, dumps
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.apps.conformance.runner import PASS, SKIP

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self


class Vectors(pytest.Collector):
    """The cases of all kernels, for one implementation."""

    def __init__(self, *, server: Server, **about: Any) -> None:
        super().__init__(**about)
        self.server = server

    @classmethod
    def of(cls, session: pytest.Session, name: str) -> Self:
        """Return the collector of the implementation `name`."""
        server = Server(import_package(name))
        place = {"name": name, "nodeid": f"gnn-conformance/{name}"}
        return cls.from_parent(session, server=server, **place)

    def collect(self) -> Iterator[Vector]:
        """Yield a Vector for each case."""
        for file in vectors.load():
            for case in file["cases"]:
                name = showing.case_name(file, case)
                yield Vector.from_parent(self, name=name, server=self.server, file=file, case=case)


class Differs(Exception):
    """The answer to a case is not the right one; all of it, as `conformance --show` has it."""


class Vector(pytest.Item):
    """One case: the implementation is asked in this process, as a program would be."""

    def __init__(self, *, server: Server, file: JsonObject, case: JsonObject, **about: Any) -> None:
        super().__init__(**about)
        self.server, self.file, self.case = server, file, case
        self.add_marker("gnn_conformance")

    def runtest(self) -> None:
        """Ask, and compare."""
        found = showing.check_case(self.answer, self.file, self.case)
        if found.verdict == SKIP:
            pytest.skip(found.said)
        if found.verdict != PASS:
            raised = self.server.raised
            trace = ["", *"".join(format_exception(raised)).splitlines()] if raised else []
            raise Differs("\n".join([found.said, "", *found.lines(), *trace]))

    def answer(self, asked: JsonObject) -> Any:
        """Return the answer to a question, in the form in which a program would give it."""
        return json.loads(dumps(self.server.answer(json.loads(dumps(asked)))))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what a failure shows: the case, both answers, and what the kernel raised."""
        if isinstance(excinfo.value, Differs):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test stands: in no file."""
        return self.path, None, self.name
