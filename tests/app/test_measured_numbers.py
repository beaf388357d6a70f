"""Numbers that sentences take from the tables of Measurements, and those that they may not type."""

import re

import pytest
from docs_ext import DOCS, measured_numbers

TEXT = """# Measurements

## Samplers on large graphs

**Kronecker, 2^20 nodes**

| sampler | ms, 1 thread | ratio |
| --- | ---: | ---: |
| `edge` | ~1.84 | 1.95 |
| `walk` | 1.63 | - |

**power law**

| sampler | ms, 1 thread | ratio |
| --- | ---: | ---: |
| `edge` | 1.72 | 1.95 |

## Kernels

| kernel | input | speed-up |
| --- | --- | ---: |
| spmm | n=16 | 4.9x |
| spmm | n=1,000 | 257x / 365x |
"""
TYPED = re.compile(r"(?<![\w`.])\d[\d.,]*(?:e-?\d+)? ?(?:ms|ns|seconds|x)(?!\w)")


@pytest.mark.parametrize(
    "path, text",
    [
        ("kernels / spmm / n=1,000 / speed-up", "257x / 365x"),
        ("samplers-on-large-graphs: Kronecker / edge / ms, 1 thread", "1.84"),
        ("samplers-on-large-graphs: power law / edge / ms, 1 thread", "1.72"),
        ("samplers-on-large-graphs / edge / ratio", "1.95"),
    ],
)
def test_a_number_is_found_by_its_row_and_column(path, text):
    assert measured_numbers.number(TEXT, path.split(" / ")) == text


@pytest.mark.parametrize(
    "path, count",
    [
        ("kernels / spmm / speed-up", 2),
        ("kernels / spmm / n=2 / speed-up", 0),
        ("kernels / spmm / n=16 / slow-down", 0),
        ("graphs / spmm / n=16 / speed-up", 0),
        ("samplers-on-large-graphs / edge / ms, 1 thread", 2),
        ("samplers-on-large-graphs: Kronecker / walk / ratio", 0),
        ("samplers-on-large-graphs: Erdos / edge / ratio", 0),
    ],
)
def test_what_is_not_one_number_is_refused(path, count):
    with pytest.raises(ValueError, match=rf": {count} such cells in measurements.md"):
        measured_numbers.number(TEXT, path.split(" / "))


@pytest.mark.parametrize("page", sorted(DOCS.glob("learn/*.md")), ids=lambda page: page.stem)
def test_no_learn_page_types_a_time_or_a_speed_up(page):
    assert not TYPED.findall(page.read_text(encoding="utf-8"))
