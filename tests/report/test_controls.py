"""Controls: what must be caught is, what must not is not, and they fail where they should."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from draws import few_and_many, most_by_chance
from joblib import parallel_config
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skmia
from skmia import Records
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import negative_control, positive_control
from skmia.victims import CallableVictim

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)


def make_records(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return Records(X, (X[:, 0] > 0).astype(int)), rng.permutation(n) % 2


def test_what_is_learned_by_heart_is_caught_and_chance_is_not():
    records, membership = make_records()
    positive = positive_control(records, membership, shadows=8, random_state=0)
    assert (positive.kind, positive.passed) == ("positive", True)
    # Labels are a coin, so that half of the others get the answer that all members get.
    loss = positive.frame.set_index("attack").loc["threshold (loss)"]
    assert loss["low"] < 0.75 < loss["high"]
    negative = negative_control(
        DecisionTreeClassifier(random_state=0), records, membership, shadows=8, random_state=0
    )
    assert (negative.kind, negative.passed) == ("negative", True)
    names = ["threshold (loss)", "LiRA", "RMIA", "StackedAttack"]
    assert list(negative.frame["attack"]) == names


@few_and_many(120)
def test_negative_control_fails_at_its_level_only(n_draws):
    failed = []
    for seed in range(n_draws):
        records, membership = make_records(100, seed)
        attacks = {"t": ThresholdAttack()}
        control = negative_control(
            LogisticRegression(), records, membership, attacks=attacks, random_state=seed
        )
        failed.append(not control.passed)
    assert sum(failed) <= most_by_chance(n_draws, 0.05)


def test_positive_control_fails_where_nothing_could_be_found():
    # No p-value is below 1/6 where there are six ways to choose two members of four.
    records = Records(np.random.default_rng(0).normal(size=(4, 2)), [0, 1, 0, 1])
    control = positive_control(records, [1, 1, 0, 0], shadows=4, random_state=0)
    assert not control.passed and control.pvalue > 0.1
    numbers = Records(records.X, [0.1, 0.2, 0.3, 0.4])
    report = audit(
        DecisionTreeRegressor(random_state=0), numbers, shadows=4, controls=True, random_state=0
    )
    assert report.evidence == "unknown"
    assert report.verdict.startswith("Inconclusive: leakage can be neither shown")


def test_a_shift_that_the_model_sees_fails_the_negative_control():
    records, membership = make_records()
    noisy = np.where((membership == 0) & (records.X[:, 1] > 0), 1 - records.y, records.y)
    shifted = Records(records.X, noisy)  # the labels of the others are worse
    members = shifted[membership == 1]
    victim = LogisticRegression().fit(members.X, members.y)
    attacks = {"loss": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "shadows": 8, "controls": True, "random_state": 0}
    report = audit(victim, shifted, membership, **settings)
    assert not report.controls["negative"].passed
    assert report.checks["negative control"].is_warning
    assert report.evidence == "shift"
    assert "Warning (negative control)" in report.summary(verbose=True)


@pytest.mark.parametrize("kind", slow_but(["frame", "sparse", "image"], "frame"))
def test_positive_control_reads_every_kind_of_features(kind):
    records, membership = make_records()
    X = records.X
    kinds = {
        "frame": pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": X[:, 2]}),
        "sparse": sparse.csr_array(X),
        "image": np.stack([X, X], axis=2),
    }
    read = Records(kinds[kind], np.where(records.y, "yes", "no"))
    assert positive_control(read, membership, shadows=4, random_state=0).passed


def test_audit_runs_them_when_asked_and_says_what_it_could_not(problem):
    victim, records, membership = problem
    settings = {"shadows": 4, "random_state": 0, "attacks": {"t": ThresholdAttack()}}
    without = audit(victim, records, membership, **settings)
    assert without.checks["positive control"].status == "not run"
    assert without.controls == {}
    both = audit(victim, records, membership, controls=True, **settings)
    assert {kind: one.passed for kind, one in both.controls.items()} == {
        "positive": True,
        "negative": True,
    }
    # The smallest possible p-value is named as a limit.
    assert both.controls["positive"].pvalue == 1 / 100
    assert "(p ≤ 0.01)" in both.checks["positive control"].text
    service = CallableVictim(victim.predict_proba, victim.classes_)
    asked = audit(service, records, membership, controls=True, **settings)
    assert asked.checks["negative control"].text == "The victim cannot be trained."
    own = {"mine": ThresholdAttack(FrozenEstimator(victim))}
    held = audit(victim, records, membership, controls=True, **(settings | {"attacks": own}))
    assert held.checks["negative control"].text == "Every attack has its own victim."


def test_no_attack_without_a_victim_is_an_error(problem):
    victim, records, membership = problem
    with pytest.raises(ValueError, match="membership needs one value for each of"):
        negative_control(victim, records, membership[:-1], random_state=0)
    with pytest.raises(ValueError, match="without its own victim"):
        negative_control(
            victim, records, membership, attacks={"t": ThresholdAttack(victim)}, random_state=0
        )


def test_equal_seeds_give_equal_controls():
    records, membership = make_records(200)
    with parallel_config("threading"):
        one, two = (
            positive_control(records, membership, shadows=4, n_jobs=jobs, random_state=3)
            for jobs in (1, 2)
        )
    pd.testing.assert_frame_equal(one.frame, two.frame)
