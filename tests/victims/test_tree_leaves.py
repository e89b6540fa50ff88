"""The leaf of each record in each tree, of every kind of trees."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia.victims._tree_leaves import has_leaves, iter_leaves

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(1)
Y = np.arange(60) % 3
FEW = {"n_estimators": 3, "random_state": 0}


def number_leaves(model, X):
    return np.column_stack([leaves.places for leaves in iter_leaves(model, X)])


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(max_depth=3, **FEW),
    "extra trees": ExtraTreesClassifier(max_depth=3, **FEW),
    "boosting": GradientBoostingClassifier(**FEW),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_leaves_are_those_of_scikit_learn(model):
    expected = np.reshape(model.fit(X, Y).apply(X), (60, -1))
    np.testing.assert_array_equal(number_leaves(model, X), expected)
    np.testing.assert_array_equal(number_leaves(model, sparse.csr_array(X)), expected)
    behind = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
    behind.fit(X, Y)
    assert number_leaves(behind, X).shape == expected.shape


def test_counts_are_the_training_rows_of_a_leaf():
    for model in (MODELS["tree"], HistGradientBoostingClassifier(max_iter=2)):
        for leaves in iter_leaves(model.fit(X, Y), X):
            occupied, counts = np.unique(leaves.places, return_counts=True)
            np.testing.assert_array_equal(leaves.counts[occupied], counts)


@pytest.mark.parametrize("is_category", [False, True], ids=["numbers", "categories"])
def test_leaves_of_histograms_explain_predictions(is_category):
    table = pd.DataFrame(X, columns=["a", "b", "d"])
    table["c"] = pd.Categorical(RNG.choice(["u", "v", "w"], 60))
    rows = table if is_category else X
    settings = {"categorical_features": "from_dtype", "min_samples_leaf": 5, "max_iter": 3}
    model = HistGradientBoostingClassifier(**settings).fit(rows, Y > 0)
    groups = pd.DataFrame(number_leaves(model, rows)).groupby([0, 1, 2]).ngroup()
    spread = pd.Series(model.decision_function(rows)).groupby(groups).nunique()
    assert spread.max() == 1
    assert len(spread) > 3


def test_leaves_of_models_made_of_trees():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    bagged = BaggingClassifier(tree, 4, max_features=2, random_state=0).fit(X, Y)
    leaves = number_leaves(bagged, X)
    columns = bagged.estimators_features_[1]
    np.testing.assert_array_equal(leaves[:, 1], bagged.estimators_[1].apply(X[:, columns]))
    assert number_leaves(AdaBoostClassifier(tree, n_estimators=2).fit(X, Y), X).shape == (60, 2)
    assert not has_leaves(BaggingClassifier(LogisticRegression(), 2).fit(X, Y))
    assert not has_leaves(LogisticRegression().fit(X, Y))


def test_leaves_of_other_packages_explain_predictions():
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    catboost = pytest.importorskip("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False}
    for model in (
        xgboost.XGBClassifier(n_estimators=2, max_depth=2),
        lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, min_child_samples=5, verbose=-1),
        catboost.CatBoostClassifier(iterations=2, depth=2, **quiet),
    ):
        model.fit(X, Y)
        assert has_leaves(model)
        leaves = pd.DataFrame(number_leaves(model, X))
        groups = leaves.groupby(list(leaves)).ngroup()
        answers = pd.DataFrame(model.predict_proba(X)).round(6)
        assert answers.groupby(groups).nunique().to_numpy().max() == 1
        assert groups.nunique() > 3
    counts = next(iter(iter_leaves(model, X))).counts
    occupied = leaves[0].value_counts()
    np.testing.assert_array_equal(counts[occupied.index], occupied)
