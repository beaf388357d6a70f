"""What a run of FreshGNN reads from its cache, against a dictionary, and what it loses."""

import numpy as np
import pytest
from fresh_cases import Watched, config_of, counted_step, trajectory, watched
from numpy.testing import assert_array_equal

pytestmark = pytest.mark.runs


def predicted(cache, trainer, i):
    """Return what a dictionary {(layer, node): stamp} says is read in the step just done.

    Then update it by the definition: of m live rows the floor(p m) with the smallest gradients
    are stable; those computed enter, and of the others any that have an entry lose it. Also
    return how many of these the next step could have read.
    """
    settings, roots = trainer.settings, len(trainer.mfg.nodes[-1])
    ages = settings.t_stale
    young = {key for key, stamp in cache.items() if i - stamp <= ages}
    hits, evicted = [], 0
    for layer in (1, 2):
        ids = trainer.mfg.nodes[layer].tolist()
        looked_up = ids if settings.lookup_roots else [None] * roots + ids[roots:]
        hits.append([(layer, v) in young for v in looked_up])
        norms = [sum(float(x) ** 2 for x in row) ** 0.5 for row in trainer.G[layer]]
        rows = zip(
            norms, trainer.nodes[layer].tolist(), trainer.live.computed[layer - 1], strict=True
        )
        for rank, (_, v, computed) in enumerate(sorted(rows)):
            if rank >= int(settings.p_grad * len(norms) + 1e-9):
                stamp = cache.pop((layer, v), None)
                evicted += stamp is not None and i + 1 - stamp <= ages
            elif computed:
                cache[layer, v] = i
    return hits, evicted


@pytest.mark.parametrize("lookup_roots", [True, False])
@pytest.mark.parametrize("t_stale", [np.inf, 4])
def test_hits_and_evictions_are_those_of_a_dictionary(gnn, dataset, lookup_roots, t_stale):
    """Section 4.1.1, whether an unstable row was read or computed; with room nothing is lost."""
    options = {"lookup_roots": lookup_roots, "t_stale": t_stale}
    cache, computed_anew = {}, 0
    with watched(gnn, dataset, config_of(**options)) as trainer:
        for i in range(16):
            counts = counted_step(trainer)
            read = sum(int((~computed).sum()) for computed in trainer.live.computed)
            hits, evicted = predicted(cache, trainer, i)
            for got, want in zip(trainer.hit[:2], hits, strict=True):
                assert_array_equal(got, want)
            assert (counts.evicted, counts.lost, counts.dropped) == (evicted, 0, 0)
            assert counts.hits == read
            computed_anew += evicted
        assert trainer.counts_of_epoch.hits and computed_anew, "this shows nothing"


def test_a_header_that_goes_back_loses_what_could_be_read(gnn, dataset):
    """E-V20: with room for everything, the printed rule reads less."""
    counts = {}
    for header in ("continue", "cycle"):
        with watched(gnn, dataset, config_of(t_stale=4, header=header), 30) as trainer:
            counts[header] = trainer.counts_of_epoch
    assert counts["continue"].lost == 0 < counts["cycle"].lost
    assert counts["continue"].hits > counts["cycle"].hits


def test_evicting_what_is_too_old_changes_no_weight(gnn, dataset):
    """With roots looked up, a computed row has no valid entry: nothing else is taken out."""
    runs = []
    for evict in (True, False):
        with watched(gnn, dataset, config_of(t_stale=3, p_grad=0.5)) as trainer:
            if not evict:  # only what was read, as if computed rows never lost anything
                keep_computed_rows(trainer.cache)
            runs.append((trajectory(trainer, 14), trainer.counts_of_epoch.evicted))
    assert runs[0] == runs[1] and runs[0][1] > 0


def keep_computed_rows(cache):
    """Make `cache.evict` leave what is too old to be read."""
    evict = cache.evict

    def only_valid(layer, ids, i):
        return evict(layer, ids[cache.lookup(layer, ids, i) >= 0], i)

    cache.evict = only_valid


def test_a_run_that_has_begun_needs_its_cache(gnn, dataset):
    """The embeddings of another run, or of none, would silently give other weights."""
    with watched(gnn, dataset, config_of(), 1) as first:
        state = first.state
    for cache, message in (
        (None, "cache must have the embeddings of a run that has begun"),
        ({"layer1": np.zeros((36, 4))}, "state must hold options, numbers, embeddings, features"),
    ):
        state.cache = cache
        with pytest.raises(ValueError, match=message):
            Watched(gnn, dataset, config_of(), state)
    state.cache = None
    with Watched(gnn, dataset, config_of(p_grad=0), state) as without:  # reads no embedding
        without.step()


def test_no_features_are_kept_beside_the_buffer(gnn, dataset):
    with watched(gnn, dataset, config_of(hotness="degree"), 1) as trainer:
        assert trainer.cache.feature_rows
        assert "X" not in vars(trainer.run)
