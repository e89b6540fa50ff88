"""A pool whose signals stay in files gives the numbers of a pool in memory."""

import os
import pickle
import shutil

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, ShadowPool, audit
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ShadowAttack, StackedAttack
from skmia.datasets import make_membership_problem
from skmia.disparity import DisparityTest
from skmia.exceptions import CheckpointError

TREE = DecisionTreeClassifier(max_depth=3)


@pytest.fixture(scope="module")
def problem():
    return make_membership_problem(200, random_state=0)


def make_both(records, folder, model=TREE, n_estimators=8, **settings):
    """A pool in memory and the same pool on disk."""
    pool = ShadowPool(model, n_estimators, batched=False, random_state=0, **settings)
    on_disk = clone(pool).set_params(checkpoint=folder, on_disk=True, batched="auto")
    return pool.fit(records), on_disk.fit(records)


@pytest.fixture(scope="module")
def both(problem, tmp_path_factory):
    """A pool in memory and the same one on disk, which no test changes."""
    return make_both(problem[0], tmp_path_factory.mktemp("both") / "pool")


def assert_same(pool, on_disk):
    for name in ("signals_", "membership_", "outputs_"):
        one, other = getattr(pool, name), getattr(on_disk, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            np.testing.assert_array_equal(one, np.asarray(other))
    np.testing.assert_array_equal(pool.resolution_, on_disk.resolution_)
    assert pool.scale_ == on_disk.scale_


def shifted(records):
    return [Records(records.X + 0.1, records.y)]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": GaussianNB(), "store": "outputs"},
        {"model": DecisionTreeRegressor(max_depth=3), "design": "independent"},
        {"design": "balanced", "augment": shifted, "signals": ("auto", "entropy")},
        {"store": "models", "max_samples": 0.2, "resolution": 0.01},
    ],
    ids=["trees", "outputs", "regressors", "augmented", "models"],
)
def test_numbers_are_those_in_memory(problem, tmp_path, settings):
    pool, on_disk = make_both(problem[0], tmp_path / "pool", **settings)
    assert_same(pool, on_disk)
    assert_same(pool.first(4), on_disk.first(4))
    records = problem[0][np.random.default_rng(0).permutation(200)[:50]]
    np.testing.assert_array_equal(pool.transform(records), on_disk.transform(records))
    np.testing.assert_array_equal(pool.membership(records), on_disk.membership(records))


@pytest.mark.parametrize(
    "attack",
    [
        LiRA(),
        pytest.param(LiRA(variance="conjugate", target_fpr=0.1), marks=pytest.mark.slow),
        RMIA(),
        pytest.param(RMIA(online=False), marks=pytest.mark.slow),
        CalibratedAttack(),
        StackedAttack(boosted=False, random_state=0),
        ShadowAttack(attack_estimator=TREE, random_state=0),
    ],
    ids=lambda attack: type(attack).__name__,
)
def test_scores_are_those_in_memory(problem, both, tmp_path, attack):
    records, membership = problem
    if isinstance(attack, ShadowAttack):
        both = make_both(records, tmp_path / "pool", store="outputs")
    victim = clone(TREE).fit(records.X[membership == 1], records.y[membership == 1])
    results = []
    for pool in both:
        own = {"victim": FrozenEstimator(victim), "shadows": FrozenEstimator(pool)}
        fitted = clone(attack).set_params(**own).fit(records)
        results.append((fitted.offset_, fitted.score_samples(records).tolist()))
    assert results[0] == results[1]


@pytest.mark.slow  # its scores are compared attack by attack
@pytest.mark.usefixtures("quick_audits")
def test_a_report_is_that_in_memory(problem, both):
    records, membership = problem
    victim = clone(TREE).fit(records.X[membership == 1], records.y[membership == 1])
    attacks = {"LiRA": LiRA(), "RMIA": RMIA()}
    one, other = (
        audit(victim, records, membership, shadows=pool, attacks=attacks, file=False)
        for pool in both
    )
    assert one.to_frame().equals(other.to_frame())
    assert one.evidence == other.evidence


def test_permutations_of_groups_are_those_in_memory(problem, both):
    records = problem[0].with_fields(group=np.arange(200) % 2)
    results = []
    for pool in both:
        test = DisparityTest(attack=LiRA(shadows=FrozenEstimator(pool)), random_state=0)
        test.fit(records)
        results.append((test.statistic_, test.pvalue_))
    assert results[0] == results[1]


