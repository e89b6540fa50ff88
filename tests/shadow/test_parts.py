"""Many records are scored part by part, and their tables are in files, with the same numbers."""

import itertools
import mmap

import joblib
import numpy as np
import pytest
from cells import slow_but
from scipy.stats import rankdata
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool
from skmia._core import moments, out_of_core
from skmia._core.hashing import digest_records
from skmia.attacks import RMIA, LiRA, StackedAttack
from skmia.base import _pool_attack
from skmia.datasets import make_membership_problem
from skmia.metrics import auc_interval, membership_roc_curve, operating_point
from skmia.shadow import _answers

N = 700
ORDERS = {
    "as they are": slice(None),
    "a slice": slice(50, 650),
    "shuffled": np.random.default_rng(0).permutation(N),
    "repeated": np.repeat(np.arange(0, N, 2), 2),
}
ATTACKS = {
    "LiRA": LiRA(),
    "as printed": LiRA(variance="example", online=False),
    "RMIA": RMIA(temperature=1.0),
}


@pytest.fixture(scope="module")
def problem():
    """Records, the first of which come again at the end, and a victim."""
    records, membership = make_membership_problem(N - 50, random_state=0)
    records = Records.concat([records, records[:50]])
    membership = np.append(membership, membership[:50]) == 1
    return records, membership, GaussianNB().fit(records.X[membership], records.y[membership])


@pytest.fixture
def in_parts(monkeypatch):
    """A function that has all tables in files, and records scored in parts of some hundreds."""

    def turn_on():
        monkeypatch.setattr(_pool_attack, "_MOST_AT_ONCE", 0)
        monkeypatch.setattr(_pool_attack, "_N_IN_PART", 280)
        monkeypatch.setattr(out_of_core, "_MOST_IN_MEMORY", 0)
        monkeypatch.setattr(moments, "_BLOCK_ROWS", 50)

    monkeypatch.setattr(_answers, "_MOST_BYTES", 0)  # moments of many records are not kept
    monkeypatch.setattr(_pool_attack, "_BLOCK", 1 << 10)
    return turn_on


@pytest.mark.parametrize(
    "name, on_disk",
    slow_but(
        itertools.product(ATTACKS, [False, True]),
        *(("as printed", True), ("RMIA", False)),
    ),
)
def test_parts_have_the_scores_of_the_whole(problem, in_parts, name, on_disk, tmp_path):
    (records, _, victim), attack = problem, ATTACKS[name]
    folder = {"checkpoint": tmp_path / "pool", "on_disk": True} if on_disk else {}
    pool = ShadowPool(GaussianNB(), 8, random_state=0, **folder)

    def score():
        shadows = FrozenEstimator(pool.fit(Records(records.X, records.y)))
        attack.set_params(victim=victim, shadows=shadows).fit(records)
        return [attack.score_samples(records[order]) for order in ORDERS.values()]

    whole = score()
    in_parts()
    with joblib.parallel_config("threading", n_jobs=2):
        spread = score()
    for some, others, again in zip(whole, score(), spread, strict=True):
        np.testing.assert_array_equal(some, others)
        np.testing.assert_array_equal(some, again)


def test_an_attack_that_counts_columns_takes_the_whole_pool(problem, monkeypatch):
    records, _, victim = problem
    pool = FrozenEstimator(ShadowPool(GaussianNB(), 8, random_state=0).fit(records))
    attack = StackedAttack(victim, pool).fit(records)
    whole = attack.score_samples(records)
    monkeypatch.setattr(_pool_attack, "_MOST_AT_ONCE", 0)
    np.testing.assert_allclose(attack.score_samples(records), whole, rtol=1e-9)


def test_rates_are_the_same_by_blocks(in_parts):
    rng = np.random.default_rng(0)
    membership = rng.random(1001) < 0.4

    def measure():
        rng, found = np.random.default_rng(1), []
        for digits in (0, 1, 15):
            scores = np.round(rng.normal(size=1001) + membership, digits)
            for people in (None, rng.integers(300, size=1001)):
                found += [auc_interval(membership, scores, groups=people)]
                point = operating_point(
                    membership, scores, 0.1, groups=people, on_unresolvable="ignore"
                )
                found += [tuple(vars(point).values()), *membership_roc_curve(membership, scores)]
        return found

    whole = measure()
    in_parts()
    for some, others in zip(whole, measure(), strict=True):
        np.testing.assert_array_equal(some, others)


def test_the_area_is_that_of_the_ranks(in_parts):
    in_parts()
    rng = np.random.default_rng(0)
    membership, scores = rng.random(999) < 0.3, rng.integers(20, size=999)
    n_members, ranks = membership.sum(), rankdata(scores)
    pairs = ranks[membership].sum() - n_members * (n_members + 1) / 2
    auc = auc_interval(membership, scores)[0]
    assert auc == pytest.approx(pairs / n_members / (999 - n_members), rel=1e-12)


def test_tables_in_files_are_ordinary_arrays_without_a_name(in_parts):
    in_parts()
    X = np.random.default_rng(0).normal(size=(300, 3))
    digests = digest_records(X)
    assert type(digests) is np.ndarray
    assert isinstance(digests.base, mmap.mmap)
    np.testing.assert_array_equal(digests[:, 7], digest_records(X[[7]])[:, 0])
