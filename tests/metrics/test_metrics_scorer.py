import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from skmia.exceptions import ResolutionWarning
from skmia.metrics import (
    membership_advantage_score,
    membership_advantage_scorer,
    tpr_at_fpr_score,
    tpr_at_fpr_scorer,
)


@pytest.fixture(scope="module")
def evidence():
    return make_classification(n_samples=1200, flip_y=0.3, random_state=0)


def test_advantage_scorer_scores_hard_predictions(evidence):
    X, membership = evidence
    attack = LogisticRegression().fit(X, membership)
    expected = membership_advantage_score(membership, attack.predict(X))
    assert membership_advantage_scorer()(attack, X, membership) == expected


@pytest.mark.parametrize(
    "attack, scores",
    [
        (LogisticRegression(), lambda attack, X: attack.decision_function(X)),
        (Perceptron(), lambda attack, X: attack.decision_function(X)),
        (GaussianNB(), lambda attack, X: attack.predict_proba(X)[:, 1]),
    ],
)
def test_low_fpr_scorer_takes_what_the_attack_answers(evidence, attack, scores):
    X, membership = evidence
    attack = clone(attack).fit(X, membership)
    expected = tpr_at_fpr_score(membership, scores(attack, X), max_fpr=0.05)
    assert tpr_at_fpr_scorer(0.05)(attack, X, membership) == expected


def test_boolean_membership_scores_alike(evidence):
    X, membership = evidence
    scorer = tpr_at_fpr_scorer(0.05)
    attack = LogisticRegression()
    scores = [scorer(attack.fit(X, bits), X, bits) for bits in (membership, membership == 1)]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("scorer", [membership_advantage_scorer(), tpr_at_fpr_scorer(0.05)])
def test_scorers_survive_pickle_and_clone(evidence, scorer):
    X, membership = evidence
    attack = LogisticRegression().fit(X, membership)
    expected = scorer(attack, X, membership)
    assert pickle.loads(pickle.dumps(scorer))(attack, X, membership) == expected
    search = clone(GridSearchCV(LogisticRegression(), {}, scoring=scorer))
    assert search.scoring(attack, X, membership) == expected


@pytest.mark.parametrize("scorer", [membership_advantage_scorer(), tpr_at_fpr_scorer(0.1)])
def test_grid_search_selects_by_one_scorer(evidence, scorer):
    X, membership = evidence
    grid = {"var_smoothing": [1e-9, 1.0, 100.0]}
    search = GridSearchCV(GaussianNB(), grid, scoring=scorer, cv=3, error_score="raise")
    search.fit(X, membership)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.score(X, membership) == scorer(search.best_estimator_, X, membership)


def test_grid_search_reports_several_scorers(evidence):
    X, membership = evidence
    scoring = {
        "advantage": membership_advantage_scorer(),
        "tpr_at_10": tpr_at_fpr_scorer(0.1),
        "auc": "roc_auc",
    }
    search = GridSearchCV(
        LogisticRegression(), {"C": [1e-4, 1.0]}, scoring=scoring, refit="tpr_at_10", cv=3
    ).fit(X, membership)
    assert search.best_score_ == search.cv_results_["mean_test_tpr_at_10"].max()
    assert {f"mean_test_{name}" for name in scoring} <= set(search.cv_results_)


def test_scorer_passes_its_policy_on(evidence):
    X, membership = evidence
    attack = LogisticRegression().fit(X, membership)
    with pytest.warns(ResolutionWarning, match="max_fpr=0.001"):
        tpr_at_fpr_scorer(0.001)(attack, X, membership)
    tpr_at_fpr_scorer(0.001, on_unresolvable="ignore")(attack, X, membership)


def test_wrong_settings_fail_before_any_fit():
    with pytest.raises(ValueError, match="max_fpr must be a fraction"):
        tpr_at_fpr_scorer(5)
    with pytest.raises(ValueError, match="on_unresolvable must be one of"):
        tpr_at_fpr_scorer(0.1, on_unresolvable="hush")


@pytest.mark.parametrize(
    "make, words",
    [
        (membership_advantage_scorer, r"pass scoring=membership_advantage_scorer\(\)\."),
        (tpr_at_fpr_scorer, r"pass scoring=tpr_at_fpr_scorer\(0\.01\)\."),
    ],
)
def test_what_makes_a_scorer_says_how_to_pass_one(evidence, make, words):
    with pytest.raises(TypeError, match=f"{make.__name__} makes a scorer; {words}"):
        make(LogisticRegression(), *evidence)
