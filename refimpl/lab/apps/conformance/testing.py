"""The test vectors as tests of pytest, for the plugin `pytest_minibatch_gnn`."""

import importlib
import json

import pytest

from refimpl.lab.apps.conformance import showing, vectors
from refimpl.lab.apps.conformance.encode import dumps
from refimpl.lab.apps.conformance.protocol import Server
from refimpl.lab.apps.conformance.runner import PASS, SKIP, judge, question


class Vectors(pytest.Collector):
    """The cases of all kernels, for one implementation."""

    @classmethod
    def of(cls, session, name):
        """Return the collector of the implementation `name`."""
        made = cls.from_parent(session, name=name, nodeid=f"gnn-conformance/{name}")
        made.server = Server(importlib.import_module(name))
        return made

    def collect(self):
        """Yield a Vector for each case."""
        for file in vectors.load():
            for case in file["cases"]:
                yield Vector.of(self, file, case)


class Differs(Exception):
    """The answer to a case is not the right one; all of it, as `conformance --show` has it."""


class Vector(pytest.Item):
    """One case: the implementation is asked in this process, as a program would be."""

    @classmethod
    def of(cls, parent, file, case):
        """Return the test of a case."""
        made = cls.from_parent(parent, name=showing.case_name(file, case))
        made.file, made.case = file, case
        made.add_marker("gnn_conformance")
        return made

    def runtest(self):
        """Ask, and compare."""
        asked = json.loads(dumps(question(self.file, self.case)))
        answer = json.loads(dumps(self.parent.server.answer(asked)))
        verdict, said, _ = judge(self.file, self.case, answer)
        if verdict == SKIP:
            pytest.skip(said)
        if verdict != PASS:
            lines = showing.case_lines(self.file, self.case)
            answers = showing.answer_lines(self.file, self.case, answer)
            raise Differs("\n".join([said, "", *lines, "", *answers]))

    def repr_failure(self, excinfo):
        """Return what a failure shows: the case and both answers, without a traceback."""
        if isinstance(excinfo.value, Differs):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        """Return where the test stands: in no file."""
        return self.path, None, self.name
