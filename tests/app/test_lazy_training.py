"""FreshGNN trained with lazy draws: the bits of all draws, and inputs that are estimated."""

import pytest
from fresh_cases import LAYERS, config_of

from refimpl.lab.training import undrawn

pytestmark = pytest.mark.runs

STEPS = 14


def trained(gnn, dataset, state=None, steps=STEPS, **options):
    """Return (bits after each step, counts of each step, state) of some steps."""
    bits, counts = [], []
    with gnn.make_trainer(dataset, config_of(**options), state) as trainer:
        for _ in range(steps):
            step = trainer.step()
            weights = [W.tobytes() for W in trainer.state.weights.values()]
            bits.append((step.loss, weights))
            counts.append(step.counts)
        return bits, counts, trainer.state


def assert_same_run(gnn, dataset, **options):
    """Train with lazy draws and with all; compare. Return the counts of both."""
    lazy, its_counts, _ = trained(gnn, dataset, **options, draw_all=False)
    whole, all_counts, _ = trained(gnn, dataset, **options, draw_all=True)
    assert lazy == whole
    for one, other in zip(its_counts, all_counts, strict=True):
        assert one._replace(inputs=0) == other._replace(inputs=0)
    assert sum(one.hits for one in its_counts) > 0
    return its_counts, all_counts


@pytest.mark.parametrize("model", sorted(LAYERS))
@pytest.mark.parametrize("layers", [2, 3, 4])
def test_lazy_draws_change_no_bit(gnn, dataset, model, layers):
    fanouts = (3, 2, 2, 2)[:layers]
    assert_same_run(gnn, dataset, model=model, layers=layers, fanouts=fanouts, dropout=0.2)


@pytest.mark.parametrize(
    "options",
    [
        {"lookup_roots": False},
        {"control": "random", "rank_base": "new"},
        {"hotness": "profile", "performance": True, "buffer": 4000},
        {"buffer": 1500, "overflow": "drop"},
        {"header": "cycle", "t_stale": 3},
        {"workers_a_step": 2},
        {"cache_layers": (2,)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_lazy_draws_change_no_bit_with_any_setting(gnn, dataset, options):
    assert_same_run(gnn, dataset, **options)


@pytest.mark.parametrize("fanouts", [(3, 2), ((2, 0, -1), 3)])
def test_lazy_draws_change_no_bit_of_rgcn(gnn, typed, fanouts):
    options = {"model": "rgcn", "relations": 3, "layers": 2, "batch_size": 40}
    assert_same_run(gnn, typed, fanouts=fanouts, **options)


def estimated(exact, batches, every, roots):
    """Return the estimate for each step from the exact counts, as it is documented."""
    inputs = []
    for i, counts in enumerate(exact):
        b = i % batches
        counted = i - b % every
        guess = exact[counted].inputs * roots[b] // roots[counted % batches]
        none_read = counts.live == counts.inputs
        inputs.append(counts.inputs if none_read or i == counted else max(guess, counts.live))
    return inputs


@pytest.mark.parametrize("every", [1, 2, 64])
def test_inputs_are_counted_in_some_minibatches_for_all(gnn, dataset, monkeypatch, every):
    """In the first of an epoch and one in `every` behind it; the last batch is smaller."""
    monkeypatch.setattr(undrawn, "EVERY", every)
    lazy, exact = assert_same_run(gnn, dataset)
    n = len(dataset.train)
    roots = [min(24, n - first) for first in range(0, n, 24)]
    assert roots[-1] < 24, "all batches are of one size: this shows little"
    assert [one.inputs for one in lazy] == estimated(exact, len(roots), every, roots)
    if every == 1:
        assert [one.inputs for one in lazy] == [one.inputs for one in exact]


@pytest.mark.parametrize("options", [{"workers": 2}, {"sample_mode": "labor"}, {"draw_all": True}])
def test_who_draws_all(gnn, dataset, options):
    """`workers` draw ahead and count as without them; the others count all inputs."""
    lazy, exact = (trained(gnn, dataset, draw_all=draw_all)[1] for draw_all in (False, True))
    found = trained(gnn, dataset, **{"draw_all": False, **options})[1]
    if "sample_mode" in options:
        exact = trained(gnn, dataset, **{"draw_all": True, **options})[1]
    assert found == (lazy if "workers" in options else exact)
    assert lazy != exact


@pytest.mark.parametrize("first", [7, 9])
def test_a_resumed_run_counts_the_same(gnn, dataset, first):
    """It draws the minibatch again that is counted for the one it begins with."""
    bits, counts, _ = trained(gnn, dataset, draw_all=False)
    begun, its_counts, state = trained(gnn, dataset, steps=first, draw_all=False)
    rest, other_counts, _ = trained(gnn, dataset, state, steps=STEPS - first, draw_all=False)
    assert (begun + rest, its_counts + other_counts) == (bits, counts)
