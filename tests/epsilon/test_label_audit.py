"""Audits of label privacy, on classifiers whose epsilon for labels is known."""

import numpy as np
import pytest
from calibrations.labels import RandomizedLabels, audit_labels
from scipy.stats import binom
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia.attacks import ThresholdAttack
from skmia.epsilon import LabelAudit
from skmia.exceptions import PrivacyWarning

X, Y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier()


@pytest.mark.parametrize("alternatives", ["own", "wrong"])
def test_canaries_have_two_labels_of_which_one_is_trained_on(alternatives):
    audit = LabelAudit(KNeighborsClassifier(1), alternatives, n_canaries=50, random_state=0)
    audit.fit(X, Y)
    assert len(np.unique(audit.rows_)) == 50
    own, other = audit.labels_.T
    assert (own != other).all()
    assert ((own == Y[audit.rows_]).all(), (other == Y[audit.rows_]).any()) == (
        (True, False) if alternatives == "own" else (False, False)
    )
    trained = audit.estimator_._y
    np.testing.assert_array_equal(trained[audit.rows_], np.where(audit.coins_, own, other))
    rest = np.delete(np.arange(len(X)), audit.rows_)
    np.testing.assert_array_equal(trained[rest], Y[rest])
    assert len(audit.reference_._y) == 100


def test_the_bound_rarely_exceeds_the_epsilon_of_randomized_response():
    rng, n_trials = np.random.default_rng(0), 30
    found = [audit_labels(rng, 1.0, 3, n_rows=200) for _ in range(n_trials)]
    assert binom.sf(sum(audit.epsilon_ > 1 for audit in found) - 1, n_trials, 0.05) > 1e-3
    # Labels are kept with probability e / (e + 2), changed to the alternative with 1 / (e + 2).
    expected = (np.e - 1) / (np.e + 2)
    advantages = [audit.advantage_.estimate for audit in found]
    assert abs(np.mean(advantages) - expected) < 4 / np.sqrt(n_trials * 100)


def test_without_privacy_every_guess_is_right():
    audit = LabelAudit(RandomizedLabels(50.0), n_canaries=100, random_state=0).fit(
        X + np.arange(150)[:, None], Y
    )
    assert audit.advantage_.estimate == 1
    assert audit.epsilon_ == audit.result_.largest > 2
    assert audit.score() == audit.epsilon_


def test_the_reference_removes_what_the_features_tell():
    forest = RandomForestClassifier(20, min_samples_leaf=3)
    # A label of the own class looks trained on whatever the coin; only the reference knows that.
    alone, helped = (
        LabelAudit(forest, n_canaries=75, reference=reference, random_state=0).fit(X, Y)
        for reference in (False, True)
    )
    assert alone.reference_ is None
    assert helped.advantage_.low > alone.advantage_.estimate
    assert abs(helped.scores_.sum()) < 1e-9


def test_a_membership_attack_scores_both_labels():
    attack = ThresholdAttack(signal="loss")
    settings = {"n_canaries": 40, "reference": False, "random_state": 0}
    audit = LabelAudit(TREE.set_params(max_depth=3), "wrong", attack=attack, **settings).fit(X, Y)
    log_proba = np.log(np.maximum(audit.estimator_.predict_proba(X[audit.rows_]), 1e-300))
    first, second = (log_proba[np.arange(40), labels] for labels in audit.labels_.T)
    assert ((first - second) * audit.scores_ >= 0).all()
    assert audit.coins_.dtype == bool
    own = LabelAudit(TREE.set_params(max_depth=3), "wrong", **settings).fit(X, Y)
    np.testing.assert_array_equal(np.sign(audit.scores_), np.sign(own.scores_))


def test_results_are_reproducible_and_one_canary_shows_nothing():
    first, other = (LabelAudit(n_canaries=30, random_state=3).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.scores_, other.scores_)
    assert first.advantage_ == other.advantage_
    lone = LabelAudit(n_canaries=1, random_state=0).fit(X, Y)
    assert abs(lone.scores_[0]) < 1e-9 and lone.epsilon_ == 0


def test_a_claim_that_cannot_be_refuted_is_warned_of():
    with pytest.warns(PrivacyWarning, match="cannot refute the claim. Use more canaries"):
        LabelAudit(TREE, n_canaries=10, claimed_epsilon=20.0, random_state=0).fit(X, Y)


def test_all_rows_but_two_may_be_canaries():
    audit = LabelAudit(KNeighborsClassifier(1), n_canaries=148, random_state=0).fit(X, Y)
    assert len(audit.scores_) == 148


@pytest.mark.parametrize(
    "settings, labels, message",
    [
        ({"n_canaries": 149}, Y, "n_canaries must be at most 148 of 150 rows"),
        ({"n_canaries": 151, "reference": False}, Y, "n_canaries must be at most 150"),
        ({"alternatives": "wrong"}, Y > 0, "needs three classes or more; got 2"),
        ({"alternatives": "other"}, Y, "alternatives"),
        ({"delta": 0.5}, Y, "delta must be at most"),
    ],
)
def test_bad_settings_are_refused(settings, labels, message):
    with pytest.raises(ValueError, match=message):
        LabelAudit(TREE, random_state=0).set_params(**settings).fit(X, labels)
