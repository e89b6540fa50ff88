"""Finished shadow models survive kills, damage and growth, and never serve another pool."""

import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError


class SlowTree(DecisionTreeClassifier):
    """A tree that takes long enough to be killed while it is trained."""

    def fit(self, X, y):
        time.sleep(0.01)
        return super().fit(X, y)


@pytest.fixture
def records():
    return make_membership_problem(120, random_state=0)[0]


def make_pool(folder=None, n_estimators=8, estimator=None, **settings):
    estimator = DecisionTreeClassifier(max_depth=3) if estimator is None else estimator
    settings = {"random_state": 0, **settings}
    return ShadowPool(estimator, n_estimators, checkpoint=folder, **settings)


def count_fits(monkeypatch):
    fits = []
    original = DecisionTreeClassifier.fit

    def fit(self, X, y):
        fits.append(1)
        return original(self, X, y)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", fit)
    return fits


def assert_same(one, other):
    np.testing.assert_array_equal(one.membership_, other.membership_)
    np.testing.assert_array_equal(one.signals_, other.signals_)
    np.testing.assert_array_equal(one.resolution_, other.resolution_)


def test_a_finished_pool_is_read_back_without_training(records, tmp_path, monkeypatch):
    first = make_pool(tmp_path / "pool").fit(records)
    fits = count_fits(monkeypatch)
    assert_same(make_pool(tmp_path / "pool").fit(records), first)
    assert not fits
    assert_same(make_pool().fit(records), first)
    assert len(fits) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test kills a forked process")
def test_killed_twice_it_ends_with_the_numbers_of_an_undisturbed_fit(records, tmp_path):
    undisturbed = make_pool(n_estimators=20, estimator=SlowTree(max_depth=3)).fit(records)
    folder, rng, n_kills = tmp_path / "pool", np.random.default_rng(0), 0
    context = multiprocessing.get_context("fork")
    while n_kills < 2:
        pool = make_pool(folder, n_estimators=20, estimator=SlowTree(max_depth=3))
        process = context.Process(target=pool.fit, args=(records,))
        process.start()
        time.sleep(rng.uniform(0, 0.06))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        n_kills += 1
    resumed = make_pool(folder, n_estimators=20, estimator=SlowTree(max_depth=3)).fit(records)
    assert_same(resumed, undisturbed)


def test_growing_trains_only_the_further_models_and_keeps_the_balance(
    records, tmp_path, monkeypatch
):
    make_pool(tmp_path / "pool", 4).fit(records)
    fits = count_fits(monkeypatch)
    grown = make_pool(tmp_path / "pool", 16).fit(records)
    assert len(fits) == 12
    np.testing.assert_array_equal(grown.membership_.sum(axis=0), 8)
    assert_same(grown, make_pool(n_estimators=16).fit(records))


def test_without_a_random_state_the_folder_remembers_the_halves(records, tmp_path):
    first = make_pool(tmp_path / "pool", random_state=None).fit(records)
    grown = make_pool(tmp_path / "pool", 12, random_state=None).fit(records)
    np.testing.assert_array_equal(grown.membership_[:8], first.membership_)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            {"estimator": DecisionTreeClassifier(max_depth=4)},
            "differs in the parameter max_depth: 3 there, 4 here",
        ),
        (
            {"estimator": LogisticRegression()},
            "differs in the class of the estimator: DecisionTree.* there, LogisticRegression",
        ),
        ({"random_state": 1}, "differs in random_state"),
        ({"max_samples": 0.25}, "differs in max_samples: 0.5 there, 0.25 here"),
        ({"temperatures": (1.0, 3.0)}, "differs in temperatures"),
        ({"store": "outputs"}, "differs in store"),
        ({"resolution": 0.1}, "differs in resolution"),
        ({"augment": lambda records: [records]}, "differs in the records that augment makes"),
    ],
)
def test_folder_of_another_pool_is_refused(records, tmp_path, change, named):
    make_pool(tmp_path / "pool", 2).fit(records)
    with pytest.raises(CheckpointError, match=named):
        make_pool(tmp_path / "pool", 2, **change).fit(records)


