"""Classes as people write them, made into numbers."""

import numpy as np


def numbered(labels):
    """Return classes as integers, -1 where unknown, and their names (None: they are numbers)."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2:
        return labels.astype(np.int8) if np.isin(labels, (0, 1)).all() else labels, None
    if labels.dtype.kind in "iub":
        return labels, None
    if labels.dtype.kind == "f":
        whole = np.nan_to_num(labels, nan=-1)
        if np.any(whole != np.floor(whole)):
            raise ValueError("labels must be whole numbers or words")
        return whole.astype(np.int64), None
    unknown = np.array([c is None or c != c or c in ("", -1) for c in labels.tolist()], bool)
    words = labels[~unknown].astype(str)
    names, numbers = np.unique(words, return_inverse=True)
    codes = np.full(len(labels), -1)
    codes[~unknown] = numbers
    return codes, tuple(names.tolist())
