"""`train` under mpirun: the same checkpoint on any number of ranks, and what is refused."""

import json

import numpy as np
import pytest
import training_ranks
from launching import done, ended, need_mpi, started, started_apart
from tiny_data import arrays_of, same_run, write_graphsaint

pytestmark = pytest.mark.runs

FREE = ("pool", "threads", "background", "workers", "features_in", "rounds", "eval_memory")
BATCHES = ("--batch-size", 14)
CASES = {
    "graph sage": ("--dtype", "float64"),
    "graph gcn": ("--model", "gcn", "--pool", 3, "--background"),
    "neighbor gat": (*BATCHES, "--method", "neighbor", "--model", "gat", "--dropout", 0.2),
    "fresh sage": (*BATCHES, "--method", "fresh", "--buffer", 3000, "--t-stale", 2),
    "fresh gcn": (*BATCHES, "--method", "fresh", "--model", "gcn", "--dtype", "float64"),
    "layer mixhop": (*BATCHES, "--method", "layer", "--model", "mixhop", "--fanouts", "3,2,2,2"),
    "local": (*BATCHES, "--method", "neighbor", "--partition", "local", "--shuffle", 0.5),
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    need_mpi()
    return write_graphsaint(tmp_path_factory.mktemp("data") / "tiny")


@pytest.fixture
def words(folder, tmp_path):
    """Return the words of a run of four workers in the folder `out`."""

    def words(out, *options, package="fastimpl"):
        start = ("-m", package, "train", "--data", folder, "--out", tmp_path / out)
        return (*start, "--hidden", 8, "--epochs", 3, "--workers-a-step", 4, *options)

    return words


@pytest.mark.parametrize("case", CASES)
def test_the_same_checkpoint_on_any_number_of_ranks(words, tmp_path, case):
    done(None, *words("alone", *CASES[case]))
    for size in (2, 4) if case in ("graph sage", "fresh sage", "local") else (4,):
        out = done(size, *words(f"of {size}", *CASES[case]))
        assert out.count("iterations ") == 1  # one rank prints
        one, other = tmp_path / "alone", tmp_path / f"of {size}"
        same_run(one / "checkpoint.npz", other / "checkpoint.npz", but=FREE)
        with np.load(one / "model.npz") as a, np.load(other / "model.npz") as b:
            assert a.files == b.files
            assert all(a[k].tobytes() == b[k].tobytes() for k in a.files if k != "meta")
        ranks = json.loads((other / "metrics.json").read_text())["ranks"]
        assert len(ranks) == size
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_reference_too(words, tmp_path):
    for size in (None, 2):
        done(size, *words(f"of {size}", *CASES["fresh sage"], package="refimpl"))
    same_run(tmp_path / "of None/checkpoint.npz", tmp_path / "of 2/checkpoint.npz")


@pytest.mark.parametrize(
    "case, rounds", [("neighbor gat", "none"), ("neighbor gat", "2,2"), ("fresh sage", "pairwise")]
)
def test_features_in_parts(words, tmp_path, case, rounds):
    done(None, *words("alone", *CASES[case]))
    parts = ("--features-in", "parts", "--rounds", rounds, "--eval-memory", 20000)
    done(4, *words("parts", *CASES[case], *parts))
    same_run(tmp_path / "alone/checkpoint.npz", tmp_path / "parts/checkpoint.npz", but=FREE)


@pytest.mark.parametrize("case", ["fresh sage", "local"])
def test_a_run_goes_on_on_other_numbers_of_ranks(words, tmp_path, case):
    done(None, *words("whole", *CASES[case], "--epochs", 4))
    done(4, *words("ranks", *CASES[case], "--epochs", 1))
    for size, epochs in ((2, 2), (None, 3), (2, 4)):
        again = ("train", "--resume", "--out", tmp_path / "ranks", "--epochs", epochs)
        done(size, "-m", "fastimpl", *again)
    same_run(tmp_path / "whole/checkpoint.npz", tmp_path / "ranks/checkpoint.npz")


def test_every_way_of_training():
    """Each method with each model that it takes, in parts too, in both dtypes: the same bits."""
    need_mpi()
    ways = len(list(training_ranks.runs()))
    want = f"2 ranks, {ways} ways of training checked\n"
    assert done(2, "-m", "mpi4py", training_ranks.__file__, seconds=900) == want


def refused(job, *messages):
    """Assert that a job ends soon, with status 2 and one message on one line."""
    status, out, err = ended(job, 60)
    lines = [line for line in err.splitlines() if ": error: " in line]
    assert len(lines) == 1, err
    assert all(message in lines[0] for message in messages), lines[0]
    assert (status, out) == (2, ""), err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--workers-a-step", 3), "--workers-a-step must be a multiple of the 2 ranks, got 3"),
        (("--method", "full"), "full"),
        (("--rounds", "3", "--features-in", "parts"), "rounds"),
        (("--lr", -1), "lr"),
        (("--data", "/nowhere"), "/nowhere"),
        (("--method", "fresh", "--partition", "local"), "fresh"),
    ],
    ids=str,
)
def test_bad_input_is_said_once(words, tmp_path, options, message):
    refused(started(2, *words("out", *options)), message)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "other",
    [
        ("--seed", 3),
        ("--lr", 0.5),
        ("--method", "neighbor"),
        ("--epochs", 9),
        ("--dtype", "float64"),
    ],
    ids=str,
)
def test_settings_that_differ_between_ranks(words, tmp_path, other):
    refused(started_apart(words("out"), words("out", *other)), "rank 1 differs from rank 0")
    assert not (tmp_path / "out").exists()


def test_packages_that_differ_between_ranks(words):
    commands = [words("out", package=package) for package in ("fastimpl", "refimpl")]
    refused(started_apart(*commands), "rank 1")


def test_data_that_differ_between_ranks(words, tmp_path):
    """Of the same name and size: their digests tell."""
    other = write_graphsaint(tmp_path / "elsewhere" / "tiny")
    roles = json.loads((other / "role.json").read_text())
    roles["va"].append(roles["te"].pop())
    (other / "role.json").write_text(json.dumps(roles))
    refused(
        started_apart(words("out"), words("out", "--data", other)), "rank 1 differs from rank 0"
    )


def test_one_bad_rank_of_two(words):
    """What only rank 1 cannot read ends both, with its message."""
    refused(started_apart(words("out"), words("out", "--data", "/nowhere")), "rank 1")


def test_a_folder_that_holds_a_run(words, tmp_path):
    done(2, *words("out", "--epochs", 1))
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    refused(started(2, *words("out", "--epochs", 1)), "already has a result")
    refused(started(2, *words("out", "--resume", "--seed", 5)), "--seed is 0")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    done(2, *words("out", "--epochs", 2, "--overwrite"))
    assert len(arrays_of(tmp_path / "out" / "checkpoint.npz")[1]["history"]) == 2


def test_a_broken_checkpoint(words, tmp_path):
    done(None, *words("out", "--epochs", 1))
    path = tmp_path / "out" / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:-50])
    refused(started(2, *words("out", "--resume")), "is not a whole checkpoint")
