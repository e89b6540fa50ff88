"""Who is asked about a row, and that nobody of them was trained on it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from skmia.defenses import SELENADefense, SoftLabelDefense
from skmia.defenses._cross_fit import count_left_out, draw_left_out

X, Y = load_digits(return_X_y=True)
X, Y = X[:300] / 16, Y[:300]


@pytest.mark.parametrize(
    "defense", [SELENADefense, pytest.param(SoftLabelDefense, marks=pytest.mark.slow)]
)
def test_a_weight_is_as_good_as_copies_for_trees_that_break_ties_by_the_last_bit(defense):
    for check in (
        check_sample_weight_equivalence_on_dense_data,
        check_sample_weight_equivalence_on_sparse_data,
    ):
        check(defense.__name__, defense(DecisionTreeClassifier(), n_estimators=6, n_left_out=2))


@pytest.mark.parametrize("n_models, n_left_out", [(25, 10), (10, 5), (7, 3), (4, 1), (5, 4)])
def test_each_row_is_left_out_exactly_so_often(n_models, n_left_out):
    rng = np.random.default_rng(0)
    units, strata = rng.permutation(np.arange(211)), rng.integers(0, 4, 211)
    left_out = draw_left_out(units, strata, n_models, n_left_out, rng)
    assert (left_out.sum(axis=0) == n_left_out).all()
    for stratum in range(4):
        sizes = left_out[:, strata == stratum].sum(axis=1)
        assert sizes.max() - sizes.min() <= 1


def test_all_choices_of_models_are_equally_likely():
    # One of 10 choices of 2 of 5 models, 4,000 times: the counts have a standard deviation of 19,
    # and of 10 counts none is 4 deviations off in 99.9% of all cases.
    rng = np.random.default_rng(0)
    draws = [draw_left_out(np.arange(8), np.zeros(8), 5, 2, rng)[:, 3] for _ in range(4000)]
    _, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts - 400).max() < 4 * np.sqrt(4000 * 0.1 * 0.9)


def test_models_differ_where_they_come_in_halves():
    left_out = draw_left_out(np.arange(40), np.zeros(40), 10, 5, np.random.default_rng(0))
    assert len(np.unique(left_out, axis=0)) == 10


def test_units_stay_together():
    units = np.repeat(np.arange(50), 3)
    left_out = draw_left_out(units, np.zeros(150), 6, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(left_out[:, ::3], left_out[:, 1::3])
    np.testing.assert_array_equal(left_out[:, ::3], left_out[:, 2::3])


def test_a_class_of_two_rows_is_known_to_all_models():
    strata = np.append(np.zeros(30, dtype=int), [1, 1])
    for seed in range(50):
        left_out = draw_left_out(np.arange(32), strata, 25, 10, np.random.default_rng(seed))
        assert (~left_out[:, -2:]).any(axis=1).all()


class Memorizer(ClassifierMixin, BaseEstimator):
    """Answers with the label of rows that it knows, and equal shares for others."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.known_ = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        proba = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        for k, row in enumerate(X):
            if row.tobytes() in self.known_:
                proba[k] = self.classes_ == self.known_[row.tobytes()]
        return proba

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def test_nobody_is_asked_about_a_row_that_it_was_trained_on():
    twice = np.append(np.arange(300), np.arange(100))  # equal rows are left out together
    for defense in (
        SELENADefense(Memorizer(), store_targets=True, random_state=0),
        SELENADefense(Memorizer(), n_estimators=3, n_left_out=1, store_targets=True),
        SoftLabelDefense(Memorizer(), store_targets=True, random_state=0),
    ):
        targets = defense.fit(X[twice], Y[twice]).targets_
        np.testing.assert_allclose(targets, 0.1, rtol=1e-12)
    assert Memorizer().fit(X, Y).score(X, Y) == 1


def test_it_is_the_soft_label_for_alpha_0():
    settings = {"n_estimators": 10, "n_left_out": 5, "random_state": 0, "store_targets": True}
    tree = DecisionTreeClassifier(max_features=5)
    selena = SELENADefense(tree, **settings).fit(X, Y)
    soft = SoftLabelDefense(tree, alpha=0.0, **settings).fit(X, Y)
    np.testing.assert_array_equal(selena.targets_, soft.targets_)
    np.testing.assert_array_equal(selena.predict_proba(X), soft.predict_proba(X))


def test_the_order_of_the_rows_plays_no_part():
    order = np.random.default_rng(0).permutation(300)
    tree = DecisionTreeClassifier(max_depth=1)  # of more splits some would be tied
    defense = SELENADefense(tree, random_state=0, store_targets=True)
    targets = defense.fit(X, Y).targets_
    np.testing.assert_allclose(defense.fit(X[order], Y[order]).targets_, targets[order])


def test_rows_that_no_model_is_left_without_are_no_trouble():
    # Two rows of a class and 25 models: some models are trained on both, and asked about neither.
    X, y = np.array([[0.0], [0.1], [9.0], [9.1]]), np.array([0, 0, 1, 1])
    defended = SELENADefense(LogisticRegression(), n_left_out=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(defended.predict(X), y)


@pytest.mark.slow  # which models answer a training row is compared one by one
def test_training_rows_are_answered_like_others():
    X, y = load_digits(return_X_y=True)
    half = np.arange(len(y)) % 2 == 0
    gaps = []
    for model in (
        DecisionTreeClassifier(random_state=0),
        SELENADefense(DecisionTreeClassifier(), random_state=0),
    ):
        model.fit(X[half], y[half])
        own = model.predict_proba(X)[np.arange(len(y)), y]
        gaps.append(own[half].mean() - own[~half].mean())
    # Of 900 answers on either side, with a standard deviation of .4: an error of .02.
    assert gaps[1] < gaps[0] - 0.06


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"n_left_out": 0}, "'n_left_out' parameter of SELENADefense"),
        ({"n_left_out": 25}, "n_left_out must be below n_estimators=25, .*; got 25"),
        ({"n_estimators": 1}, "'n_estimators' parameter"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        SELENADefense(LogisticRegression(), **settings).fit(X, Y)


@pytest.mark.parametrize("defense", [SELENADefense, SoftLabelDefense])
@pytest.mark.parametrize(("n_estimators", "n_left_out"), [(3, None), (4, 2), (6, None), (30, None)])
def test_the_usual_number_of_models_leaves_a_row_out_or_a_half(defense, n_estimators, n_left_out):
    usual = {SELENADefense: 10, SoftLabelDefense: 5}[defense]
    found = count_left_out(defense(DecisionTreeClassifier(), n_estimators=n_estimators))
    least = {SELENADefense: 1, SoftLabelDefense: 2}[defense]
    assert found == (usual if usual < n_estimators else max(least, n_estimators // 2))
    assert n_left_out is None or found == n_left_out


def test_a_search_over_the_number_of_models_ends_in_numbers():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2)
    for defense in (SELENADefense(tree), SoftLabelDefense(tree)):
        search = GridSearchCV(defense, {"n_estimators": [3, 4, 6]}, cv=2).fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
