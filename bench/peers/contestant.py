"""The side that asks: a supervised process of a contestant, see `refimpl.lab.apps.worker`."""

import os
import sys

from bench.peers.protocol import ROOT, ContestantError, MissingError
from refimpl.lab.apps.worker import Clock, Lost, NotAsked, Worker

PATIENCE = 1800.0  # seconds for an answer: whoever takes longer hangs
POOLS = "OMP", "OPENBLAS", "MKL"
SETTINGS = tuple(f"{name}_" for name in (*POOLS, "GOMP", "KMP", "TORCH"))  # of thread pools


class Contestant:
    """A process that does what it is asked, on a fixed number of threads.

    Parameters
    ----------
    python : str
        Interpreter.
    module : str
        Its main module, which calls `bench.peers.protocol.serve`.
    threads : int
        For OpenMP and BLAS alike, set before anything is loaded.
    """

    def __init__(self, python, module, threads):
        env = {name: None for name in os.environ if name.startswith(SETTINGS)}
        env |= {f"{pool}_NUM_THREADS": str(threads) for pool in POOLS}
        inherited = os.environ.get("PYTHONPATH") if python == sys.executable else None
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), inherited]))
        self.module = module
        self.worker = Worker([python, "-m", module], Clock(PATIENCE), env=env, cwd=ROOT)

    def __call__(self, name, *arguments):
        """Ask for `name`; return the answer.

        Raises
        ------
        MissingError
            If it has not what that needs: a library, or a layer of that kind.
        ContestantError
            If it fails otherwise, hangs, or the process has ended.
        """
        try:
            answer = self.worker.ask({"request": [name, *arguments]})
        except (Lost, NotAsked) as error:
            raise ContestantError(f"{self.module}: {error}") from error
        if "missing" in answer:
            raise MissingError(answer["missing"])
        if "error" in answer:
            raise ContestantError(answer["error"])
        return answer["result"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.worker.close()
