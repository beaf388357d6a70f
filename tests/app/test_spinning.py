"""OpenMP's threads spin on an idle machine, and soon sleep on a busy one."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest
from fastimpl._build import max_threads
from fastimpl._forks import has_gcc_runtime, outnumber_cores

from fastimpl import _spinning

pytestmark = pytest.mark.runs

needs_gcc = pytest.mark.skipif(not has_gcc_runtime, reason="GCC's OpenMP alone can be told so")
CORES = len(os.sched_getaffinity(0)) if has_gcc_runtime else 1
MOST = _spinning.BUSY + _spinning.MORE * max_threads()
POLICIES = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"


class Machine:
    """A machine whose clock and count of pushed threads a test sets; it notes the teams."""

    def __init__(self):
        self.time = self.count = 0
        self.made = self.ended = 0
        self.spinning = _spinning.Spinning(lambda: self.time, lambda: self.count, self.team)

    def team(self):
        self.made += 1
        return self

    def end(self):
        self.ended += 1

    def pass_by(self, seconds, a_second):
        """Let a time pass, in which threads are pushed from a core so often; then look."""
        self.time += seconds
        self.count += a_second * seconds
        self.spinning.look()
        return self.made, self.ended


def test_a_team_is_made_on_a_busy_machine_and_ended_on_an_idle_one():
    machine = Machine()
    assert machine.pass_by(0.2, MOST) == (0, 0)
    assert machine.pass_by(0.2, MOST + 10) == (1, 0)
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)
    for _ in range(_spinning.CALM - 1):
        assert machine.pass_by(0.2, 50) == (1, 0)
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)  # begins to count anew
    for _ in range(_spinning.CALM - 1):
        assert machine.pass_by(0.2, 50) == (1, 0)
    assert machine.pass_by(0.2, 50) == (1, 1)
    assert machine.pass_by(0.2, 50) == (1, 1)
    assert machine.pass_by(0.2, 2 * MOST) == (2, 1)


def test_a_look_right_after_another_does_not_count():
    machine = Machine()
    for _ in range(9):
        assert machine.pass_by(_spinning.EVERY / 10, 2 * MOST) == (0, 0)
    assert machine.pass_by(_spinning.EVERY / 5, 2 * MOST) == (1, 0)


def test_a_time_without_kernels_is_one_look():
    machine = Machine()
    machine.pass_by(0.2, 2 * MOST)
    assert machine.pass_by(3600, 10) == (1, 0)


def test_a_machine_without_threads_left_ends_nothing():
    machine = Machine()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine.spinning, "_make", no_thread)
        assert machine.pass_by(0.2, 2 * MOST) == (0, 0)
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)


def test_a_look_that_another_thread_overtakes_changes_nothing():
    machine = Machine()

    class Late:
        """A lock that this thread gets only after another thread has looked."""

        def acquire(self, blocking):
            machine.spinning._lock = threading.Lock()
            machine.spinning.look()
            machine.spinning._lock = self
            return True

        def release(self):
            pass

    machine.spinning._lock = Late()
    assert machine.pass_by(3600, 10) == (0, 0)
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)


def test_a_child_looks_though_another_thread_looked_when_it_was_made():
    machine = Machine()
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)
    machine.spinning._lock.acquire()
    machine.count = 0  # a child has its own
    machine.spinning.begin()
    assert machine.pass_by(0.2, 2 * MOST) == (2, 0)


def test_an_interpreter_that_ends_has_no_team_and_makes_none():
    machine = Machine()
    assert machine.pass_by(0.2, 2 * MOST) == (1, 0)
    machine.spinning.stop()
    assert (machine.made, machine.ended) == (1, 1)
    assert machine.pass_by(0.2, 2 * MOST) == (1, 1)


@needs_gcc
@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_team_asks_for_its_threads_first(most, monkeypatch):
    begun, made, start = [], [], threading.Thread.start

    def limited(thread):
        if len(begun) == most:
            no_thread()
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    monkeypatch.setattr(_spinning, "outnumber_cores", made.append)
    with pytest.raises(RuntimeError):
        _spinning.Team()
    assert len(begun) == most and not made
    assert not any(thread.is_alive() for thread in begun)


def no_thread():
    """Fail as `Thread.start` does where the system has no thread left."""
    raise RuntimeError("can't start new thread")


@needs_gcc
@pytest.mark.parametrize("others", [1, 2, CORES, CORES + 3])
def test_two_teams_have_more_threads_than_the_process_has_cores(others):
    found = []
    thread = threading.Thread(target=lambda: found.append(outnumber_cores(others)))
    thread.start()
    thread.join()
    assert found == [max(CORES + 2 - others, 2)]


def printed(code, **variables):
    """Return what Python code prints, where only these variables decide how long threads spin."""
    clean = {name: value for name, value in os.environ.items() if name not in POLICIES}
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return run.stdout.split()


@needs_gcc
def test_threads_of_a_team_end_with_it():
    assert printed("""
        import os
        from time import monotonic, sleep
        from fastimpl._build import max_threads
        from fastimpl._spinning import Team

        def seen(threads):
            limit = monotonic() + 30
            while len(os.listdir("/proc/self/task")) != threads and monotonic() < limit:
                sleep(0.01)
            return len(os.listdir("/proc/self/task")) == threads

        before, cores = len(os.listdir("/proc/self/task")), len(os.sched_getaffinity(0))
        team = Team()
        print(seen(before + max(cores + 2 - max_threads(), 2)))
        team.end()
        print(seen(before))
    """) == ["True", "True"]


@needs_gcc
def test_one_thread_has_no_team():
    found = """
        from fastimpl import _spinning
        team = _spinning._team()
        print(team is None)
    """
    assert printed(found, OMP_NUM_THREADS="1") == ["True"]
    assert printed(found, OMP_NUM_THREADS=str(CORES)) == [str(CORES == 1)]


@pytest.mark.parametrize("threads, beside, made", [(2, 4, True), (2, 5, False), (16, 2, True)])
def test_few_threads_on_many_cores_have_no_team(threads, beside, made, monkeypatch):
    monkeypatch.setattr(_spinning, "max_threads", lambda: threads)
    monkeypatch.setattr(_spinning, "team_beside", lambda team: beside)
    monkeypatch.setattr(_spinning, "Team", object)
    assert (_spinning._team() is not None) == made


@needs_gcc
@pytest.mark.parametrize("busy", [0, 10**9])
def test_a_finalizer_may_look_while_the_interpreter_ends(busy):
    assert printed(f"""
        from fastimpl import _spinning
        one = _spinning._spinning
        one._team = None if {busy} else _spinning.Team()

        class Last:
            def __del__(self):
                one._time, one._calm, one._pushed = one._time - 1, 99, lambda: {busy}
                one.look()
                print("ended", flush=True)

        last = Last()
    """) == ["ended"]


ACTS = """
    import os
    import fastimpl
    from fastimpl import _spinning
    print(os.environ.get("GOMP_SPINCOUNT"), hasattr(_spinning, "_spinning"))
