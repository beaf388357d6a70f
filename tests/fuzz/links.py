"""``python tests/fuzz links``: no command touches a file outside of its folder of results.

Each case fills a folder of results with links to a user's files, under the names that commands use
or are about to use, and runs one command. The user's files must be the same afterwards, and the
command must succeed or say in one line what it refuses.
"""

import contextlib
import hashlib
import io
import random
import shutil
import tempfile
import traceback
from pathlib import Path

from hypothesis import strategies as st

from refimpl._support.whole_files import mark
from refimpl.lab.apps.cli import main as cli
from refimpl.lab.apps.output import RESULTS
from refimpl.lab.apps.results import LOCK

WHAT, CASES = "commands", 300
MEMORY = 6 * 2**30
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


def names():
    """Return the commands, by number and first word: a name is one word."""
    return [f"{number}-{words.partition(' ')[0]}" for number, words in enumerate(COMMANDS)]


def questions(name):
    """Return a strategy of cases: a command, and a draw of what stands where it writes."""
    words = COMMANDS[int(name.partition("-")[0])]
    draw = st.integers(0, 2**64 - 1)
    return st.fixed_dictionaries({"words": st.just(words), "draw": draw})


def judging():
    """Return a function that runs a command of a case."""
    return judge


def judge(question):
    """Run a command where links are; return "done", "refused", or "finding" and what is wrong."""
    rng = random.Random(question["draw"])
    place = Path(tempfile.mkdtemp(prefix="links"))
    try:
        folder = place / rng.choice(("run", "a $b$", "\u00fc 'x'"))
        folder.mkdir()
        users = [place / name for name in USERS]
        for user in users:
            user.write_text(f"{user.name} of a user\n")
        for name in rng.sample(NAMES, rng.randint(1, 4)):
            plant(rng, folder / name, users, place)
        before = {user: fingerprint(user) for user in users}
        words = [word.replace("FOLDER", str(folder)) for word in question["words"].split(" ")]
        status, said = run(words)
        touched = [user.name for user in users if fingerprint(user) != before[user]]
        others = {path.name for path in place.iterdir()} - {*USERS, folder.name}
        if touched or others:
            return "finding", f"{words}: touched {touched or others}"
        if status not in (0, 2) or (status == 2 and said.count("\n") != 1):
            return "finding", f"{words}: badly said: {said}"
        return ("done" if status == 0 else "refused"), ""
    finally:
        shutil.rmtree(place, ignore_errors=True)


def keep(question, text):
    """Save nothing: the printed command repeats a case."""


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
