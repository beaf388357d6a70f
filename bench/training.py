"""The benchmarks that train, in one place: settings, data, trainers, stacks."""

from time import perf_counter

from refimpl import load_dataset
from refimpl.lab.data.communities import communities
from refimpl.lab.training.config import config_from
from refimpl.lab.training.stack import Stack


def settings(method, *, model="sage", model_options=None, **options):
    """Return a `TrainConfig`."""
    return config_from({"method": method, "model": model, **(model_options or {}), **options})


def data_set(name="communities", nodes=None):
    """Return a data set by name or folder, or `communities` of another size."""
    return communities(0, nodes=nodes) if nodes else load_dataset(name)


def layers_of(package, config, width, classes):
    """Return the layers that training would build over a package."""
    return Stack(package, config, width, classes, multilabel=False)


def epochs(trainer, count, spent=lambda: 0):
    """Train on; return for each epoch its rows, its seconds and what it spent.

    Parameters
    ----------
    trainer : from `fastimpl.make_trainer`, of a method that loads rows
    count : int
    spent : callable
        Returns a number that rises, such as bytes read.
    """
    found = []
    for _ in range(count):
        before, begin = spent(), perf_counter()
        trainer.epoch()
        seconds, load = perf_counter() - begin, trainer.state.loads[-1]
        found.append(
            {
                "seconds": seconds,
                "spent": spent() - before,
                "rows": load["loaded"],
                "needed": load["inputs"],
            }
        )
    return found
