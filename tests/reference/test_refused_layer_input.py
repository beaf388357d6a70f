"""Every layer names the argument that does not fit."""

import pytest
from bad_layer_input import CASES, GOOD

from refimpl.lab.backend import find

# Of two arguments that do not fit each other, the second is named; of a tuple, its part.
NAMES = {
    "A": "A|data|data_t|X",
    "X": "X|W",
    "a_recv": "a_recv|a_send",
    "depth": "depth|powers",
    "hops": "hops|data|X",
    "out": "out|Y|norms|X_hat|scale",
}


@pytest.mark.parametrize("name", GOOD)
def test_good_arguments_are_taken(gnn, name):
    find(gnn, name)(**GOOD[name])
    if "b" in GOOD[name]:
        find(gnn, name)(**{**GOOD[name], "b": None})


@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: "-".join(map(str, CASES[i][:2])))
def test_bad_arguments_are_named(gnn, case):
    name, argument, value = CASES[case]
    names = NAMES.get(argument, argument)
    with pytest.raises((TypeError, ValueError), match=rf"\b({names})\b"):
        find(gnn, name)(**{**GOOD[name], argument: value})
