"""What ranks send one another in a step: against an exchange that is played out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SECONDS = st.floats(1e-6, 10)


def played(P, R):
    """Average the gradients of R ranks as the function says; count what each rank does.

    Returns (sent, received, messages, additions), each a list with an item a rank.
    """
    rng = np.random.default_rng([P, R])
    gradients = [[*rng.integers(-99, 99, P).tolist()] for _ in range(R)]
    while len(gradients[0]) % R:
        for one in gradients:
            one.append(0)
    padded = len(gradients[0])
    slices = [[i for i in range(padded) if i * R // padded == r] for r in range(R)]
    sent, received, messages, additions = ([0] * R for _ in range(4))

    def send(source, target, numbers):
        sent[source] += len(numbers)
        received[target] += len(numbers)
        messages[source] += 1
        return numbers

    held = [{r: [gradients[r][i] for i in slices[r]]} for r in range(R)]
    for source in range(R):
        for target in range(R):
            if source != target:
                part = [gradients[source][i] for i in slices[target]]
                held[target][source] = send(source, target, part)
    results = [[0] * padded for _ in range(R)]
    for r in range(R):
        level = [held[r][source] for source in range(R)]
        while len(level) > 1:
            above = []
            for k in range(0, len(level) - 1, 2):
                above.append([a + b for a, b in zip(level[k], level[k + 1], strict=True)])
                additions[r] += len(slices[r])
            level = above + level[len(level) - len(level) % 2 :]
        for target in range(R):
            total = level[0] if target == r else send(r, target, level[0])
            for i, x in zip(slices[r], total, strict=True):
                results[target][i] = x
    assert all(one == [sum(column) for column in zip(*gradients, strict=True)] for one in results)
    return sent, received, messages, additions


@given(P=st.integers(1, 60), R=st.integers(1, 12))
def test_gradient_exchange_counts_what_is_sent(gnn, P, R):
    sent, received, messages, additions = played(P, R)
    found = gnn.cost_models.gradient_exchange(P, R)
    assert set(sent) == set(received) == {found.numbers}
    assert set(messages) == {found.messages}
    assert set(additions) == {found.additions}
    if P % R == 0:
        assert found.numbers == 2 * P * (R - 1) / R


def test_gradient_exchange_of_arrays(gnn):
    ranks = np.array([1, 2, 4])
    found = gnn.cost_models.gradient_exchange(1000, ranks)
    assert found.numbers.tolist() == [0, 1000, 1500]
    assert found.messages.tolist() == [0, 2, 6]
    assert found.additions.tolist() == [0, 500, 750]


@given(
    compute=SECONDS,
    sizes=st.lists(st.integers(0, 10**6), max_size=20),
    latency=SECONDS,
    bandwidth=st.floats(1, 1e9),
)
def test_a_step_is_as_long_as_its_messages_one_by_one(gnn, compute, sizes, latency, bandwidth):
    clock = compute
    for size in sizes:
        clock += latency
        clock += size / bandwidth
    found = gnn.cost_models.parallel_step_seconds(
        compute, len(sizes), sum(sizes), latency=latency, bandwidth=bandwidth
    )
    assert isinstance(found, np.float64)
    assert found == pytest.approx(clock, rel=1e-12)


@given(ranks=st.integers(1, 300), compute=SECONDS, waiting=st.floats(0, 10))
def test_speedup_is_of_minibatches_a_second(gnn, ranks, compute, waiting):
    speedup = gnn.cost_models.parallel_speedup(ranks, compute, compute + waiting)
    minute = 60.0
    alone, together = minute / compute, ranks * minute / (compute + waiting)
    assert speedup == pytest.approx(together / alone, rel=1e-12)
    assert speedup <= ranks * (1 + 1e-12)
    assert gnn.cost_models.parallel_speedup(ranks, compute, compute) == pytest.approx(ranks)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("gradient_exchange", (0, 2), "parameters must be at least 1"),
        ("gradient_exchange", (5, 0), "ranks must be at least 1"),
        ("gradient_exchange", (5, 1.5), "ranks must be whole"),
        ("parallel_step_seconds", (-1, 0, 0), "compute must be at least 0"),
        ("parallel_step_seconds", (0, -1, 0), "messages must be at least 0"),
        ("parallel_step_seconds", (0, 0, -1), "sent must be at least 0"),
        ("parallel_speedup", (0, 1, 1), "ranks must be at least 1"),
        ("parallel_speedup", (2, 0, 1), "alone must be above 0"),
        ("parallel_speedup", (2, 1, 0), "together must be above 0"),
    ],
)
def test_refused(gnn, function, arguments, message):
    link = {"latency": 1, "bandwidth": 1} if function == "parallel_step_seconds" else {}
    with pytest.raises(ValueError, match=message):
        getattr(gnn.cost_models, function)(*arguments, **link)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"latency": -1, "bandwidth": 1}, "latency must be at least 0"),
        ({"latency": 0, "bandwidth": 0}, "bandwidth must be above 0"),
    ],
)
def test_refused_links(gnn, link, message):
    with pytest.raises(ValueError, match=message):
        gnn.cost_models.parallel_step_seconds(1, 1, 1, **link)
    with pytest.raises(TypeError, match="compute must be real numbers"):
        gnn.cost_models.parallel_step_seconds("1", 1, 1, latency=0, bandwidth=1)
