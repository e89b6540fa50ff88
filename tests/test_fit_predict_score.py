"""Estimators of leakage predict and score, and a search selects by their default score."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia.epsilon import EpsilonAudit, LabelAudit, OneRunAudit
from skmia.leakage import GeneralizationGapBound, LeaveOneOutLeakage, MahalanobisLeakage
from skmia.memorization import CanaryFormat, Exposure, NGramModel
from skmia.metrics import RankingTest
from skmia.synthetic import (
    CopyTest,
    InferenceRisk,
    LinkabilityRisk,
    NearestNeighborAdversarialAccuracy,
    PrivacyLoss,
    SinglingOutRisk,
)

pytestmark = pytest.mark.contract

IRIS = load_iris(return_X_y=True)


def make_signals(rng):
    membership = np.arange(120) // 60
    return rng.normal(size=(120, 3)) + 0.5 * membership[:, None], membership


def make_tables(rng):
    """Rows of three tables of which the synthetic one is close to the training rows."""
    train, test, noise = rng.normal(size=(3, 60, 4))
    made = np.where(np.arange(60)[:, None] < 30, train, noise)
    return np.concatenate([train, test, made]).round(2), np.repeat([1, 0, -1], 60)


def make_canaries():
    secrets = CanaryFormat("##", "0123456789", alphabet="0123456789")
    model = NGramModel(2).fit(secrets.sample(200, random_state=0))
    return FrozenEstimator(model), secrets, secrets.sample(12, random_state=1)


MODEL, SECRETS, CANARIES = make_canaries()
RNG = np.random.default_rng(0)
SIGNALS, TABLES = make_signals(RNG), make_tables(RNG)
ROWS, RANKED = RNG.normal(size=(90, 5)), RNG.normal(size=(36, 3)) + [0, 1, 2]
TREE = DecisionTreeClassifier(max_depth=3)

# An estimator of leakage, a grid, and what is handed to the search.
SEARCHES = [
    (MahalanobisLeakage(), {"covariance": ["diagonal", "full"], "noise_scale": [0, 1]}, (ROWS,)),
    (LeaveOneOutLeakage(KNeighborsClassifier()), {"estimator__n_neighbors": [1, 5]}, IRIS),
    (GeneralizationGapBound(), {"interval": ["welch"], "confidence_level": [0.5, 0.9]}, SIGNALS),
    (
        Exposure(MODEL, SECRETS, n_samples=99, random_state=0),
        {"ties": ["first", "last"]},
        (CANARIES,),
    ),
    (
        Exposure(MODEL, SECRETS, n_samples=99, random_state=0),
        {"method": ["exact", "sampling", "skew_normal"]},
        (CANARIES,),
    ),
    (PrivacyLoss(n_permutations=0, random_state=0), {"metric": ["euclidean", "manhattan"]}, TABLES),
    (CopyTest(random_state=0), {"confidence_level": [0.9, 0.95]}, TABLES),
    (
        SinglingOutRisk(n_attacks=30, n_permutations=0, random_state=0),
        {"n_columns": [1, 3]},
        TABLES,
    ),
    (
        SinglingOutRisk("univariate", n_permutations=0, random_state=0),
        {"n_attacks": [9, 30]},
        TABLES,
    ),
    (LinkabilityRisk(n_permutations=0, random_state=0), {"n_neighbors": [1, 3]}, TABLES),
    (InferenceRisk(n_permutations=0, random_state=0), {"tolerance": [0.01, 0.1]}, TABLES),
    (RankingTest(), {"alpha": [0.01, 0.05]}, (RANKED,)),
    (
        EpsilonAudit(TREE, n_trials=6, random_state=0),
        {"canary": ["clip_bkd", "random_label"]},
        IRIS,
    ),
    (LabelAudit(TREE, n_canaries=40, random_state=0), {"reference": [True, False]}, IRIS),
    (
        OneRunAudit(TREE, n_canaries=40, random_state=0),
        {"canaries": ["natural", "random_label"]},
        IRIS,
    ),
    (
        NearestNeighborAdversarialAccuracy(random_state=0),
        {"metric": ["euclidean", "manhattan"]},
        (ROWS,),
    ),
    (NGramModel(n_tokens=10), {"order": [1, 2]}, (CANARIES,)),
]

IDS = [type(estimator).__name__ for estimator, _, _ in SEARCHES]
each = pytest.mark.parametrize("estimator, grid, data", SEARCHES, ids=IDS)
# Their scores are those of others of the same base class; each is cloned and scored below.
ALIKE = {"CopyTest", "EpsilonAudit", "InferenceRisk", "LinkabilityRisk", "OneRunAudit"}


@pytest.mark.parametrize(
    "estimator, grid, data",
    [
        pytest.param(*one, id=name, marks=[pytest.mark.slow] * (name in ALIKE))
        for one, name in zip(SEARCHES, IDS, strict=True)
    ],
)
def test_a_search_selects_the_largest_default_score(estimator, grid, data):
    search = GridSearchCV(estimator, grid, cv=2).fit(*data)
    results = pd.DataFrame(search.cv_results_)
    splits = results[[f"split{k}_test_score" for k in range(2)]].to_numpy()
    assert np.isfinite(splits).all()
    assert search.best_score_ == results["mean_test_score"].max()
    again = cross_val_score(search.best_estimator_, *data, cv=2)
    np.testing.assert_allclose(again.mean(), search.best_score_)


@each
def test_a_fold_has_rows_of_each_table_and_each_side(estimator, grid, data):
    # The folds of a search are stratified by y, which is sorted here, for classifiers alone.
    if len(data) == 1 or data is IRIS:
        assert not is_classifier(estimator)
    else:
        assert is_classifier(estimator)


@each
def test_predictions_are_one_whole_number_for_each_row(estimator, grid, data):
    fitted = clone(estimator).fit(*data)
    found = fitted.predict(data[0])
    assert found.shape == (len(data[0]),)
    assert found.dtype.kind == "i"
    if not isinstance(estimator, NGramModel | RankingTest):
        assert set(found.tolist()) <= {0, 1}
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(data[0]), found)
    assert again.score(*data) == fitted.score(*data)
    assert isinstance(fitted.score(*data), float)


@each
def test_predict_and_score_need_fit(estimator, grid, data):
    with pytest.raises(NotFittedError):
        clone(estimator).predict(data[0])
    with pytest.raises(NotFittedError):
        clone(estimator).score(*data)


@each
def test_a_clone_has_the_parameters_and_gives_the_same_score(estimator, grid, data):
    assert isinstance(estimator, BaseEstimator)
    copied = clone(estimator)
    assert repr(copied) == repr(estimator)
    for name, values in grid.items():
        assert copied.set_params(**{name: values[0]}).get_params()[name] == values[0]
    scores = [clone(estimator).fit(*data).score(*data) for _ in range(2)]
    assert scores[0] == scores[1]
