"""Why the pool of subgraphs does what it does."""

from refimpl.lab.apps.stepper.reasons.samplers import SUBGRAPH
from refimpl.lab.apps.stepper.whys import Table, counted, listed

POOL: Table = {
    "train": {
        "while not": lambda trainer, config, taken: (
            f"{len(trainer.state.history)} of {config.epochs} epochs are done"
            + ("" if taken else ": the end")
        ),
        "return trainer": lambda trainer: f"the weights after {trainer.state.iterations} steps",
    },
    "SageLayer.__init__": {
        "self.order": lambda self, f_in, h_neigh: (
            f"{f_in} columns become {h_neigh}: "
            + ("A X first, then W" if self.order.forward == 1 else "X W first, then A")
        ),
    },
    "Pool.__init__": {"self.waiting": lambda: "the pool is empty"},
    "Pool.__next__": {
        "if not self.waiting": lambda self, taken: (
            "the pool is empty: it is filled" if taken else f"{len(self.waiting)} wait: no refill"
        ),
        "drawn =": lambda drawn: f"{counted(len(drawn), 'subgraph')} drawn",
        "self.waiting.extend": lambda self: f"{len(self.waiting)} wait in the pool",
        "self.next_q": lambda self: f"the next refill begins with subgraph {self.next_q}",
        "return self.waiting": lambda self: (
            f"subgraph {self.next_q - len(self.waiting) - 1}, the first in, is the first out"
        ),
    },
    "sample_many": {
        "for q in": lambda q, first, count, taken: (
            f"subgraph {q}, one of {count} that processors could draw at the same time"
            if taken
            else ""
        ),
        "subgraphs.append": lambda q, subgraphs: (
            f"subgraph {q}: nodes {listed(subgraphs[-1].nodes)}"
        ),
    },
    "sample_one": {
        **SUBGRAPH["sample_one"],
        "sample = kernel": lambda sample: f"sampled: nodes {listed(sample.nodes)}",
    },
    "graph_iteration": {
        "sub =": lambda sub: f"this step trains on nodes {listed(sub.nodes)}",
        "for l in range(1": lambda l, taken: f"layer {l}" if taken else "",
        "logits =": lambda logits: f"forward: logits of {counted(len(logits), 'node')}",
        "loss, G": lambda loss: f"their mean loss is {loss:.4f}",
        "G = model": lambda model: (
            f"backward: gradients of {counted(len(model.gradients), 'array')} of weights"
        ),
        "move_weights": lambda adam: f"Adam's step {adam.t} moves all weights",
    },
}
