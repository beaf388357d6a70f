"""Conversions to packed folders that are killed at random moments are resumed to the same bits.

    python tests/fuzz conversions --times 100 --seed 1

A process converts a raw folder of the Open Graph Benchmark, in a stream, or a folder that was
converted before, with --pack; half of the processes replace another data set. SIGKILL comes at a
moment that is drawn, each fourth time near the end; some conversions are resumed and killed
again. Then the target must be absent or whole, or the other data set; the source must be untouched.
The next conversion, which resumes the work unless its arguments are others, must give the folder of
an uninterrupted one, to the bit, and leave no other file.
"""

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from bench.kronecker import write_kronecker
from refimpl.lab.data.communities import communities
from refimpl.lab.data.convert import convert

# A moment is a call of Python's or its end, so that the load of the machine does not matter.
CODE = """import os, signal, sys
from refimpl.lab.data import journal, ogb, streaming
from refimpl.lab.data.convert import convert
moment, journal.EVERY, ogb.NUMBERS, streaming.AT_ONCE = 0, 1, 2000, 2000
def count(*event):
    global moment
    moment += 1
    if moment == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
convert(sys.argv[1], sys.argv[2], pack=True, memory=int(sys.argv[4]), overwrite=True)
sys.setprofile(None)
print(moment)"""
MEMORY = 20000  # bytes for sorting: many files of edges
LAST = 400  # moments, in which folders are renamed and removed
OTHER = "karate"  # the data set that is replaced


class Wrong(Exception):
    """What must not happen."""


def main(argv: list[str] | None = None) -> int:
    """Run a command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz conversions", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--times", type=int, default=100, help="number of kills (default: 100)")
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument("--seed", type=int, default=seed, help="default: a new one")
    options = parser.parse_args(argv)
    print(f"fuzz conversions: {options.times} kills, seed {options.seed}", flush=True)
    folder, rng = Path(tempfile.mkdtemp(prefix="fuzz_conversions_")), random.Random(options.seed)
    warnings.simplefilter("ignore")
    try:
        found = killed_often(folder, rng, options.times)
    except Wrong as wrong:
        print(f"WRONG: {wrong}\nits files are in {folder}")
        return 1
    shutil.rmtree(folder)
    resumed, parts, begun = (found.pop(name) for name in ("resumed", "parts", "begun"))
    if options.times >= 40 and not (parts and begun):
        print("WRONG: no conversion was resumed, or none within a part")
        return 1
    print(", ".join(f"{number} {what}" for what, number in sorted(found.items())))
    print(f"{resumed} conversions resumed: {parts} parts were done, {begun} begun")
    return 0


def killed_often(folder: Path, rng: random.Random, times: int) -> Counter[str]:
    """Kill conversions; return how often the target was absent, whole or the other data set.

    "resumed" counts the conversions that were resumed, "parts" and "begun" the parts of them that
    were done and begun.
    """
    write_kronecker(folder / "ogb", scale=9, features=20, classes=5)
    communities(0, nodes=600).save(folder / "saved")
    convert(OTHER, folder / "other")
    whole, moments, found = {}, {}, Counter[str](resumed=0, parts=0, begun=0)
    sources = [folder / "ogb", folder / "saved"]
    for source in sources:
        convert(source, folder / "whole", pack=True, overwrite=True)
        whole[source] = digest(folder / "whole")
        moments[source] = killed(source, folder / "whole", -1)
    before, other = {source: digest(source) for source in sources}, digest(folder / "other")
    for _ in range(times):
        source, target = rng.choice(sources), folder / "work" / "graph"
        target.parent.mkdir()
        if replacing := rng.random() < 0.5:
            shutil.copytree(folder / "other", target)
        last = moments[source]
        for _ in range(rng.choice([1, 1, 2])):
            killed(source, target, rng.randint(rng.choice([1, 1, 1, last - LAST]), last))
        names = {whole[source]: "whole", other: "other", None: "absent"}
        left = names.get(digest(target) if target.exists() else None)
        between = any(target.parent.glob("*.old.tmp"))  # killed between two renamings
        if left is None or (left == "other") > replacing:
            raise Wrong(f"{source.name}: after a kill, {target} is {left or 'neither'}")
        if replacing and left == "absent" and not between:
            raise Wrong(f"{source.name}: the data set that was replaced is lost")
        memory, said = rng.choice([MEMORY, MEMORY, MEMORY, 10**9]), list[str]()
        convert(source, target, pack=True, memory=memory, overwrite=True, say=said.append)
        if said and said[0].startswith("resumes") != (memory == MEMORY):
            raise Wrong(f"{source.name}: with memory={memory} it says {said}")
        if memory == MEMORY and said:
            found["resumed"] += 1
            found["parts"] += said[0].count(" done")
            found["begun"] += said[0].count(" from ")
        if digest(target) != whole[source]:
            raise Wrong(f"{source.name}: the next conversion has other bits")
        if names_in(target.parent) != ["graph"]:
            raise Wrong(f"{source.name}: there is {names_in(target.parent)}")
        if digest(source) != before[source]:
            raise Wrong(f"{source.name} is changed")
        shutil.rmtree(target.parent)
        found[left] += 1
    return found


def killed(source: Path, target: Path, moment: int) -> int:
    """Convert in a process that gets SIGKILL at a moment; return how many it had, 0 if killed."""
    argv = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        CODE,
        str(source),
        str(target),
        str(moment),
        str(MEMORY),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode not in (0, -signal.SIGKILL):
        raise Wrong(f"{source.name} cannot be converted: {done.stderr}")
    return int(done.stdout or 0)


def digest(folder: Path) -> str:
    """Return a digest of the files in a folder, with their names."""
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            found.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def names_in(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())
