"""A model that comes out of a file stores what went into it, and its attacks find the same."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, QuantileTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import NodeEquationsAttack, StoredValuesAttack
from skmia.cli._model import load_model
from skmia.victims import read_state

N = 100
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.gamma(2, size=(2 * N, 3)), columns=list("abc"))
X["city"] = RNG.choice(["Rome", "Oslo"], 2 * N)
Y = (X["a"] > 1.5).astype(int).to_numpy()
NUMBERS = [0, 1, 2]


def after_columns(model):
    """A model behind text that is encoded and quantiles of numbers."""
    parts = [
        ("text", OneHotEncoder(sparse_output=False), ["city"]),
        ("quantiles", QuantileTransformer(n_quantiles=20), ["a"]),
        (
            "bins",
            KBinsDiscretizer(4, encode="ordinal", strategy="uniform"),
            ["b"],
        ),
    ]
    return make_pipeline(ColumnTransformer(parts, remainder="passthrough"), model)


SEED = {"random_state": 0}
FOREST = RandomForestClassifier(4, **SEED)
MODELS = {
    "tree": DecisionTreeClassifier(**SEED),
    "forest": FOREST,
    "extra trees": ExtraTreesClassifier(4, **SEED),
    "forest of regression": RandomForestRegressor(4, **SEED),
    "gradient boosting": GradientBoostingClassifier(n_estimators=4, **SEED),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=4, **SEED),
    "histograms of regression": HistGradientBoostingRegressor(max_iter=4, **SEED),
    "isolation": IsolationForest(n_estimators=4, **SEED),
    "bagging": BaggingRegressor(n_estimators=4, **SEED),
    "adaptive boosting": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=4, random_state=0
    ),
    "calibration": CalibratedClassifierCV(FOREST, cv=2),
    "vote": VotingClassifier([("forest", FOREST), ("neighbors", KNeighborsClassifier())]),
    "stack": StackingClassifier([("forest", FOREST)], cv=2),
    "search": GridSearchCV(FOREST, {"max_depth": [2, 3]}, cv=2),
    "neighbors": KNeighborsClassifier(algorithm="kd_tree"),
    "support vectors": SVC(),
    "process": GaussianProcessClassifier(),
    "columns": after_columns(FOREST),
}


def load_again(model, folder, suffix):
    path = folder / f"model{suffix}"
    if suffix == ".skops":
        pytest.importorskip("skops.io").dump(model, path)
    else:
        joblib.dump(model, path)
    return load_model(path, trust_pickle=suffix != ".skops")


def fit(name):
    model = MODELS[name]
    return model.fit(X[:N] if name == "columns" else X.iloc[:N, NUMBERS].to_numpy(), Y[:N])


def compare(state, other):
    """The other has the same arrays, to the last bit; what was shared may have become two."""
    assert state.unread == other.unread == ()
    places = {one.path: one for one in other.arrays}
    assert {one.path for one in state.arrays} <= set(places)
    assert [one.path for one in state.estimators] == [one.path for one in other.estimators]
    for one in state.arrays:
        again = places[one.path]
        assert (again.kind, again.columns, again.array.dtype) == (
            one.kind,
            one.columns,
            one.array.dtype,
        )
        np.testing.assert_array_equal(as_dense(again.array), as_dense(one.array))


def as_dense(array):
    return array.toarray() if sparse.issparse(array) else array


# Pickles keep all by themselves; the tests below have them of three models.
@pytest.mark.parametrize("suffix", [".skops", pytest.param(".joblib", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_the_state_is_the_same(name, suffix, tmp_path):
    model = fit(name)
    compare(read_state(model), read_state(load_again(model, tmp_path, suffix)))


@pytest.mark.parametrize("suffix", [".skops", ".joblib"])
def test_boosters_keep_their_state(suffix, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=4).fit(X.iloc[:N, NUMBERS].to_numpy(), Y[:N])
    compare(read_state(model), read_state(load_again(model, tmp_path, suffix)))


@pytest.mark.parametrize("suffix", [".skops", ".joblib"])
def test_sparse_rows_are_kept(suffix, tmp_path):
    model = KNeighborsClassifier().fit(sparse.csr_matrix(X.iloc[:N, NUMBERS].to_numpy()), Y[:N])
    compare(read_state(model), read_state(load_again(model, tmp_path, suffix)))


@pytest.mark.parametrize("suffix", [".skops", pytest.param(".joblib", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["extra trees", "histogram boosting", "columns"])
def test_attacks_on_the_file_are_those_on_the_model(name, suffix, tmp_path):
    model = fit(name)
    again = load_again(model, tmp_path, suffix)
    records = Records(X if name == "columns" else X.iloc[:, NUMBERS].to_numpy(), Y)
    for attack in (NodeEquationsAttack, StoredValuesAttack):
        scores = [attack(FrozenEstimator(one)).fit(records) for one in (model, again)]
        first, second = (one.score_samples(records) for one in scores)
        np.testing.assert_array_equal(first, second)