def test_an_interrupted_pool_goes_on(problem, tmp_path, monkeypatch):
    records, fits, fit = problem[0], [], DecisionTreeClassifier.fit

    def break_off(self, X, y):
        fits.append(1)
        if len(fits) == 4:
            raise KeyboardInterrupt
        return fit(self, X, y)

    folder = tmp_path / "pool"
    pool = ShadowPool(TREE, 8, checkpoint=folder, on_disk=True, random_state=0)
    monkeypatch.setattr(DecisionTreeClassifier, "fit", break_off)
    with pytest.raises(KeyboardInterrupt):
        pool.fit(records)
    pool.fit(records)
    assert len(fits) == 9
    assert_same(ShadowPool(TREE, 8, random_state=0).fit(records), pool)
    larger = clone(pool).set_params(n_estimators=10).fit(records)
    assert_same(ShadowPool(TREE, 10, random_state=0).fit(records), larger)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["manifest.json", *(f"shadow-{k:05d}.npz" for k in range(10))]


def test_a_folder_serves_both_and_workers_write_to_it(problem, tmp_path):
    in_memory = ShadowPool(TREE, 4, checkpoint=tmp_path / "pool", random_state=0)
    in_memory.fit(problem[0])
    larger = clone(in_memory).set_params(n_estimators=8, on_disk=True)
    with joblib.parallel_config("threading", n_jobs=2):
        larger.fit(problem[0])
    assert_same(clone(larger).set_params(on_disk=False).fit(problem[0]), larger)


def test_it_travels_without_its_signals(both):
    _, pool = both
    assert_same(pool, pickle.loads(pickle.dumps(pool)))
    assert len(pickle.dumps(pool.signals_)) < 20_000


def test_files_that_are_not_those_of_the_fit_are_refused(problem, tmp_path):
    folder = tmp_path / "pool"
    _, pool = make_both(problem[0], folder)
    first, second = folder / "shadow-00000.npz", folder / "shadow-00001.npz"
    content = first.read_bytes()
    shutil.copy(second, first)
    with pytest.raises(CheckpointError, match=r"00000\.npz has changed since the pool was fitted"):
        pool.transform(problem[0])
    edited = bytearray(content)
    edited[1500] ^= 1
    first.write_bytes(edited)
    with pytest.raises(CheckpointError, match=r"00000\.npz has changed since the pool was fitted"):
        pool.transform(problem[0])
    first.write_bytes(content[:-3000])
    with pytest.raises(CheckpointError, match=r"00000\.npz has changed since the pool was fitted"):
        pool.transform(problem[0])
    first.unlink()
    with pytest.raises(CheckpointError, match=r"00000\.npz, from which .* cannot be read: No such"):
        pool.transform(problem[0])
    # A file with the same content may have been written by another process of the same fit.
    first.write_bytes(content)
    assert_same(clone(pool).set_params(checkpoint=None, on_disk=False).fit(problem[0]), pool)


def test_damaged_and_foreign_files_are_found_by_the_fit(problem, tmp_path):
    folder = tmp_path / "pool"
    pool, on_disk = make_both(problem[0], folder)
    path = folder / "shadow-00002.npz"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.warns(UserWarning, match="is damaged"):
        on_disk.fit(problem[0])
    assert_same(pool, on_disk)
    ShadowPool(TREE, 4, checkpoint=tmp_path / "other", on_disk=True, random_state=1).fit(problem[0])
    shutil.copy(tmp_path / "other" / path.name, path)
    with pytest.raises(CheckpointError, match="was written by another pool"):
        on_disk.fit(problem[0])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_access_is_refused(problem, tmp_path):
    tmp_path.chmod(0o500)
    pool = ShadowPool(TREE, 4, checkpoint=tmp_path / "pool", on_disk=True)
    with pytest.raises(CheckpointError, match="Permission denied"):
        pool.fit(problem[0])
    tmp_path.chmod(0o700)


def test_settings_that_exclude_each_other(problem, tmp_path):
    with pytest.raises(ValueError, match="on_disk=True requires a folder"):
        ShadowPool(TREE, 4, on_disk=True).fit(problem[0])
    with pytest.raises(ValueError, match="batched=True trains many models"):
        ShadowPool(TREE, 4, on_disk=True, checkpoint=tmp_path, batched=True).fit(problem[0])


def test_blocks_of_answers_change_nothing(problem, tmp_path, monkeypatch):
    pools = [
        ShadowPool(TREE, 4, signals=("auto", "entropy"), augment=shifted, random_state=0),
        ShadowPool(GaussianNB(), 4, random_state=0),
        ShadowPool(DecisionTreeRegressor(max_depth=3), 4, random_state=0),
    ]
    whole = [clone(pool).fit(problem[0]) for pool in pools]
    for module in ("_core.query", "_training.job", "shadow._job", "shadow._answers"):
        monkeypatch.setattr(f"skmia.{module}.CHUNK", 30)
    for pool, known in zip(pools, whole, strict=True):
        assert_same(pool.fit(problem[0]), known)
        np.testing.assert_array_equal(pool.to_answers().steps, known.to_answers().steps)
