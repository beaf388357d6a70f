"""The data of FreshGNN's figures: a few labels of each class in a whole graph."""

import numpy as np
import pytest

import fastimpl
from bench.figures import training
from bench.figures.experiment import Lab
from refimpl import Dataset
from refimpl.lab.apps.errors import UserError
from refimpl.lab.data.communities import communities

pytestmark = pytest.mark.runs


@pytest.mark.parametrize(("labels", "found"), [(3, 3), (10_000, None)])
def test_few_labels_are_as_many_of_each_class(labels, found):
    """So many, and half of the smallest class where it has fewer."""
    lab = Lab(fastimpl, {"nodes": 400, "labels": labels}, "communities", 1)
    data = training.few_labels(lab)
    counts = np.bincount(data.labels[data.roots], minlength=10)
    half = np.bincount(data.labels, minlength=10).min() // 2
    assert set(counts) == {found or half} and not data.inductive
    assert training.steps_of(data, {"steps": 4}) == 4
    assert training.steps_of(data, {"steps": len(data.roots) - 1}) <= len(data.roots) // 2


def test_data_without_nodes_to_test_are_refused(tmp_path, monkeypatch):
    data = communities(0, nodes=200)
    none = np.arange(0)
    fields = {name: getattr(data, name) for name in ("graph", "features", "labels", "train", "val")}
    Dataset("none", **fields, test=none, setting="transductive").save(tmp_path / "none")
    lab = Lab(fastimpl, {"nodes": 400, "labels": 3}, str(tmp_path / "none"), 1)
    monkeypatch.setattr(training, "few_of_each_class", lambda whole, *_: whole)
    with pytest.raises(UserError, match="no nodes for validation or test"):
        training.few_labels(lab)
