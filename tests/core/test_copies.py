"""Estimators that clone refuses are copied by their parameters, and what cannot be is named."""

import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skmia import ShadowPool
from skmia._core.copies import copy_unfitted
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import RoundingDefense, SoftLabelDefense
from skmia.games import membership_game
from skmia.model_selection import RememberTraining

RECORDS, MEMBERSHIP = make_membership_problem(80, random_state=0)
X, Y = RECORDS.X, RECORDS.y


class Linear(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


class Copies(Linear):
    def __init__(self, columns=()):
        self.columns = list(columns)


class Converts(Linear):
    def __init__(self, weights=None):
        self.weights = np.array([1.0] if weights is None else weights, dtype=float)


class Doubles(Linear):
    def __init__(self, strength=1):
        self.strength = 2 * strength


class Holds(Linear):
    def __init__(self, value=None):
        self.value = value


def is_fitted(model):
    try:
        check_is_fitted(model)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("model", [Copies((0, 1)), Converts([3, 4])], ids=["copies", "converts"])
def test_a_constructor_that_copies_or_converts_its_parameter(model):
    with pytest.raises(RuntimeError, match="Cannot clone"):
        clone(model)
    copied = copy_unfitted(model.fit(X, Y))
    assert type(copied) is type(model) and not is_fitted(copied)
    assert repr(copied.get_params()) == repr(model.get_params())


def test_a_part_of_a_pipeline():
    whole = make_pipeline(StandardScaler(), Copies((0, 1))).fit(X, Y)
    copied = copy_unfitted(whole)
    assert copied[-1].columns == [0, 1] and copied[-1] is not whole[-1]
    assert not is_fitted(copied)


def test_a_frozen_part_stays_as_it_is():
    frozen = FrozenEstimator(StandardScaler().fit(X))
    assert copy_unfitted(make_pipeline(frozen, Copies((0, 1))))[0] is frozen


def test_a_constructor_that_does_not_keep_its_parameter():
    unfitted = Doubles(3)
    assert copy_unfitted(unfitted).strength == 6
    with pytest.raises(ValueError, match="'strength'.*unfitted one as estimator="):
        copy_unfitted(unfitted.fit(X, Y))


@pytest.mark.parametrize(
    ("value", "kind"), [(threading.Lock(), "lock"), ((k for k in "ab"), "generator")]
)
def test_what_cannot_be_copied_is_named(value, kind):
    with pytest.raises(ValueError, match=rf"'value' of Holds holds .*{kind}.*cannot be copied"):
        copy_unfitted(Holds(value))


def test_a_generator_of_folds_is_named():
    search = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=KFold(2).split(X))
    with pytest.raises(ValueError, match="'cv' of GridSearchCV.*a list in place of a generator"):
        ShadowPool(search, n_estimators=2).fit(RECORDS)


@pytest.mark.parametrize(
    "around",
    [
        RoundingDefense,
        SoftLabelDefense,
        RememberTraining,
        lambda model: ShadowPool(model, n_estimators=2),
        lambda model: LiRA(shadows=ShadowPool(model, n_estimators=2)),
    ],
    ids=["output", "training", "remember", "pool", "attack"],
)
def test_estimators_that_hold_one_are_cloned_by_scikit_learn(around):
    assert repr(clone(around(Copies((0, 1))))) == repr(around(Copies((0, 1))))


def test_searches_pools_and_games_train_one():
    model = Copies((0, 1))
    search = GridSearchCV(RoundingDefense(model), {"decimals": [1, 2]}, cv=2).fit(X, Y)
    assert search.best_estimator_.estimator_.columns == [0, 1]
    pool = ShadowPool(model.fit(X, Y), n_estimators=2, random_state=0, store="models").fit(RECORDS)
    assert [one.columns for one in pool.estimators_] == [[0, 1], [0, 1]]
    again = ShadowPool(Linear(), n_estimators=2, random_state=0).fit(RECORDS)
    np.testing.assert_array_equal(pool.signals_, again.signals_)
    played = membership_game(model, ThresholdAttack(), RECORDS, n_rounds=2, random_state=0)
    assert played["vulnerability"].shape == (2,)


def test_catboost_with_its_categories_in_the_constructor():
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    table = (X > 0).astype(int)
    model = catboost.CatBoostClassifier(cat_features=[0, 1], **settings).fit(table, Y)
    copied = copy_unfitted(make_pipeline("passthrough", model))[-1]
    assert copied.get_params()["cat_features"] == [0, 1] and not copied.is_fitted()
