"""Groups in which nothing could be significant on one model, though shadow models leak there."""

from functools import partial

import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from sklearn.linear_model import LogisticRegression

import skmia
from skmia import Records
from skmia.attacks import LiRA
from skmia.report._run import ControlRounds
from skmia.report.checks._results import _judge_rounds

pytestmark = pytest.mark.usefixtures("attacks_alone")

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)

ONE = {"attacks": {"LiRA": LiRA()}}


def make_outliers(n_outliers, seed=0, n=1000):
    """Each has a feature of its own, and a coin for a label."""
    rng = np.random.default_rng(seed)
    own = np.zeros((n, n_outliers))
    own[np.arange(n_outliers), np.arange(n_outliers)] = 10
    X = np.hstack([rng.normal(size=(n, 1)), own])
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    y[:n_outliers] = rng.integers(0, 2, n_outliers)
    kind = np.where(np.arange(n) < n_outliers, "outlier", "rest")
    membership = np.arange(n) % 2  # half of the outliers, too
    members = np.flatnonzero(membership)
    victim = LogisticRegression().fit(X[members], y[members])
    return victim, Records(X, y, kind=kind), membership


@pytest.mark.parametrize("n_outliers", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_a_memorized_group_is_never_passed_over(n_outliers):
    settings = {"group": "kind", "shadows": 16, "random_state": 0, **ONE}
    report = audit(*make_outliers(n_outliers, n=600), **settings)
    aucs = report.to_frame().query("group == 'outlier' and metric == 'auc'")
    assert aucs["estimate"].max() == 1
    if n_outliers == 20:
        assert report.evidence == "leak"
        assert "In kind=outlier (10 members, 10 non-members)" in report.verdict
    else:
        assert report.evidence == "unknown"
        assert "In kind=outlier, the advantage of an attack on shadow models" in report.verdict
        assert "its 6 records are too few" in report.verdict


def test_a_memorized_group_is_named_beside_a_leak_over_all_records():
    report = audit(*make_outliers(100, n=600), group="kind", shadows=8, random_state=0, **ONE)
    assert report.verdict.startswith("Leakage found. ")
    assert "In kind=outlier (50 members, 50 non-members) the AUC of" in report.verdict


def test_a_memorized_group_of_one_side_is_not_passed_over():
    victim, records, membership = make_outliers(6)
    membership[:6] = 0
    members = np.flatnonzero(membership)
    victim.fit(records.X[members], records.y[members])
    report = audit(victim, records, membership, group="kind", shadows=16, random_state=0, **ONE)
    assert set(report.to_frame().query("group == 'outlier'")["status"]) == {"too few records"}
    assert report.evidence == "unknown" and "In kind=outlier" in report.verdict


def test_a_small_group_without_a_leak_is_stated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    kind = np.where(np.arange(400) < 4, "few", "many")
    records = Records(X, (X[:, 0] > 0).astype(int), kind=kind)
    victim = LogisticRegression(C=1e-3).fit(X[200:], records.y[200:])
    membership = rng.permutation(400) % 2
    membership[:4] = [0, 1, 0, 1]
    report = audit(victim, records, membership, shadows=8, group="kind", random_state=0, **ONE)
    check = report.checks["small groups"]
    assert check.status == "stated"
    assert check.text == (
        "Too few records to judge kind=few: there, not even a perfect attack could be "
        "distinguished from chance."
    )


@few_and_many(5000)
def test_the_bound_holds_for_blind_guesses(n_draws):
    rng, found = np.random.default_rng(0), 0
    people = np.repeat(np.arange(6), 2)
    for _ in range(n_draws):
        inside = np.array([(rng.permutation(6) < 3)[people] for _ in range(4)]).astype(int)
        guesses = (rng.random((4, 6)) < 0.5)[:, people]
        rounds = ControlRounds(guesses, inside)
        found += _judge_rounds(rounds, np.ones(12, dtype=bool), people)[1] <= 0.05
    assert found <= most_by_chance(n_draws, 0.05)


def test_right_guesses_are_counted_by_person():
    inside = np.array([[1, 1, 0, 0]] * 4)
    rounds = ControlRounds(inside, inside)
    everyone = np.ones(4, dtype=bool)
    advantage, by_record = _judge_rounds(rounds, everyone, None)
    assert advantage == 1
    assert by_record == pytest.approx(np.exp(-8))  # 16 guesses
    assert _judge_rounds(rounds, everyone, [0, 0, 1, 1])[1] == pytest.approx(
        np.exp(-4)
    )  # 8 guesses
