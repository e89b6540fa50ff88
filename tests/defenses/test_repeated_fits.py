"""A search over private estimators without a ledger says once what its fits cost together."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from skmia._core.accountant import spent_epsilon
from skmia.defenses import PrivateSearchCV
from skmia.defenses._repeated_fits import CountsPrivateFits
from skmia.exceptions import PrivacyWarning

pytest.importorskip("opacus")

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 2
STEPS = (4.0, 1.0, 1)


class Private(CountsPrivateFits, ClassifierMixin, BaseEstimator):
    """A classifier of one noisy step."""

    def __init__(self, shift=0):
        self.shift = shift

    def plan_steps(self, X, y):
        return [STEPS]

    def fit(self, X, y):
        self.n_fits_, self.total_epsilon_ = self._count_fit(STEPS, 1e-3, "rdp")
        self.epsilon_ = spent_epsilon([STEPS], 1e-3, "rdp")
        self.classes_, self.n_features_in_ = np.array([0, 1]), X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def total(n_fits):
    return spent_epsilon([STEPS] * n_fits, 1e-3, "rdp")


def told(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    return result, [str(one.message) for one in caught if one.category is PrivacyWarning]


def test_a_search_says_once_what_it_cost():
    search, said = told(lambda: GridSearchCV(Private(), {"shift": [0, 1]}, cv=2).fit(X, Y))
    assert len(said) == 1
    assert f"2 fits of Private and its clones: together they cost epsilon={total(2):.3g}" in said[0]
    assert "PrivateSearchCV" in said[0]
    best = search.best_estimator_
    assert (best.n_fits_, best.total_epsilon_) == (5, pytest.approx(total(5)))
    assert best.epsilon_ == pytest.approx(total(1))


def test_a_second_fit_is_told_and_a_first_is_not():
    private = Private()
    assert told(lambda: private.fit(X, Y))[1] == []
    assert len(told(lambda: private.fit(X, Y))[1]) == 1
    assert told(lambda: private.fit(X, Y))[1] == []
    assert private.n_fits_ == 3
    assert told(lambda: Private().fit(X, Y))[1] == []  # one that has nothing to do with it


def test_clones_of_clones_count():
    first = Private()
    (_, said) = told(lambda: cross_val_score(clone(clone(first)), X, Y, cv=3))
    assert len(said) == 1
    assert first.fit(X, Y).n_fits_ == 4


@pytest.mark.usefixtures("copied_workers")
def test_fits_in_other_processes_are_taken_for_like_this_one():
    def search():
        return GridSearchCV(Private(), {"shift": [0, 1]}, cv=2, n_jobs=2).fit(X, Y)

    found, said = told(search)
    assert len(said) == 1
    assert "(4 of them in other processes)" in said[0]
    assert found.best_estimator_.n_fits_ == 5
    assert found.best_estimator_.total_epsilon_ == pytest.approx(total(5))


def test_a_pickle_has_no_memory():
    private = Private().fit(X, Y)
    again = pickle.loads(pickle.dumps(private))
    assert told(lambda: again.fit(X, Y))[1] == []
    assert again.n_fits_ == 1


def test_the_best_of_a_private_search_does_not_tell_how_many_there_were():
    search, said = told(lambda: PrivateSearchCV(Private(), {"shift": [0, 1]}).fit(X, Y))
    assert said == []
    assert search.best_estimator_.n_fits_ == 1


def test_a_fit_that_fails_counts():
    class Fails(Private):
        def fit(self, X, y):
            super().fit(X, y)
            raise RuntimeError("after its steps")

    private = Fails()
    for n_fits in (1, 2):
        with pytest.raises(RuntimeError):
            told(lambda: private.fit(X, Y))
        assert len(private._fits_of_clones) == n_fits
    assert not hasattr(private, "n_fits_")
