"""FreshGNN's options as text: sizes of the buffer, ages, and their help."""

import argparse
import math

import pytest

from refimpl.lab.apps.cli import build_parser
from refimpl.lab.training.methods.fresh import parsed_age
from refimpl.lab.training.settings import parsed_size

pytestmark = pytest.mark.runs


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", 0),
        ("65536", 65536),
        ("12B", 12),
        ("3KB", 3000),
        ("3KiB", 3072),
        ("4kb", 4000),
        ("256MB", 256_000_000),
        ("256 MiB", 1 << 28),
        ("1.5GiB", 3 << 29),
        ("2TB", 2 * 10**12),
        ("0.1MB", 100_000),
    ],
)
def test_sizes(text, found):
    assert parsed_size(text) == found


@pytest.mark.parametrize(
    "text", ["", "MB", "-1", "1e6", "3XB", "1 2", "0x10", "1.MB", "٣MB", "inf"]
)
def test_no_sizes(text):
    with pytest.raises(ValueError):
        parsed_size(text)


def test_ages():
    assert (parsed_age("inf"), parsed_age("0"), parsed_age("200")) == (math.inf, 0, 200)
    with pytest.raises(ValueError):
        parsed_age("infinite")


def test_help_says_where_an_option_applies():
    (commands,) = [a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)]
    parser = commands.choices["train"]
    headings = {
        a.dest: group.title for group in parser._action_groups for a in group._group_actions
    }
    helps = {a.dest: a.help for a in parser._actions}
    for name in ("p_grad", "t_stale", "warmup", "buffer", "hotness", "buffer_overflow", "control"):
        assert headings[name] == "--method fresh"
    assert headings["batch_size"] == "several methods"
    assert "; only for methods layer, fresh, neighbor, gas, " in helps["batch_size"]
    assert "(default: layer: 25,10,10,..; fresh and neighbor: 20,15,10,10,..; " in helps["fanouts"]
    assert "(default: 256MiB)" in helps["buffer"]
    free = "--evict, --graph-in, --graph-memory, --rounds, --eval-memory, --pool, --background"
    assert f"--features-in, --memory, {free}, --workers and --draw-all" in helps["resume"]
