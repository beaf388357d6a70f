"""Runs the contestants in turns and collects their times, after their answers were compared."""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.peers import cases
from bench.peers.protocol import Contestant
from bench.timing import in_turns, summary

PAUSE = 0.05  # seconds for threads of the contestant before to go to sleep
WAYS_OURS = ("fastimpl", "SciPy")
WAYS_THEIRS = (
    "MKL",
    "MKL, 32-bit indices",
    "MKL, 32-bit indices, into a kept buffer",
    "MKL, columns of X contiguous",
    "reducing kernel",
)
MODULES = {
    "ours": "bench.peers.ours",
    "torch": "bench.peers.theirs",
    "PyG": "bench.peers.theirs",
}
CLOSE = 5e-3  # of an array's norm: in float32 a ReLU near 0 may fall on either side


class Plan:
    """What a run measures.

    steps, memory : lists of Case, to be timed and to be weighed
    products : list of (s, degree, width)
    threads : list of int
    rounds : int
    """

    def __init__(self, threads, rounds, quick=False, matching=""):
        self.threads, self.rounds = threads, rounds
        self.small = cases.TINY
        steps = cases.TINY if quick else cases.FULL
        self.steps = [case for case in steps if matching in step_name(case)]
        products = [(100, 6, 24)] if quick else [(8000, 15, 512), (8000, 60, 512)]
        self.products = [one for one in products if matching in product_name(*one)]
        self.memory = self.steps[:1] if quick else self.steps


def step_name(case):
    return f"step {case.model} degree {case.degree} hidden {case.hidden}"


def product_name(s, degree, width):
    return f"product degree {degree} width {width}"


def measure(plan, python):
    """Return everything that `table.render` prints, as a dict."""
    result = {"steps": [], "products": [], "memory": [], "rounds": plan.rounds}
    with tempfile.TemporaryDirectory() as folder:
        run = Run(plan, python, Path(folder))
        for threads in plan.threads:
            with ExitStack() as stack:
                run.start(threads, stack)
                result["versions"] = run.contestants["torch"]("versions")
                result["products"] += [run.product(*one) for one in plan.products]
                result["steps"] += [run.step(case) for case in plan.steps]
        result["memory"] = [run.memory(case) for case in plan.memory]
    return result


class Run:
    """The contestants' processes on one number of threads, and where their inputs lie."""

    def __init__(self, plan, python, folder):
        self.plan, self.folder = plan, folder
        self.pythons = {"ours": sys.executable, "torch": python, "PyG": python}
        self.threads, self.contestants = 1, {}

    def start(self, threads, stack):
        """Start one process each; `stack` ends them."""
        self.threads = threads
        self.contestants = {who: stack.enter_context(self.fresh(who)) for who in MODULES}

    def fresh(self, who):
        """Return a new process of a contestant."""
        return Contestant(self.pythons[who], MODULES[who], self.threads)

    def compare(self, tasks, rtol=CLOSE):
        """Check that every task of a dict {name: contestant} has the same answer as the first.

        Arrays are compared by the norm of their difference, tiny ones beside the largest.

        Raises
        ------
        AssertionError
            If one differs.
        """
        path, answers = self.folder / "answer.npz", {}
        for name, who in tasks.items():
            self.contestants[who]("check", name, str(path))
            with np.load(path) as arrays:
                answers[name] = {key: arrays[key].astype(np.float64) for key in arrays.files}
        first, *others = answers
        want = answers[first]
        least = 1e-3 * max(np.linalg.norm(array) for array in want.values())
        for name in others:
            assert answers[name].keys() == want.keys(), (first, name)
            for key, array in want.items():
                error = np.linalg.norm(answers[name][key] - array)
                size = max(np.linalg.norm(array), least)
                assert error <= rtol * size, f"{key} of {name}: {error / size} from {first}"

    def in_turns(self, tasks):
        """Time the tasks of a dict {name: contestant} in turns, then drop what was prepared."""
        found = in_turns(
            {name: self.turn(name, who) for name, who in tasks.items()},
            self.plan.rounds,
            warm_up=1,
        )
        for contestant in self.contestants.values():
            contestant("drop")
        return {name: summary(seconds) for name, seconds in found.items()}

    def turn(self, name, who):
        """Return a task that returns the seconds of a contestant."""

        def once(_):
            time.sleep(PAUSE)
            return self.contestants[who]("run", name)

        return once

    def step(self, case):
        """Return the times of a step, and of its dense products alone."""
        note(f"{step_name(case)}, {self.threads} threads")
        described = cases.export(case, self.folder / "step.npz")
        products = described["products"]
        ours, torch, pyg = self.contestants.values()
        ours("prepare", "ours", "step", described)
        torch("prepare", "torch", "step", described, "torch")
        pyg("prepare", "PyG", "step", described, "PyG")
        steps = {who: who for who in MODULES}
        self.compare(steps)
        ours("prepare", "dense, SciPy", "dense", products, "SciPy")
        ours("prepare", "dense, fastimpl", "dense", products, "fastimpl")
        torch("prepare", "dense, torch", "dense", products)
        dense = {
            "dense, SciPy": "ours",
            "dense, fastimpl": "ours",
            "dense, torch": "torch",
        }
        return {
            **case._asdict(),
            "e": cases.adjacency(case.model, case.s, case.degree).graph.e,
            "threads": self.threads,
            "times": self.in_turns(steps | dense),
            "dense_macs": sum(rows * inner * cols for _, _, rows, inner, cols in products),
        }

    def product(self, s, degree, width):
        """Return the times of one sparse x dense product, and the bandwidth of a triad."""
        note(f"{product_name(s, degree, width)}, {self.threads} threads")
        described = cases.export_product(s, degree, width, self.folder / "product.npz")
        tasks = dict.fromkeys(WAYS_OURS, "ours") | dict.fromkeys(WAYS_THEIRS, "torch")
        for name, who in tasks.items():
            self.contestants[who]("prepare", name, "product", described, name)
        self.compare(tasks)
        return {
            **described,
            "threads": self.threads,
            "times": self.in_turns(tasks),
            "triad": self.contestants["ours"]("triad", self.plan.rounds),
        }

    def memory(self, case):
        """Return by how many bytes a step's memory grows in fresh processes, beyond its inputs.

        A tiny step comes first: what libraries load on first use is no part of a step.
        """
        note(f"memory, {step_name(case)}")
        small = next(one for one in self.plan.small if one.model == case.model)
        described = [
            cases.export(one, self.folder / f"{name}.npz")
            for name, one in (("small", small), ("step", case))
        ]
        growth = {}
        for who in MODULES:
            more = [] if who == "ours" else [who]
            with self.fresh(who) as contestant:
                for one in described:
                    contestant("prepare", "step", "step", one, *more)
                    growth[who] = contestant("peak", "step")  # the second one stays
        return {**case._asdict(), "threads": self.threads, "bytes": growth}


def note(text):
    """Say how far the run is."""
    print(text, file=sys.stderr, flush=True)
