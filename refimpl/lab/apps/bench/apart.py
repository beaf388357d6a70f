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

from refimpl.lab.apps.bench import contestants, measuring, yardsticks
from refimpl.lab.apps.bench.header import header
from refimpl.lab.apps.bench.measuring import Loss
from refimpl.lab.apps.conformance.program import Lost, ending, kill_all
from refimpl.lab.apps.errors import UserError
from refimpl.lab.apps.info import build_of

MARK = "MINIBATCH_GNN_BENCH"  # in the environment of the process and of whatever it starts


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
        Seconds of a call.
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
        self._all = len(request.kernels)

    def follow(self, receive):
        """Read messages to their end; return whether that is the end of all.

        If not, `request` is what remains. ``receive(timeout)`` returns the next message; it raises
        `Lost` where there is none.
        """
        self._calling = None
        while True:
            try:
                kind, *what = receive(self._calling and self.request.timeout)
            except Lost as error:
                self._leave_out(error)
                return False
            if kind == "end":
                return True
            getattr(self, f"_on_{kind}")(*what)

    def _leave_out(self, error):
        if self._calling is None:
            raise UserError(f"measuring cannot go on: {error}")
        impl, threads = self._calling
        if self.header is None:
            raise UserError(f"--impl {impl} cannot be imported: {error}")
        loss = Loss(impl, threads, self.request.kernels[0], self.request.first, str(error))
        self.request = self.request._replace(lost=(*self.request.lost, loss))

    def _on_refused(self, text):
        raise UserError(text)

    def _on_opened(self, lines):
        if self.header is None:
            self.ready()
        self.header, self._calling = lines, None

    def _on_limits(self, found):
        self.limits = found
        self.show(0.1)

    def _on_calling(self, impl, threads):
        self._calling = impl, threads

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
        If a contestant cannot be loaded.
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
        with process.stdout as stdout, suppress(EOFError, pickle.UnpicklingError):
            while True:
                messages.put(pickle.load(stdout))
        messages.put(None)

    def receive(timeout):
        try:
            message = messages.get(timeout=timeout)
        except queue.Empty:
            raise Lost(f"no answer in {timeout:g} seconds") from None
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

    answer(pickle.load(sys.stdin.buffer), tell)


def answer(request, tell):
    """Measure what a Request asks for, and ``tell(kind, ..)`` it as methods of `Findings` say."""
    try:
        with ExitStack() as stack:
            names, threads = request.names, request.threads
            there = measuring.opened(stack, names, threads[0], request.timeout, tell)
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
