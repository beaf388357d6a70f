"""Rows and pages that an epoch reads: packed or not, evicted by Belady's rule or by SIEVE.

A Kronecker graph of `bench.kronecker` is converted twice, with and without ``--pack``. Training
reads features through a look-ahead cache. Counts are those of `LookaheadFeatures`; a page is 4 KiB,
and no time is measured. Weights must be the same in all rows of a method. The last of the epochs
is counted.
"""

import tempfile
import warnings
from pathlib import Path

import fastimpl
from bench.figures.training import settings
from bench.kronecker import write_kronecker
from bench.markdown import table
from bench.peers.protocol import ContestantError
from refimpl.lab.data.convert import convert
from refimpl.loader.direct_reads import PAGE

EPOCHS = 2
METHODS = {"neighbor": {}, "fresh": {"p_grad": 0.9, "t_stale": 50, "hotness": "none"}}


def report(scale, fanouts, batch, memory):
    """Convert and train; yield the table."""
    with tempfile.TemporaryDirectory() as name:
        raw = Path(name, "raw")
        write_kronecker(raw, scale=scale, classes=16)
        folders = {packed: Path(name, packed) for packed in ("unpacked", "packed")}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "ignored .* self-loops")
            for packed, folder in folders.items():
                convert(raw, folder, feature_dtype="float16", pack=packed == "packed")
        rows, capacity = [], 0
        for method, more in METHODS.items():
            options = {"fanouts": fanouts, "layers": len(fanouts), "batch_size": batch}
            options |= {"hidden": 8, "epochs": EPOCHS, **more}
            first = None
            for evict in ("belady", "sieve"):
                for packed, folder in folders.items():
                    found, weights, capacity = counted(folder, method, options, evict, memory)
                    first = first or (found, weights)
                    if not all((weights[name] == first[1][name]).all() for name in weights):
                        raise ContestantError(f"{method}: the weights of two rows differ")
                    rows.append(cells(method, packed, evict, found, first[0]))
        n, width = fastimpl.load_dataset(folders["packed"]).features.shape
    yield f"{n} nodes, {width} features of float16, {PAGE // (2 * width)} rows a page;"
    yield f"the cache holds {capacity} rows ({capacity / n:.0%}). Epoch {EPOCHS} is counted."
    yield ""
    yield from table(TITLES, rows)


TITLES = ["method", "folder", "evicts by", "rows read", "pages read", "rows a page", "pages, share"]


def counted(folder, method, options, evict, memory):
    """Train; return the rows and pages that the last epoch read, the weights, and the capacity."""
    dataset, config = fastimpl.load_dataset(folder), settings(method, **options)
    ahead = fastimpl.loader.LookaheadFeatures
    with (
        ahead(folder / "features.npy", memory, evict=evict) as features,
        fastimpl.make_trainer(dataset, config, features=features) as trainer,
    ):
        for _ in range(EPOCHS):
            before = read(features.counts)
            trainer.epoch()
        now = read(features.counts)
        return (
            [b - a for a, b in zip(before, now, strict=True)],
            trainer.state.weights,
            features.capacity,
        )


def read(counts):
    """Return the rows and the pages that were read so far."""
    return counts.rows + counts.on_demand, counts.bytes // PAGE


def cells(method, packed, evict, found, first):
    """Return the cells of a row; the share is that of the method's first row."""
    rows, pages = found
    share = f"{pages / max(first[1], 1):.0%}"
    return [method, packed, evict, rows, pages, f"{rows / max(pages, 1):.2f}", share]
