"""Which trainer a method has, and the training loop that all of them share."""

from refimpl.lab.training.fresh import FreshTrainer
from refimpl.lab.training.gas import GasTrainer
from refimpl.lab.training.graphfm import GraphFmTrainer
from refimpl.lab.training.trainer import Trainer
from refimpl.lab.training.vrgcn import VrGcnTrainer

TRAINERS: dict[str | None, type[Trainer]] = {  # all others: Trainer
    "fresh": FreshTrainer,
    "neighbor": FreshTrainer,
    "gas": GasTrainer,
    "graphfm": GraphFmTrainer,
    "vrgcn": VrGcnTrainer,
}


def make_trainer(gnn, dataset, config, state=None, *, features=None):
    """Return one run over an implementation, to be taken an iteration or an epoch at a time.

    JPDC'21 Algorithm 1, or VLDB'24 Algorithm 1, opened up.
    Its methods are ``step()``, ``epoch()``, ``scores(weights, *parts)``, ``result()`` and
    ``close()``; a ``with`` block closes it as well.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
        Its dtype is the dtype of the run.
    config : TrainConfig
    state : TrainState, optional
        Where to go on, and what then changes in place; default: the start.
    features : (n, f) float16, float32 or float64 array, optional
        For methods "fresh" and "neighbor": where training reads features, see `FreshTrainer`.

    Returns
    -------
    Trainer or FreshTrainer
        By ``config.method``.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind, or does not fit another.
    """
    kind = TRAINERS.get(getattr(config, "method", None), Trainer)
    if features is None:
        return kind(gnn, dataset, config, state)
    if not issubclass(kind, FreshTrainer):
        raise ValueError(f'features must be None where method is "{config.method}"')
    return kind(gnn, dataset, config, state, features)


def train(gnn, dataset, config, *, state=None, after_epoch=None, features=None):
    """Train a model by minibatches; return the weights that do best on validation nodes.

    JPDC'21 Algorithm 8, of which ``# n`` marks line n; see `Trainer` for an iteration
    (`FreshTrainer` for methods "fresh" and "neighbor") and `SubgraphPool` for the pool. The result
    does not depend on the number of threads, nor on ``config.pool``, ``config.background`` and
    ``config.workers``.

    Parameters
    ----------
    gnn : module
        refimpl or fastimpl.
    dataset : Dataset
    config : TrainConfig
    state : TrainState, optional
        Where to go on, from ``TrainResult.state`` or a checkpoint; it changes in place.
    after_epoch : callable, optional
        Called with the TrainState after each epoch.
    features : (n, f) float16, float32 or float64 array, optional
        As for `make_trainer`.

    Returns
    -------
    TrainResult

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind or does not fit another.
    """
    with make_trainer(gnn, dataset, config, state, features=features) as trainer:
        while len(trainer.state.history) < config.epochs:  # 2 J1:2 E-F8
            trainer.epoch()
            if after_epoch is not None:
                after_epoch(trainer.state)
        return trainer.result()  # 15 J1:17
