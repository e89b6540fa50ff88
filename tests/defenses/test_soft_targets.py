"""Classifiers that are fitted on probabilities instead of labels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction import DictVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from skmia.defenses import LabelSmoothingDefense
from skmia.defenses._meta import check_takes_targets, fit_on_targets

X, Y = load_iris(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
CLASSES = np.unique(Y)
RNG = np.random.default_rng(0)
TARGETS = 0.7 * np.eye(3)[Y] + 0.3 * RNG.dirichlet(np.ones(3), len(Y))
WEIGHT = RNG.uniform(0.1, 3, len(Y))


def best_proba(X, targets, weight):
    """Probabilities at the least soft cross-entropy of a linear model, found by itself."""
    rows = np.column_stack([X, np.ones(len(X))])

    def loss(flat):
        z = rows @ flat.reshape(rows.shape[1], -1)
        log_p = z - logsumexp(z, axis=1, keepdims=True)
        slope = rows.T @ (weight[:, None] * (np.exp(log_p) - targets))
        return -np.sum(weight[:, None] * targets * log_p), slope.ravel()

    start = np.zeros(rows.shape[1] * targets.shape[1])
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7})
    z = rows @ found.x.reshape(rows.shape[1], -1)
    return np.exp(z - logsumexp(z, axis=1, keepdims=True))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_weighted_copies_reach_the_least_soft_cross_entropy(weight):
    model = LogisticRegression(C=np.inf, tol=1e-9, max_iter=5000)
    fit_on_targets(model, X, Y, TARGETS, CLASSES, weight)
    wanted = best_proba(X, TARGETS, np.ones(len(X)) if weight is None else weight)
    np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-5)
    assert np.abs(wanted - TARGETS).max() > 0.1  # the targets themselves are not linear


def test_one_hot_targets_are_the_plain_fit():
    for model in (LogisticRegression(), DecisionTreeClassifier(max_features=1, random_state=0)):
        soft = fit_on_targets(clone(model), X, Y, np.eye(3)[Y], CLASSES)
        plain = clone(model).fit(X, Y)
        np.testing.assert_allclose(soft.predict_proba(X), plain.predict_proba(X), rtol=1e-12)


def test_a_leaf_answers_with_the_mean_target():
    X = np.repeat([[0.0], [1.0]], 75, axis=0)
    tree = fit_on_targets(DecisionTreeClassifier(), X, Y, TARGETS, CLASSES)
    means = [TARGETS[:75].mean(axis=0), TARGETS[75:].mean(axis=0)]
    np.testing.assert_allclose(tree.predict_proba([[0.0], [1.0]]), means)


class Counting(TransformerMixin, BaseEstimator):
    """Hands rows on and remembers how many there were, and their labels."""

    def fit(self, X, y=None):
        self.n_rows_, self.labels_ = len(X), y
        return self

    def transform(self, X):
        check_is_fitted(self)
        return X


@pytest.mark.parametrize("memory", [False, True])
def test_only_the_last_step_of_a_pipeline_sees_copies(memory, tmp_path):
    inner = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    model = Pipeline([("count", Counting()), ("inner", inner)])
    if memory:
        model.set_params(memory=str(tmp_path))
    fit_on_targets(model, X * 10, Y, TARGETS, CLASSES)
    assert model["count"].n_rows_ == len(X)
    np.testing.assert_array_equal(model["count"].labels_, Y)
    np.testing.assert_allclose(model["inner"]["scale"].scale_, 10)
    alone = fit_on_targets(LogisticRegression(), X, Y, TARGETS, CLASSES)
    np.testing.assert_allclose(model.predict_proba(X * 10), alone.predict_proba(X), rtol=1e-9)


def test_rows_need_not_be_numbers():
    rows = [{"length": x[0], "width": x[1]} for x in X]
    model = make_pipeline(DictVectorizer(), LogisticRegression())
    defended = LabelSmoothingDefense(model).fit(rows, Y)
    alone = LabelSmoothingDefense(LogisticRegression()).fit(X[:, :2], Y)
    np.testing.assert_allclose(defended.predict_proba(rows), alone.predict_proba(X[:, :2]))


@pytest.mark.parametrize(
    "model, name",
    [
        (KNeighborsClassifier(), "KNeighborsClassifier does not take"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "at the end of the Pipeline"),
        (FrozenEstimator(LogisticRegression()), "FrozenEstimator does not take"),
    ],
)
def test_others_are_refused_with_what_can_be_used(model, name):
    with pytest.raises(ValueError, match=f"ThisDefense .*{name}.*; use a .* sample_weight, or a"):
        check_takes_targets(model, "ThisDefense")
