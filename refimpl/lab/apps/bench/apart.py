"""Measuring in a process of its own, as kernels that are measured may hang, or end it.

`measured` waits for what that process tells: before each call whose it is, and then each row. One
that is silent for too long, or ends, is started again, to go on without the kernel at fault.
"""

import os
import pickle
import queue
import subprocess
import sys
import threading
import uuid
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NamedTuple

from refimpl.lab.apps.bench import contestants, inputs, measuring, yardsticks
from refimpl.lab.apps.bench.contestants import TIMEOUT
from refimpl.lab.apps.bench.header import header
from refimpl.lab.apps.bench.measuring import Loss
from refimpl.lab.apps.conformance.program import Lost, ending, kill_all
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.info import build_of

MARK = "MINIBATCH_GNN_BENCH"  # in the environment of the process and of whatever it starts
MAKING = 300.0  # seconds at least for an input, which takes 10 on a busy machine


class Late(Lost):
    """There was no message in time."""


class Request(NamedTuple):
    """What is to be measured.

    Attributes
    ----------
    names : list of str
        Of contestants.
    kernels : list of str
    threads : list of int
    quick : bool
        Whether answers are only checked, on tiny inputs.
    timeout : float
        Seconds from one message to the next while a package is called; see `Findings.follow`.
    revision : dict
        What the header says of it, or nothing.
    lost : tuple of Loss
        What is not called again.
    first : int
        Rows of the first of the kernels that are left out.
    """

    names: list[str]
    kernels: list[str]
    threads: list[int]
    quick: bool
    timeout: float
    revision: dict[str, str]
    lost: tuple[Loss, ...] = ()
    first: int = 0


class Findings:
    """What was told so far.

    Parameters
    ----------
    request : Request
    show : callable
        ``show(share)`` is told how far it is.
    ready : callable
        Called when all contestants have been loaded.

    Attributes
    ----------
    header : list of str or None
    limits : list of Limit and str
    rows : list of Row
    """

    def __init__(self, request, show, ready):
        self.request, self.show, self.ready = request, show, ready
        self.header: Any = None
        self.limits, self.rows = [], []
        self._calling: Any = None
        self._making = self._opened = False
        self._all = len(request.kernels)

    def follow(self, receive):
        """Read messages to their end; return whether that is the end of all.

        If not, `request` is what remains. ``receive(timeout)`` returns the next message; it raises
        `Lost` where there is none. Imports and the making of inputs have more time than calls.

        Raises
        ------
        UserError
            If the process cannot begin, or ends when no package is called. It may have begun before
            and have found a package at fault: another start would end as this one.
        """
        self._calling, self._opened = None, False
        while True:
            try:
                kind, *what = receive(self._limit())
            except Lost as error:
                self._leave_out(error)
                return False
            if kind == "ended":
                self._leave_out(*what)
                return False
            if kind == "end":
                return True
            getattr(self, f"_on_{kind}")(*what)

    def _limit(self):
        """Return how many seconds the next message may take, or None for any number."""
        if self._calling is None:
            return None
        least = MAKING if self._making else 0.0 if self._opened else TIMEOUT
        return max(self.request.timeout, least)

    def _leave_out(self, error):
        if self._calling is None:
            raise UserError(f"measuring cannot go on: {error}")
        impl, threads = self._calling
        if not self._opened:
            raise UserError(self._not_imported(impl, error))
        why = f"making the input: {error}" if self._making else str(error)
        loss = Loss(impl, threads, self.request.kernels[0], self.request.first, why)
        self.request = self.request._replace(lost=(*self.request.lost, loss))

    def _not_imported(self, impl, error):
        who = f"--impl {impl}" if impl in self.request.names else impl
        said = f"{who} cannot be imported: {error}"
        if isinstance(error, Late):
            said = f"{who} did not finish importing in {self._limit():g} seconds"
        for one in self.request.lost[-1:]:
            said += f", when it was started again as {one.impl} was lost in {one.kernel}: {one.why}"
        return said

    def _on_refused(self, text):
        raise UserError(text)

    def _on_opened(self, lines):
        if self.header is None:
            self.ready()
        self.header, self._calling, self._opened = lines, None, True

    def _on_limits(self, found):
        self.limits = found
        self.show(0.1)

    def _on_calling(self, impl, threads):
        self._calling, self._making = (impl, threads), False

    def _on_making(self, impl, threads):
        self._calling, self._making = (impl, threads), True

    def _on_resting(self):
        self._calling = None

    def _on_row(self, row):
        self.rows.append(row)
        self.request = self.request._replace(first=self.request.first + 1)

    def _on_complete(self):
        self.request = self.request._replace(kernels=self.request.kernels[1:], first=0)
        self.show(1 - 0.9 * len(self.request.kernels) / self._all)


