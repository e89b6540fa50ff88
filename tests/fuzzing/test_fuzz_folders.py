"""Damaged checkpoint folders, full disks and kills: the same numbers, or one sentence."""

import multiprocessing
import os
import shutil
import signal
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.datasets import make_membership_problem

from .budget import calls
from .oracle import COLLECT, COUNTS, FOUND, find_fault

resource = pytest.importorskip("resource", reason="limits of POSIX")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the tests fork")
FOREST = RandomForestClassifier(3, max_depth=3)
_PATIENCE = 60


class SlowTree(DecisionTreeClassifier):
    """A tree that takes long enough to be killed while it is trained."""

    def fit(self, X, y):
        time.sleep(0.01)
        return super().fit(X, y)


def make_records():
    return make_membership_problem(120, random_state=0)[0]


def fit_and_ask(folder, estimator=FOREST, n_estimators=4):
    """All numbers of a pool, those of new records included, for which the models are asked."""
    records = make_records()
    settings = {"store": "models", "batched": False, "random_state": 0}
    pool = ShadowPool(estimator, n_estimators, checkpoint=folder, **settings).fit(records[:100])
    asked = [model.predict_proba(records.X[100:]) for model in pool.estimators_]
    return pool.membership_, pool.signals_, *asked


def _answer(pipe, call, args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pipe.send(("answer", call(*args)))
        except Exception as error:
            pipe.send(("error", (find_fault(error, (MemoryError,)), f"{type(error)}: {error}")))


def in_child(call, *args):
    """What a call in a process of its own ends in: a crash and a hang are ends as well."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(there, call, args))
    process.start()
    there.close()
    try:
        if not here.poll(_PATIENCE):
            return "hang", None
        return here.recv()
    except EOFError:
        process.join()
        return "crash", process.exitcode
    finally:
        process.kill()
        process.join()


def assert_equal(one, other):
    for values, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(values, expected)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished checkpoint and its numbers."""
    folder = tmp_path_factory.mktemp("folders") / "pool"
    return folder, fit_and_ask(folder)


ACCIDENTS = ("bit", "bit", "bit", "bytes", "cut", "longer", "empty", "swap", "gone", "folder")


def damage(folder, kind, one, other, place, bits):
    """One accident of stored files."""
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    path, second = paths[one % len(paths)], paths[other % len(paths)]
    content = bytearray(path.read_bytes())
    place = place % max(1, len(content))
    if kind == "bit" and content:
        content[place] ^= 1 << bits % 8
    elif kind == "bytes":
        content[place : place + 64] = bytes(64)
    elif kind == "cut":
        del content[place:]
    elif kind == "longer":
        content += content[:64]
    elif kind == "empty":
        content.clear()
    elif kind == "swap":
        content = second.read_bytes()
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind != "gone":
        path.write_bytes(bytes(content))
    return f"{kind} of {path.name} at {place}"


@calls(0.1)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(ACCIDENTS),
            *(st.integers(0, 2**20) for _ in range(4)),
        ),
        min_size=1,
        max_size=2,
    )
)
def test_damaged_folders(finished, accidents):
    original, expected = finished
    folder = original.with_name("damaged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    done = [damage(folder, *accident) for accident in accidents]
    end, value = in_child(fit_and_ask, folder)
    fault = None
    if end == "error":
        fault = value[0] and f"{value[0]}: {value[1]}"
    elif end == "answer":
        try:
            assert_equal(value, expected)
        except AssertionError:
            fault = "other numbers"
    else:
        fault = end
    ending = "foreign" if fault else "answer" if end == "answer" else "sentence"
    COUNTS["damaged folders", ending] += 1
    if fault:
        text = f"damaged folders: {fault} after {done}"
        if not COLLECT:
            pytest.fail(text)
        FOUND.append(("damaged folders", fault, text))


def test_killed_fits_of_stored_models_go_on(tmp_path):
    tree = SlowTree(max_depth=3)
    undisturbed = fit_and_ask(None, tree, 16)
    rng, context = np.random.default_rng(0), multiprocessing.get_context("fork")
    for _ in range(3):
        process = context.Process(target=fit_and_ask, args=(tmp_path, tree, 16))
        process.start()
        time.sleep(rng.uniform(0.02, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    assert_equal(fit_and_ask(tmp_path, tree, 16), undisturbed)


def _fit_with_small_files(folder):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    return fit_and_ask(folder)


def test_a_limit_of_the_system_costs_no_model(finished, tmp_path):
    original, expected = finished
    folder = tmp_path / "pool"
    shutil.copytree(original, folder)
    for path in folder.glob("shadow-00003.*"):
        path.unlink()
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    end, (fault, text) = in_child(_fit_with_small_files, folder)
    assert (end, fault) == ("error", None)
    assert f"CheckpointError'>: The checkpoint folder {folder} cannot be written" in text
    assert all((folder / name).read_bytes() == content for name, content in kept.items())
    assert not list(folder.glob("*.tmp"))
    assert_equal(fit_and_ask(folder), expected)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 100 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or os.system(f"mount -t tmpfs -o size=100k none {folder}"):
        pytest.skip("no file system may be mounted")
    yield folder
    os.system(f"umount {folder}")


def test_a_full_disk_is_one_sentence_and_costs_no_model(small_disk):
    settings = {"estimator": FOREST, "n_estimators": 24}
    expected = fit_and_ask(None, **settings)
    end, value = in_child(fit_and_ask, small_disk / "pool", *settings.values())
    assert end == "error"
    assert value[0] is None
    assert "No space left on device" in value[1]
    written = sorted(path.name for path in (small_disk / "pool").glob("shadow-*.npz"))
    assert written
    assert not list((small_disk / "pool").glob("*.tmp"))
    larger = small_disk.parent / "larger"
    shutil.copytree(small_disk / "pool", larger)
    assert_equal(fit_and_ask(larger, **settings), expected)