"""


@needs_gcc
def test_it_acts_by_default():
    assert printed(ACTS) == ["10000", "True"]


@pytest.mark.parametrize("name, value", [("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "77")])
def test_users_decide(name, value):
    assert printed(ACTS, **{name: value}) == ["77" if value == "77" else "None", "False"]


@needs_gcc
def test_chains_of_kernels_look_and_a_fork_ends_the_team():
    found = """
        import os
        import numpy as np
        import fastimpl
        from fastimpl import _spinning
        from fastimpl._chain import chained
        one = _spinning._spinning
        one._time, one._pushed = one._time - 1, lambda: 10**9
        X, path = np.ones((3, 2)), fastimpl.Graph([0, 1, 3, 4], [1, 0, 2, 1])
        ones = np.ones(4)
        with chained():
            pass
        Z = fastimpl.spmm(path, ones, X)
        print(one._team is not None, flush=True)
        child = os.fork()
        if child == 0:
            print(np.array_equal(fastimpl.spmm(path, ones, X), Z), one._team is None, flush=True)
            os._exit(0)
        print(os.waitpid(child, 0)[1], one._team is None)
    """
    threads = str(max(CORES, 2))
    assert printed(found, OMP_NUM_THREADS=threads) == ["True", "True", "True", "0", "True"]
