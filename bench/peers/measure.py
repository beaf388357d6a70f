"""Runs the contestants in turns and collects their times, after their answers were compared."""

import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from bench.peers import cases, jobs
from bench.peers.compare import (
    check_batch,
    check_subgraph,
    compare,
    compare_edges,
    compare_sizes,
)
from bench.peers.contestant import Contestant
from bench.peers.environment import PEERS
from bench.peers.protocol import ContestantError, MissingError, in_a_line
from bench.timing import Times, in_turns, summary

PAUSE = 0.25  # seconds for threads of the contestant before to go to sleep: Intel's spin for 0.2
# Seconds of a turn, and its most calls. Cores wake up slowly after a pause: on two threads, steps
# of 5 ms took up to 1.7 times as long in turns of 0.05 s as in turns of 0.3 s.
TURN, CALLS = 0.15, 32
SLOW, LONG = 10, 1.0  # so many times the fastest, and seconds a call: measured once
BFLOAT16 = 0.2  # of an array's norm: how far factors of 8 bits may move gradients
DRAWS = 8  # whose sizes are compared


def measure(plan, pythons, missing):
    """Return everything that `table.render` prints, as a dict.

    Parameters
    ----------
    plan : Plan
    pythons, missing : dict
        As `environment.interpreters` returns them.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = Run(plan, pythons, missing, Path(folder))
        found = {kind: [] for kind in plan.jobs}
        for threads in plan.threads:
            with ExitStack() as stack:
                run.start(threads, stack)
                for kind in ("subgraphs", "neighbours", "products", "steps", "inference"):
                    found[kind] += [run.job(kind, job) for job in plan.jobs[kind]]
        found["memory"] = [run.job("memory", job) for job in plan.jobs["memory"]]
        return {
            **found,
            "rounds": plan.rounds,
            "peers": plan.peers(),
            "versions": run.versions,
            "missing": run.missing,
        }


class Run:
    """The contestants' processes on one number of threads, and where their inputs lie.

    missing : dict
        {peer: reason}, for the whole run; what a peer lacks for one job stands in its result.
    """

    def __init__(self, plan, pythons, missing, folder):
        self.plan, self.folder = plan, folder
        self.pythons = {"ours": sys.executable} | pythons
        self.missing = {who: why for who, why in missing.items() if who in plan.peers()}
        self.threads, self.contestants, self.versions = 1, {}, {}

    def start(self, threads, stack):
        """Start one process each; `stack` ends them. Who cannot is missing from then on."""
        self.threads, self.contestants = threads, {}
        self.contestants["ours"] = stack.enter_context(self.fresh("ours"))
        for who in self.plan.peers():
            if who not in self.missing:
                contestant = stack.enter_context(self.fresh(who))
                try:
                    self.versions[who] = contestant("versions")
                    self.contestants[who] = contestant
                except (MissingError, ContestantError) as error:
                    self.missing[who] = in_a_line(error)

    def fresh(self, who):
        """Return a new process of a contestant."""
        module = "bench.peers.ours" if who == "ours" else PEERS[who].module
        return Contestant(self.pythons[who], module, self.threads)

    def job(self, kind, job):
        """Return what a job's measurement found."""
        name = jobs.name_of(kind, job)
        print(f"{name}, {self.threads} threads", file=sys.stderr, flush=True)
        return {"name": name, "threads": self.threads, **getattr(self, kind)(job)}

    def ready(self, kind, what, *described, leave_out=(), interpreted=False):
        """Have a job prepared in all ways; return {way: who} of those who can, {way: reason}.

        Those in `leave_out` have no such thing; with `interpreted` nothing is compiled.
        """
        tasks, lacking = {}, {}
        for name, (who, arguments) in jobs.WAYS[kind].items():
            if who not in self.contestants or who in leave_out:
                continue
            if interpreted and "compiled" in arguments:
                lacking[name] = "--quick compiles the first"
                continue
            try:
                self.contestants[who]("prepare", name, what, *described, *arguments)
                tasks[name] = who
            except MissingError as error:
                lacking[name] = str(error)
        return tasks, lacking

    def answer(self, name, who):
        """Return a contestant's answer."""
        path = self.folder / "answer.npz"
        self.contestants[who]("check", name, str(path))
        with np.load(path) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def in_turns(self, tasks):
        """Time the tasks of a dict {name: who} in turns, then drop what was prepared.

        A first call of each warms up. Who then takes over `SLOW` times as long as the fastest,
        and over `LONG` seconds, is timed once.
        """
        first = {name: self.turn(name, who)(0)[0] for name, who in tasks.items()}
        fastest = min(first.values())
        slow = [name for name in tasks if first[name] > max(SLOW * fastest, LONG)]
        repeat = {name: int(min(CALLS, max(1, TURN / first[name]))) for name in tasks}
        quick = {name: who for name, who in tasks.items() if name not in slow}
        turns = {name: self.turn(name, who, repeat[name], True) for name, who in quick.items()}
        found = in_turns(turns, self.plan.rounds, warm_up=1)
        found |= {name: [self.turn(name, tasks[name])(0)] for name in slow}
        for contestant in self.contestants.values():
            contestant("drop")
        return {
            "times": {name: summary([wall for wall, _ in found[name]]) for name in tasks},
            "cpu": {name: median(cpu for _, cpu in found[name]) for name in tasks},
            "once": slow,
        }

    def turn(self, name, who, repeat=1, warm=False):
        """Return a task that returns the seconds and CPU seconds of a contestant.

        The first calls after the pause find cores asleep: with `warm` they are not timed.
        """

        def once(_):
            time.sleep(PAUSE)
            if warm:
                self.contestants[who]("run", name, repeat)
            return self.contestants[who]("run", name, repeat)

        return once

    def steps(self, case):
        """Return the times of a step, and of its dense products alone."""
        described = cases.export(case, self.folder / "step.npz")
        products = described["products"]
        interpreted = self.plan.quick and case != self.plan.jobs["steps"][0]
        tasks, lacking = self.ready("steps", "step", described, interpreted=interpreted)
        answers = {name: self.answer(name, who) for name, who in tasks.items()}
        rounded = [answers.pop(name) for name in jobs.IN_BFLOAT16 if name in answers]
        compare(answers)
        for answer in rounded:
            compare({jobs.OURS: answers[jobs.OURS], "bfloat16": answer}, BFLOAT16)
        dense = {"dense, SciPy": "ours", "dense, fastimpl": "ours", "dense, torch": "torch"}
        dense = {name: who for name, who in dense.items() if who in self.contestants}
        for name, who in dense.items():
            more = [name.split()[1]] if who == "ours" else []
            self.contestants[who]("prepare", name, "dense", products, *more)
        return {
            **case._asdict(),
            "e": cases.adjacency(case.model, case.s, case.degree).graph.e,
            **self.in_turns(tasks | dense),
            "lacking": lacking,
            "dense_macs": sum(rows * inner * cols for _, _, rows, inner, cols in products),
        }

    def inference(self, case):
        """Return the times of the exact pass over all nodes of a graph."""
        described = cases.export_pass(case, self.folder / "pass.npz")
        tasks, lacking = self.ready("inference", "inference", described)
        compare({name: self.answer(name, who) for name, who in tasks.items()})
        return {**described, **self.in_turns(tasks), "lacking": lacking}

    def products(self, job):
        """Return the times of one sparse x dense product, and the bandwidth of a triad."""
        described = cases.export_product(*job, self.folder / "product.npz")
        tasks, lacking = self.ready("products", "product", described)
        compare({name: self.answer(name, who) for name, who in tasks.items()})
        return {
            **described,
            **self.in_turns(tasks),
            "lacking": lacking,
            "triad": self.contestants["ours"]("triad", self.plan.rounds),
        }

    def subgraphs(self, job):
        """Return the times of subgraphs, and their mean numbers of nodes and entries."""
        title, graph, path = jobs.export_graph(job.number, job.shrink, self.folder)
        described = [str(path), job.kind, job.options()]
        self.contestants["ours"]("prepare", "first", "subgraphs", *described, 0, 1)
        budget = int(np.mean([len(self.answer("first", "ours")["nodes"]) for _ in range(DRAWS)]))
        without, large = jobs.WITHOUT.get(job.kind, ()), {}
        if graph.n > jobs.FEW and "littleballoffur" in self.contestants.keys() - set(without):
            without = (*without, "littleballoffur")
            large["littleballoffur"] = f"left out above {jobs.FEW:,} nodes"
        tasks, lacking = self.ready("subgraphs", "subgraphs", *described, budget, leave_out=without)
        alike, sizes = jobs.alike(job.kind, graph), {}
        for name, who in tasks.items():
            draws = DRAWS if who in alike else 1
            drawn = [self.answer(name, who) for _ in range(draws)]
            check_subgraph(graph, drawn[0], name, induced=(who, job.kind) not in jobs.NOT_INDUCED)
            sizes[name] = [(len(one["nodes"]), len(one["rows"])) for one in drawn]
        compare_sizes({name: sizes[name] for name, who in tasks.items() if who in alike})
        return {
            "graph": title,
            "sampler": job.kind,
            "sizes": {name: np.mean(of, axis=0).tolist() for name, of in sizes.items()},
            **per_sample(self.in_turns(tasks), "subgraphs"),
            "lacking": lacking | large,
        }

    def neighbours(self, job):
        """Return the times of a batch of neighbours, and its distinct edges."""
        graph, path = jobs.export_batches(job, self.folder)
        described = [str(path), job.fanouts]
        tasks, lacking = self.ready("neighbours", "batches", *described)
        edges = {
            name: check_batch(graph, self.answer(name, who), name, job.fanouts[0])
            for name, who in tasks.items()
        }
        compare_edges(edges)
        return {
            **job._asdict(),
            "e": graph.e,
            "edges": edges,
            **per_sample(self.in_turns(tasks), "neighbours"),
            "lacking": lacking,
        }

    def memory(self, case):
        """Return by how many bytes a step's memory grows in fresh processes, beyond its inputs.

        A tiny step comes first: what libraries load on first use is no part of a step.
        """
        small = next(one for one in cases.TINY if one.model == case.model)
        described = [
            cases.export(one, self.folder / f"{name}.npz")
            for name, one in (("small", small), ("step", case))
        ]
        growth, lacking = {}, {}
        for name, (who, arguments) in jobs.WEIGHED.items():
            if who not in self.contestants:
                continue
            with self.fresh(who) as contestant:
                try:
                    for one in described:
                        contestant("prepare", "step", "step", one, *arguments)
                        peak = contestant("peak", "step")
                    growth[name] = peak  # of the second
                except MissingError as error:
                    lacking[name] = str(error)
        return {**case._asdict(), "bytes": growth, "lacking": lacking}


def per_sample(found, kind):
    """Return what `Run.in_turns` found, of one sample instead of one call."""
    times, cpu = found["times"], found["cpu"]
    for name, (_, arguments) in jobs.WAYS[kind].items():
        if name in times:
            calls = jobs.samples_a_call(arguments)
            times[name] = Times(*(seconds / calls for seconds in times[name]))
            cpu[name] /= calls
    return found
