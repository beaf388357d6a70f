"""The benchmarks that train, in one place: data and stacks."""

from refimpl import load_dataset
from refimpl.lab.data.communities import communities
from refimpl.lab.training.stack import Stack


def data_set(name="communities", nodes=None):
    """Return a data set by name or folder, or `communities` of another size."""
    return communities(0, nodes=nodes) if nodes else load_dataset(name)


def layers_of(package, config, width, classes):
    """Return the layers that training would build over a package."""
    return Stack(package, config, width, classes, multilabel=False)
