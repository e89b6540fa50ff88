"""What output defenses let through."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.defenses import (
    LabelOnlyDefense,
    ReleasedFileDefense,
    RoundingDefense,
    TemperatureDefense,
    TopKDefense,
)

X, Y = load_digits(return_X_y=True)
MODEL = FrozenEstimator(RandomForestClassifier(50, random_state=0).fit(X[::2], Y[::2]))
PROBA = MODEL.predict_proba(X)

DEFENSES = [
    LabelOnlyDefense(LogisticRegression()),
    RoundingDefense(LogisticRegression()),
    TemperatureDefense(LogisticRegression()),
    TopKDefense(LogisticRegression()),
    TopKDefense(LogisticRegression(), k=1, renormalize=True),
]


def answer(defense, **settings):
    return defense(MODEL, **settings).fit(X, Y).predict_proba(X)


@pytest.mark.parametrize(
    "defense", [RoundingDefense, TemperatureDefense, TopKDefense, ReleasedFileDefense]
)
def test_several_outputs_are_defended_one_by_one(defense):
    targets = np.column_stack([Y > 0, Y > 1])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    with pytest.raises(ValueError, match=r"one output; got y of shape .*MultiOutputClassifier"):
        defense(tree).fit(X, targets)
    assert not get_tags(defense(tree)).classifier_tags.multi_label
    answers = MultiOutputClassifier(defense(tree)).fit(X, targets).predict_proba(X)
    for column, answer in zip(targets.T, answers):
        np.testing.assert_array_equal(answer, defense(tree).fit(X, column).predict_proba(X))
    # Labels are those of the tree, for each output.
    labels = LabelOnlyDefense(tree).fit(X, targets).predict(X)
    np.testing.assert_array_equal(labels, tree.fit(X, targets).predict(X))


def test_top_k_keeps_the_largest_as_they_are():
    for k in (1, 3, 10):
        kept = answer(TopKDefense, k=k)
        assert ((kept > 0).sum(axis=1) <= k).all()
        np.testing.assert_array_equal(np.sort(kept)[:, -k:], np.sort(PROBA)[:, -k:])
        np.testing.assert_array_equal(kept[kept > 0], PROBA[kept > 0])
    np.testing.assert_allclose(answer(TopKDefense, k=2, renormalize=True).sum(axis=1), 1)


def test_rounding_rounds():
    kept = answer(RoundingDefense, decimals=1, renormalize=False)
    np.testing.assert_array_equal(kept, np.round(PROBA, 1))
    np.testing.assert_allclose(answer(RoundingDefense, decimals=0).sum(axis=1), 1)


def test_the_ends_of_the_parameters_have_their_limits():
    proba = [[0.25, 0.75], [0.5, 0.5]]
    assert RoundingDefense(MODEL, decimals=400).change_proba(proba).tolist() == proba
    frozen = TemperatureDefense(MODEL, temperature=1e-320).change_proba(proba)
    assert frozen.tolist() == [[0, 1], [0.5, 0.5]]


def test_temperature_divides_logarithms():
    kept = answer(TemperatureDefense, temperature=4.0)
    both = (PROBA > 0) & (PROBA[:, :1] > 0)  # beside the first class, where neither is zero
    before, after = (np.where(both, p, 1) / np.where(both, p[:, :1], 1) for p in (PROBA, kept))
    np.testing.assert_allclose(np.log(after), np.log(before) / 4, atol=1e-12)
    np.testing.assert_allclose(answer(TemperatureDefense, temperature=1.0), PROBA, atol=1e-11)


def test_labels_are_those_of_the_classifier():
    for defense in (LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense):
        np.testing.assert_array_equal(defense(MODEL).fit(X, Y).predict(X), MODEL.predict(X))


class Late(BaseEstimator, ClassifierMixin):
    """A classifier of which scikit-learn has no tags, as its mixin comes last."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize(
    "defense", [LabelOnlyDefense, RoundingDefense, TemperatureDefense, TopKDefense]
)
def test_a_classifier_whose_mixin_comes_last_is_defended(defense):
    defended = defense(Late()).fit(X[:20], Y[:20])
    assert get_tags(defended).classifier_tags.multi_class
    np.testing.assert_array_equal(defended.predict(X), np.zeros(len(X)))


def test_labels_alone_have_no_probabilities():
    defended = LabelOnlyDefense(MODEL).fit(X, Y)
    assert not hasattr(defended, "predict_proba")
    with pytest.raises(ValueError, match="needs predict_proba"):
        ThresholdAttack(FrozenEstimator(defended), signal="loss").fit(Records(X, Y))


def test_a_classifier_without_probabilities_has_none_to_change():
    assert not hasattr(TopKDefense(LinearSVC()), "predict_proba")


def test_a_search_tunes_them():
    search = GridSearchCV(RoundingDefense(LogisticRegression(max_iter=5000)), {"decimals": [1, 3]})
    assert search.fit(X[:200] / 16, Y[:200]).best_score_ > 0.7


def test_no_output_filter_hides_what_labels_tell():
    # A filter leaves the labels alone: the attack that reads nothing else is as strong as before.
    membership = np.arange(len(X)) % 2 == 0
    records = Records(X, Y)
    aucs = {}
    for name, victim in {
        "open": MODEL,
        "top 1": FrozenEstimator(TopKDefense(MODEL, k=1, renormalize=True).fit(X, Y)),
    }.items():
        for signal in ("entropy", "correctness"):
            attack = ThresholdAttack(victim, signal=signal).fit(records)
            aucs[name, signal] = roc_auc_score(membership, attack.score_samples(records))
    assert aucs["open", "entropy"] > 0.75
    assert aucs["top 1", "entropy"] == 0.5  # every answer is a 1 among zeros
    assert aucs["top 1", "correctness"] == aucs["open", "correctness"] > 0.5


@pytest.mark.parametrize(
    "defense, message",
    [
        (TopKDefense(MODEL, k=0), "'k' parameter of TopKDefense"),
        (RoundingDefense(MODEL, decimals=-1), "'decimals' parameter"),
        (TemperatureDefense(MODEL, temperature=0), "'temperature' parameter"),
        (TopKDefense("no classifier"), "'estimator' parameter"),
    ],
)
def test_settings_are_checked(defense, message):
    with pytest.raises((ValueError, TypeError), match=message):
        defense.fit(X, Y)


@pytest.mark.parametrize("defense", DEFENSES[1:], ids=lambda defense: type(defense).__name__)
def test_answers_that_were_collected_are_changed_in_the_same_way(defense):
    asked = clone(defense).set_params(estimator=MODEL).fit(X, Y).predict_proba(X)
    before = PROBA.copy()
    np.testing.assert_array_equal(clone(defense).change_proba(PROBA), asked)
    np.testing.assert_array_equal(PROBA, before)