def test_folder_of_other_records_is_refused(records, tmp_path):
    make_pool(tmp_path / "pool", 2).fit(records)
    with pytest.raises(CheckpointError, match="differs in the features of the records, or their"):
        make_pool(tmp_path / "pool", 2).fit(records[::-1])
    with pytest.raises(CheckpointError, match="differs in the number of records: 120 there, 60"):
        make_pool(tmp_path / "pool", 2).fit(records[:60])
    with pytest.raises(CheckpointError, match="differs in the labels of the records"):
        make_pool(tmp_path / "pool", 2).fit(Records(records.X, 1 - records.y))
    grouped = records.with_fields(group_by=np.arange(120) // 2)
    with pytest.raises(CheckpointError, match="differs in the field group_by"):
        make_pool(tmp_path / "pool", 2).fit(grouped)


def test_folder_of_another_version_is_refused(records, tmp_path):
    make_pool(tmp_path / "pool", 2).fit(records)
    path = tmp_path / "pool" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["versions"]["scikit-learn"] = "0.1"
    path.write_text(json.dumps(manifest))
    with pytest.raises(CheckpointError, match="differs in the version of scikit-learn: 0.1 there"):
        make_pool(tmp_path / "pool", 2).fit(records)


@pytest.mark.usefixtures("copied_workers")
def test_seeds_jobs_and_fits_of_the_estimator_do_not_matter(records, tmp_path):
    first = make_pool(tmp_path / "pool", 2).fit(records)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=5).fit(records.X, records.y)
    again = make_pool(tmp_path / "pool", 2, FrozenEstimator(fitted), n_jobs=2).fit(records)
    assert_same(again, first)


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_file_is_trained_again(records, tmp_path, damage):
    first = make_pool(tmp_path / "pool").fit(records)
    path = tmp_path / "pool" / "shadow-00003.npz"
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 255
    damaged = bytes(content[: {"truncate": len(content) // 2, "empty": 0}.get(damage)])
    path.write_bytes(damaged)
    with pytest.warns(UserWarning, match=r"shadow-00003.npz is damaged"):
        again = make_pool(tmp_path / "pool").fit(records)
    assert_same(again, first)
    assert (tmp_path / "pool" / "shadow-00003.npz.damaged").read_bytes() == damaged
    assert_same(make_pool(tmp_path / "pool").fit(records), first)


def test_a_damaged_manifest_is_refused(records, tmp_path):
    make_pool(tmp_path / "pool", 2).fit(records)
    (tmp_path / "pool" / "manifest.json").write_text("{")
    with pytest.raises(CheckpointError, match="cannot be read"):
        make_pool(tmp_path / "pool", 2).fit(records)
    (tmp_path / "pool" / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="no manifest.json"):
        make_pool(tmp_path / "pool", 2).fit(records)


def test_a_file_from_another_folder_is_refused(records, tmp_path):
    make_pool(tmp_path / "one", 2).fit(records)
    make_pool(tmp_path / "two", 2, random_state=1).fit(records)
    stray = (tmp_path / "two" / "shadow-00001.npz").read_bytes()
    (tmp_path / "one" / "shadow-00001.npz").write_bytes(stray)
    with pytest.raises(CheckpointError, match="written by another pool"):
        make_pool(tmp_path / "one", 2).fit(records)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test runs forked processes")
def test_two_processes_on_one_folder_do_not_disturb_each_other(records, tmp_path):
    context = multiprocessing.get_context("fork")
    slow = SlowTree(max_depth=3)
    pools = [make_pool(tmp_path / "pool", 10, slow) for _ in range(2)]
    processes = [context.Process(target=pool.fit, args=(records,)) for pool in pools]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert_same(
        make_pool(tmp_path / "pool", 10, slow).fit(records),
        make_pool(None, 10, slow).fit(records),
    )
    assert not list((tmp_path / "pool").glob("*.tmp"))


def test_models_outputs_and_labels_come_back(tmp_path):
    records = make_membership_problem(120, n_classes=3, random_state=0)[0]
    named = type(records)(records.X, np.array(["a", "b", "c"], dtype=object)[records.y])
    for store in ("models", "outputs"):
        first = make_pool(tmp_path / store, 4, store=store).fit(named)
        again = make_pool(tmp_path / store, 4, store=store).fit(named)
        np.testing.assert_array_equal(again.answers(named), first.answers(named))
        assert again.classes_.tolist() == ["a", "b", "c"]
    new = make_membership_problem(20, n_classes=3, random_state=1)[0]
    new = type(records)(new.X, np.array(["a", "b", "c"])[new.y])
    pool = make_pool(tmp_path / "models", 4, store="models").fit(named)
    assert LiRA(first_victim(named), FrozenEstimator(pool), online=False).fit(named).score_samples(
        new
    ).shape == (20,)


def first_victim(records):
    victim = DecisionTreeClassifier(max_depth=3, random_state=0)
    return FrozenEstimator(victim.fit(records.X[::2], records.y[::2]))


def test_warm_start_grows_in_memory(records, monkeypatch):
    fits = count_fits(monkeypatch)
    pool = make_pool(n_estimators=4, warm_start=True).fit(records)
    assert_same(pool.set_params(n_estimators=10).fit(records), make_pool(None, 10).fit(records))
    assert len(fits) == 4 + 6 + 10
    with pytest.raises(CheckpointError, match="differs in the number of records"):
        pool.fit(records[:100])
    assert pool.n_records_ == 120  # a fit that is refused leaves the one before
    assert clone(pool).fit(records[:100]).n_records_ == 100


@pytest.mark.parametrize("store", ["signals", "outputs"])
def test_a_pool_that_grows_holds_its_signals_once(records, store):
    settings = {"estimator": GaussianNB(), "store": store, "random_state": 0}
    pool = ShadowPool(n_estimators=4, warm_start=True, **settings).fit(records)
    for size in (4, 8):
        pool.set_params(n_estimators=size).fit(records)
        for k in range(size):
            arrays = pool._memory.load(k, None).arrays
            assert np.shares_memory(arrays["raw"], pool.signals_)
            assert store == "signals" or np.shares_memory(arrays["outputs"], pool.outputs_)
    assert_same(pool, ShadowPool(n_estimators=8, **settings).fit(records))
    assert_same(pool.first(4), ShadowPool(n_estimators=4, **settings).fit(records))
    assert pool.first(8)._memory is None


@pytest.mark.parametrize("resolution", ["auto", 0])
def test_a_pool_of_a_regressor_grows_from_its_residuals_not_from_their_logarithm(resolution):
    records = Records(np.arange(24.0).reshape(12, 2) % 7, np.arange(12.0) ** 1.5 % 5)
    settings = {"resolution": resolution, "batched": False, "random_state": 0}
    pool = ShadowPool(Ridge(), 2, warm_start=True, **settings).fit(records)
    grown = pool.set_params(n_estimators=4).fit(records)
    assert_same(grown, ShadowPool(Ridge(), 4, **settings).fit(records))


def test_warnings_of_stored_models_are_given_again(records, tmp_path):
    estimator = LogisticRegression(max_iter=1)
    for _ in range(2):
        with pytest.warns(UserWarning, match="2 of 2 shadow models: lbfgs failed"):
            make_pool(tmp_path / "pool", 2, estimator).fit(records)


def test_the_manifest_tells_a_person_what_the_folder_is(records, tmp_path):
    make_pool(tmp_path / "pool", 2).fit(records)
    manifest = json.loads((tmp_path / "pool" / "manifest.json").read_text())
    assert manifest["estimator"] == "DecisionTreeClassifier(max_depth=3)"
    assert manifest["records"]["n"] == 120
    assert manifest["way"] == "one_by_one"
    assert set(manifest["versions"]) == {"numpy", "python", "scikit-learn", "scipy"}