def measured(request, show, ready):
    """Return the `Findings` on a Request; see there.

    Raises
    ------
    UserError
        If a contestant cannot be loaded, at the start or again after a loss.
    """
    found = Findings(request, show, ready)
    while True:
        with started(found.request) as receive:
            if found.follow(receive):
                return found


@contextmanager
def started(request):
    """Start the process; give the function that `Findings.follow` calls, then end the process."""
    mark = uuid.uuid4().hex
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    process: Any = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the one that waits, which ends the other
        env={**os.environ, MARK: mark},
    )
    messages: queue.SimpleQueue = queue.SimpleQueue()

    def read():
        try:
            with process.stdout as stdout, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    messages.put(pickle.load(stdout))
        finally:  # half a message may raise anything: that is printed, and here is the end
            messages.put(None)

    def receive(timeout):
        try:
            message = messages.get(timeout=timeout)
        except queue.Empty:
            raise Late(f"no answer in {timeout:g} seconds") from None
        if message is None:
            raise Lost(ending(process, "its process"))
        return message

    reader = threading.Thread(target=read, daemon=True)
    try:
        reader.start()
        with suppress(OSError), process.stdin as stdin:  # it may have ended: `receive` says so
            pickle.dump(request, stdin)
        yield receive
    finally:
        kill_all(process, mark)
        reader.join(timeout=1)


def serve():
    """Measure what standard input asks for; what kernels print goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def tell(*message):
        pickle.dump(message, out)
        out.flush()

    request = pickle.load(sys.stdin.buffer)
    inputs.NOT_CALLED.update(one.impl for one in request.lost)
    answer(request, tell)


def answer(request, tell):
    """Measure what a Request asks for, and ``tell(kind, ..)`` it as methods of `Findings` say."""
    try:
        with ExitStack() as stack:
            names, threads = request.names, request.threads
            there = measuring.opened(stack, names, threads[0], request.timeout, tell)
            tell("calling", inputs.FASTEST, threads[0])
            inputs.fastest()  # is imported, within a limit, before pools of threads are looked for
            tell("resting")
            tell("opened", _header(there, threads, request.revision))
            limit_to = measuring.limiting()
            if not request.lost:
                tell("limits", list(yardsticks.measure(threads, limit_to, request.quick)))
            setting = measuring.Setting(there, threads, request.quick, limit_to, tell, request.lost)
            for at, kernel in enumerate(request.kernels):
                benches = measuring.chosen_benches(lambda name, topic, k=kernel: name == k)
                for row in measuring.rows(setting, benches, 0 if at else request.first):
                    tell("row", row)
                tell("complete")
    except UserError as error:
        tell("refused", str(error))
    tell("end")


def _header(there, threads, revision):
    packages = [one for one in there if isinstance(one, contestants.Package)]
    builds = {one.name: build_of(one.gnn) for one in packages if build_of(one.gnn)}
    programs = [f"Program {one.name}: {one.said}" for one in there if one not in packages]
    return header(builds, threads, programs, **revision)
