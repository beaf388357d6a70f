"""Graphs with attributes in one file, as those of Shchur et al."""

import numpy as np
import pytest
import scipy.sparse as sp
from test_convert import converted

from refimpl import load_dataset

pytestmark = pytest.mark.runs
pytestmark = [
    pytestmark,
    pytest.mark.filterwarnings("ignore:ignored .* self-loop"),
    pytest.mark.filterwarnings("ignore:ignored 'idx_to_class'"),
]


def write_attributed(path, n=50, **changes):
    """Write a file as those of Shchur et al.; return the adjacency, the features and the labels."""
    rng = np.random.default_rng(2)
    links = sp.random_array((n, n), density=0.1, rng=rng, format="csr")
    links.data[:] = 1
    attributes = sp.random_array((n, 7), density=0.3, rng=rng, format="csr", dtype=np.float32)
    arrays = {"labels": rng.integers(0, 3, n)}
    for name, matrix in (("adj", links), ("attr", attributes)):
        for part in ("data", "indices", "indptr", "shape"):
            arrays[f"{name}_{part}"] = np.asarray(getattr(matrix, part))
    arrays["idx_to_class"] = np.array({"an": "object"}, dtype=object)
    np.savez(path, **arrays | changes)
    return links.toarray(), attributes.toarray(), arrays["labels"]


def test_one_file(tmp_path):
    links, attributes, labels = write_attributed(tmp_path / "amazon.npz")
    data = converted(tmp_path / "amazon.npz", tmp_path / "graph", rng=7)
    linked = (links + links.T > 0) & ~np.eye(50, dtype=bool)
    np.testing.assert_array_equal(data.graph.to_scipy().toarray() > 0, linked)
    np.testing.assert_array_equal(data.features, attributes)
    np.testing.assert_array_equal(data.labels, labels)
    assert [part.size for part in (data.train, data.val, data.test)] == [30, 10, 10]
    assert (data.name, data.setting) == ("amazon", "transductive")
    converted(tmp_path / "amazon.npz", tmp_path / "few", split=4, rng=7, scaling="rows")


@pytest.mark.parametrize("dtype", [">i4", ">f8", "f2", "?"])
def test_numbers_of_any_type(tmp_path, dtype):
    """SciPy takes neither other byte orders nor half floats; the file may have them."""
    links, attributes, _ = write_attributed(tmp_path / "native.npz")
    some = sp.csr_array(np.round(links)), sp.csr_array(np.round(attributes))
    parts = {f"{n}_data": m.data.astype(dtype) for n, m in zip(("adj", "attr"), some, strict=True)}
    parts |= {f"attr_{part}": getattr(some[1], part) for part in ("indices", "indptr")}
    write_attributed(tmp_path / "other.npz", **parts)
    data = load_dataset(tmp_path / "other.npz")
    assert data.graph.e == load_dataset(tmp_path / "native.npz").graph.e
    np.testing.assert_array_equal(data.features, np.round(attributes))


@pytest.mark.filterwarnings("always")
def test_what_is_ignored_is_named(tmp_path):
    links, _, _ = write_attributed(tmp_path / "amazon.npz", idx_to_attr=np.arange(7))
    with pytest.warns(UserWarning) as said:
        load_dataset(tmp_path / "amazon.npz")
    loops = np.count_nonzero(np.diag(links))
    assert loops
    assert sorted(str(line.message).split(" of ")[0] for line in said) == [
        "ignored 'idx_to_attr', 'idx_to_class'",
        f"ignored {loops} self-loops",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": np.zeros(49, int)},
        {"labels": np.zeros(50)},
        {"adj_shape": np.array([50, 51])},
        {"attr_shape": np.array([50, 2])},
        {"attr_shape": np.array([2**40, 7])},
        {"adj_indptr": np.zeros(51, int)},
        {"attr_data": np.full(105, np.nan, np.float32)},
        {"adj_data": np.array("text")},
    ],
)
def test_a_bad_file_is_refused(tmp_path, changes):
    write_attributed(tmp_path / "amazon.npz", **changes)
    with pytest.raises(ValueError, match=r"amazon\.npz"):
        load_dataset(tmp_path / "amazon.npz")
