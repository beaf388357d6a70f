"""What the tests of the papers' figures run them with."""

import fastimpl
from bench.figures import experiment
from bench.figures.experiment import Lab


def experiment_of(module):
    """Return the experiment whose code a module has."""
    name = module.__name__.rpartition(".")[2]
    (id,) = (id for id, about in experiment.ABOUT.items() if about["module"] == name)
    return experiment.load(id)


def lab_of(figure, *, threads=2, seeds=1, data=None, **sizes):
    """Return a Lab of the quick sizes of a figure, some of them changed."""
    chosen = {**figure.full, **figure.quick, **sizes}
    data = figure.data and (data or figure.data)
    return Lab(fastimpl, chosen, data, seeds, threads, quick=True)


def rows_of(figure, lab):
    """Return all rows, as a run of the command has them."""
    return [{**cell, **row} for cell in figure.cells(lab) for row in figure.measure(lab, cell)]


def outcomes(verdicts):
    """Return the outcome of each claim."""
    return {verdict.claim: verdict.outcome for verdict in verdicts}
