"""Links, pipes and folders where commands write: no file outside of the results is touched.

    python tests/fuzz links --cases 300 --seed 1

Each case fills a folder of results with links to a user's files, under the names that commands use
or are about to use, and runs one command. The user's files must be the same afterwards, and the
command must succeed or say in one line what it refuses.
"""

import argparse
import contextlib
import hashlib
import io
import random
import shutil
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from refimpl._support.whole_files import mark
from refimpl.lab.apps.cli import main as cli
from refimpl.lab.apps.output import RESULTS
from refimpl.lab.apps.results import LOCK

USERS = "thesis.txt", "data.csv", "photo $1$ 'ü\".png"
RUN = "--data karate --hidden 4 --epochs 1 --impl refimpl"
COMMANDS = (  # with FOLDER for the folder of results
    f"train {RUN} --out FOLDER",
    f"train {RUN} --out FOLDER --overwrite",
    f"train {RUN} --method layer --features-in mmap --out FOLDER --overwrite",
    "train --resume --out FOLDER",
    "sample --data karate --graph full --count 1 --impl refimpl --out FOLDER",
    "sample --data karate --graph full --count 1 --impl refimpl --out FOLDER --overwrite",
    "convert karate FOLDER",
    "convert karate FOLDER --overwrite",
    "convert karate FOLDER/model.npz --overwrite",
    "trace transpose --out FOLDER/metrics.json",
    "trace transpose --out FOLDER/metrics.json --overwrite",
    "conformance --only floyd --impl refimpl --report FOLDER/metrics.json",
    "conformance --only floyd --impl refimpl --report FOLDER/metrics.json --overwrite",
)
NAMES = (
    *RESULTS,
    LOCK,
    "sample.json",
    "sample.png",
    "meta.json",
    "training_features.npy",
    "model.npz.mine.tmp",
    "model.npz.0123456789abcdef.01234567.tmp",
)


def main(argv=None):
    """Run the fuzzer; return 1 if it found something."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz links", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--cases", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    seed = random.SystemRandom().randrange(2**32)
    parser.add_argument("--seed", type=int, default=seed, help="default: a new one")
    options = parser.parse_args(argv)
    print(f"fuzz links: {options.cases} cases, seed {options.seed}", flush=True)
    counts, findings = Counter(), 0
    for number in range(options.first, options.first + options.cases):
        verdict, found = case(options.seed, number)
        counts[verdict] += 1
        if found:
            findings += 1
            print(f"FINDING {number}: {found}")
            print(
                f"  again: python tests/fuzz links --seed {options.seed} --first {number} --cases 1"
            )
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if findings else 0


def case(seed, number):
    """Run one case; return its verdict, and what is wrong or None."""
    rng = random.Random(f"{seed} {number}")
    place = Path(tempfile.mkdtemp(prefix="fuzz_links_"))
    try:
        folder = place / rng.choice(("run", "a $b$", "ü 'x'"))
        folder.mkdir()
        users = [place / name for name in USERS]
        for user in users:
            user.write_text(f"{user.name} of a user\n")
        for name in rng.sample(NAMES, rng.randint(1, 4)):
            plant(rng, folder / name, users, place)
        before = {user: fingerprint(user) for user in users}
        words = [word.replace("FOLDER", str(folder)) for word in rng.choice(COMMANDS).split(" ")]
        status, said = run(words)
        touched = [user.name for user in users if fingerprint(user) != before[user]]
        others = {path.name for path in place.iterdir()} - {*USERS, folder.name}
        if touched or others:
            return "touched", f"{words}: {touched or others}"
        if status not in (0, 2) or (status == 2 and said.count("\n") != 1):
            return "badly said", f"{words}: {said}"
        return ("done" if status == 0 else "refused"), None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def plant(rng, path, users, place):
    """Put something at `path` that is no result of ours."""
    kind = rng.randrange(7)
    if kind == 0:
        path.symlink_to(rng.choice(users))
    elif kind == 1:
        path.symlink_to(f"../{rng.choice(USERS)}")
    elif kind == 2:
        path.hardlink_to(rng.choice(users))
    elif kind == 3:
        path.symlink_to(place / "nowhere")
    elif kind == 4:
        path.symlink_to(path)
    elif kind == 5:
        path.mkdir()
    else:
        path.write_text(f"1 on a machine\n{mark()}\n" if rng.randrange(2) else "a user's notes\n")


def fingerprint(path):
    """Return what changes if a file is written to, replaced or removed."""
    found = path.stat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return found.st_ino, found.st_size, found.st_mtime_ns, digest


def run(words):
    """Run a command in this process; return its status and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            return cli(words), said.getvalue()
        except Exception:
            return "traceback", traceback.format_exc()
