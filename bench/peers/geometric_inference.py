"""The exact pass over a whole graph by torch_geometric's models, at once or layer by layer."""

import torch
from torch_geometric import typing
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn.models import GAT, GCN, GraphSAGE

from bench.peers.protocol import MissingError
from bench.peers.steps import arrays

BATCH = 1024  # nodes
MODELS = {
    "sage": (GraphSAGE, {}),
    "gcn": (GCN, {"normalize": False}),
    "gat": (GAT, {"add_self_loops": False}),
}
NAMES = {  # ours, by theirs: in each layer
    "sage": {"lin_l.weight": "W_neigh", "lin_l.bias": "b", "lin_r.weight": "W_self"},
    "gcn": {"lin.weight": "W", "bias": "b"},
    "gat": {"lin.weight": "W", "att_dst": "a_recv", "att_src": "a_send", "bias": "b"},
}


class Inference:
    """Two layers of a model, the last of which gives the logits.

    The adjacency is as for steps: a sparse matrix, normalised beforehand, and edges for attention.
    """

    def __init__(self, case, way, adjacency):
        held, model = arrays(case), case["model"]
        make, options = MODELS[model]
        self.model = make(case["f"], case["hidden"], 2, case["classes"], **options).eval()
        with torch.no_grad():
            for place, layer in zip(("layer1", "layer2"), self.model.convs, strict=True):
                for name, W in layer.named_parameters():
                    array = torch.from_numpy(held[f"{place}.{NAMES[model][name]}"])
                    W.copy_(array.T if name.endswith("weight") else array.reshape(W.shape))
        self.X, self.logits = torch.from_numpy(held["X"]), None
        if way == "layer by layer":
            self.call = self.layer_by_layer(model, held)
        else:
            A = adjacency(model, held)
            self.call = lambda: self.model(self.X, A)

    def layer_by_layer(self, model, held):
        """Return a call of the model's `inference`."""
        if model == "gcn":
            raise MissingError("`inference` knows no weights of edges")
        if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
            raise MissingError("NeighborLoader needs torch-sparse or pyg-lib")
        offsets, senders = (torch.from_numpy(held[name]) for name in ("indptr", "indices"))
        receivers = torch.repeat_interleave(torch.arange(len(self.X)), offsets.diff())
        data = Data(x=self.X, edge_index=torch.stack([senders.long(), receivers]))
        loader = NeighborLoader(data, [-1], batch_size=BATCH, is_sorted=True)
        return lambda: self.model.inference(loader)

    @torch.no_grad()
    def __call__(self):
        self.logits = None  # its memory may be used again
        self.logits = self.call()

    def answer(self):
        """Return the logits."""
        self()
        return {"logits": self.logits.numpy()}
