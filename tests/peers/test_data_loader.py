"""PyTorch's DataLoader with kernels in its workers, forked after kernels have run."""

import multiprocessing

import numpy as np
import pytest
from comparison import threads
from strategies import distinct, power_law_graph

pytestmark = pytest.mark.runs

torch = pytest.importorskip("torch", reason="torch is not installed")

LONG = 120  # seconds, for what takes one
GRAPH = power_law_graph(2000)
DATA, X = distinct(GRAPH.e, np.float32), distinct((2000, 32), np.float32, 1)
METHODS = [m for m in ("fork", "spawn") if m in multiprocessing.get_all_start_methods()]


class Batches(torch.utils.data.Dataset):
    """Features of the nodes around some roots, averaged over neighbours: two kernels an item."""

    def __init__(self, gnn):
        self.name = gnn.__name__

    def __len__(self):
        return 12

    def __getitem__(self, i):
        gnn = __import__(self.name)
        roots = np.arange(i, 2000, 12, dtype=np.int32)
        mfg = gnn.sample_mfg(GRAPH, roots, (5,), seed=1, epoch=0, batch=i)
        return torch.from_numpy(gnn.spmm(GRAPH, DATA, X)[mfg.nodes[0]])


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more than it suggests
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_workers_run_kernels_and_change_no_bit(gnn, method, workers):
    items = Batches(gnn)
    with threads(3):
        want = [items[i].numpy().tobytes() for i in range(len(items))]
        loader = torch.utils.data.DataLoader(
            items,
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=method,
            timeout=LONG,
        )
        assert [batch.numpy().tobytes() for batch in loader] == want
        assert items[3].numpy().tobytes() == want[3]
