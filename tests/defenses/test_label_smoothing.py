"""Labels that give a share to all classes."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skmia.defenses import LabelSmoothingDefense

X, Y = load_digits(return_X_y=True)
X, Y = X[:150] / 16, Y[:150]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5, 1.0])
def test_a_tree_answers_with_its_targets(smoothing):
    defended = LabelSmoothingDefense(DecisionTreeClassifier(), smoothing=smoothing).fit(X, Y)
    wanted = (1 - smoothing) * np.eye(10)[Y] + smoothing / 10
    if smoothing < 1:  # else nothing tells rows apart
        np.testing.assert_allclose(defended.predict_proba(X), wanted, atol=1e-12)
    else:
        np.testing.assert_allclose(defended.predict_proba(X), 0.1, atol=1e-12)


def test_smoothing_keeps_a_classifier_from_being_sure():
    surest = []
    for smoothing in (0.0, 0.1, 0.3):
        model = LogisticRegression(C=10, tol=1e-7, max_iter=5000)
        defended = LabelSmoothingDefense(model, smoothing=smoothing).fit(X, Y)
        proba = defended.predict_proba(X)
        surest.append(np.median(proba.max(axis=1)))
        # Where intercepts are free the mean answer is the mean target.
        shares = (1 - smoothing) * np.bincount(Y) / len(Y) + smoothing / 10
        np.testing.assert_allclose(proba.mean(axis=0), shares, atol=1e-6)
    assert surest[0] > 0.98 > 0.92 > surest[1] > 0.8 > surest[2]


def test_a_classifier_needs_no_probabilities():
    defended = LabelSmoothingDefense(LinearSVC()).fit(X, Y)
    assert not hasattr(defended, "predict_proba")
    assert defended.score(X, Y) > 0.95


@pytest.mark.slow  # the checks of scikit-learn clone and set it
def test_a_search_tunes_it():
    defense = LabelSmoothingDefense(LogisticRegression())
    search = GridSearchCV(defense, {"smoothing": [0.0, 0.3]}, scoring="neg_log_loss").fit(X, Y)
    assert search.best_params_ == {"smoothing": 0.0}


@pytest.mark.parametrize("smoothing", [-0.1, 1.1, "much"])
def test_the_share_is_checked(smoothing):
    with pytest.raises(ValueError, match="'smoothing' parameter of LabelSmoothingDefense"):
        LabelSmoothingDefense(LogisticRegression(), smoothing=smoothing).fit(X, Y)
