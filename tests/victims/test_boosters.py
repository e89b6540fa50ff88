"""What files of LightGBM and CatBoost state about their training rows."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia.attacks import NodeEquationsAttack, ReleasedModelAttack, SplitThresholdAttack
from skmia.defenses import strip_state
from skmia.inspection import inspect_model, reconstruct_values
from skmia.victims import read_state
from skmia.victims.node_equations import has_node_equations, read_node_equations
from skmia.victims.split_thresholds import read_split_thresholds

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
DATA = {"two classes": CANCER, "three classes": WINE, "regression": DIABETES}
# Numbers of rows of each data set that are members.
N = {name: len(y) // 2 for name, (_, y) in DATA.items()}


def make_lightgbm(kind, **settings):
    """A small LightGBM model; kind is a key of DATA."""
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor if kind == "regression" else lightgbm.LGBMClassifier
    return model(**{"n_estimators": 8, "verbose": -1, "n_jobs": 1, **settings})


def make_catboost(kind, **settings):
    """A small CatBoost model; kind is a key of DATA."""
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor if kind == "regression" else catboost.CatBoostClassifier
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return model(**{"iterations": 8, "depth": 4, "random_seed": 0, **quiet, **settings})


def fit(model, kind, missing=0.0, zeros=0.0):
    """A model fitted on a random half of a table, all records, and the bits of the half."""
    X, y = DATA[kind]
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < missing, np.nan, X)
    X = np.where(rng.random(X.shape) < zeros, 0.0, X)
    member = rng.permutation(len(y)) < N[kind]
    return model.fit(X[member], y[member]), Records(X, y), member


def find_errors(equations, member):
    """What is left of each equation for the true members, over the norm of its row."""
    norms = np.sqrt(np.asarray((equations.rows**2).sum(axis=1)).ravel())
    return np.abs(equations.rows @ member - equations.targets) / norms


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
@pytest.mark.parametrize("kind", DATA)
def test_equations_hold_for_the_true_members(make, kind):
    model, records, member = fit(make(kind), kind)
    equations = read_node_equations(FrozenEstimator(model), records)
    assert equations.n_rows == member.sum()
    # Gradients of LightGBM are in single precision.
    assert find_errors(equations, member).max() < (1e-4 if make is make_lightgbm else 1e-12)
    assert find_errors(equations, ~member).max() > 0.1


@pytest.mark.parametrize(
    "kind, settings, changes",
    [
        ("two classes", {"reg_lambda": 2.0, "colsample_bytree": 0.5}, {}),
        ("two classes", {"boost_from_average": False}, {}),
        ("three classes", {"boost_from_average": False, "reg_lambda": 1.0}, {}),
        ("regression", {"extra_trees": True}, {}),
        ("regression", {"min_child_samples": 500}, {}),  # a single tree without splits
        ("two classes", {"subsample": 0.5}, {}),  # without subsample_freq, all rows are used
        ("two classes", {}, {"missing": 0.2}),
        ("two classes", {"use_missing": False}, {"missing": 0.2}),
        ("two classes", {"zero_as_missing": True}, {"zeros": 0.3}),
    ],
)
def test_settings_of_lightgbm_that_are_read(kind, settings, changes):
    model, records, member = fit(make_lightgbm(kind, **settings), kind, **changes)
    assert find_errors(read_node_equations(model, records), member).max() < 1e-4


@pytest.mark.parametrize(
    "kind, settings, changes",
    [
        ("two classes", {"leaf_estimation_iterations": 1}, {}),
        ("two classes", {"leaf_estimation_method": "Gradient"}, {}),
        ("two classes", {"bootstrap_type": "Bernoulli", "subsample": 0.3}, {}),
        ("two classes", {"bootstrap_type": "Bayesian"}, {}),
        ("two classes", {"boosting_type": "Ordered"}, {}),
        ("three classes", {"loss_function": "MultiClassOneVsAll"}, {}),
        ("regression", {"boosting_type": "Ordered"}, {}),
        ("regression", {"loss_function": "MAE"}, {}),
        ("regression", {"model_shrink_rate": 0.1}, {}),
        ("regression", {}, {"missing": 0.2}),
        ("regression", {"nan_mode": "Max"}, {"missing": 0.2}),
    ],
)
def test_settings_of_catboost_that_are_read(kind, settings, changes):
    model, records, member = fit(make_catboost(kind, **settings), kind, **changes)
    assert find_errors(read_node_equations(model, records), member).max() < 1e-12


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"boosting_type": "dart"}, "boosting is 'dart'"),
        ({"boosting_type": "goss"}, "boosting is 'goss'"),
        ({"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}, "boosting is 'rf'"),
        ({"subsample": 0.5, "subsample_freq": 1}, "bagging_fraction=0.5 leaves out rows"),
        ({"reg_alpha": 1.0}, "lambda_l1=1 changes"),
        ({"linear_tree": True}, "linear_tree=1 changes"),
        ({"path_smooth": 1.0}, "path_smooth=1 changes"),
        ({"max_delta_step": 0.1}, "max_delta_step=0.1 changes"),
        ({"class_weight": "balanced"}, "class weights or sample weights"),
        ({"is_unbalance": True}, "class weights or sample weights"),
        ({"scale_pos_weight": 2.0}, "class weights or sample weights"),
        ({"objective": "cross_entropy"}, "objective is 'cross_entropy'"),
        ({"monotone_constraints": [1] + 29 * [0]}, "monotonic constraints"),
    ],
)
def test_settings_of_lightgbm_that_are_refused(settings, message):
    model, records, _ = fit(make_lightgbm("two classes", n_estimators=2, **settings), "two classes")
    with pytest.raises(ValueError, match=message):
        read_node_equations(model, records)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"grow_policy": "Depthwise"}, "grow_policy is not 'SymmetricTree'"),
        ({"auto_class_weights": "Balanced"}, "class weights or sample weights"),
        ({"class_weights": [1, 2]}, "class weights or sample weights"),
    ],
)
def test_settings_of_catboost_that_are_refused(settings, message):
    model, records, _ = fit(make_catboost("two classes", iterations=2, **settings), "two classes")
    with pytest.raises(ValueError, match=message):
        read_node_equations(model, records)


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
def test_sample_weights_are_noticed(make):
    X, y = CANCER
    model = make("two classes", random_state=0) if make is make_lightgbm else make("two classes")
    model.fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    with pytest.raises(ValueError, match="class weights or sample weights"):
        read_node_equations(model, Records(X, y))


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
def test_splits_on_categories_are_refused(make):
    X, y = CANCER
    codes = (X[:, 20] / 3).astype(int) % 5
    if make is make_lightgbm:
        table, groups = np.column_stack([codes, X[:, 1:3]]), {"min_data_per_group": 5}
        model = make("two classes", **groups).fit(table, y, categorical_feature=[0])
    else:
        table = np.column_stack([codes.astype(object), X[:, 1:3].astype(object)])
        model = make("two classes").fit(table, y, cat_features=[0])
    for read in (
        lambda: read_node_equations(model, Records(X[:, :3], y)),
        lambda: read_split_thresholds(model, X[:, :3], 0.5),
    ):
        with pytest.raises(ValueError, match="splits on categories"):
            read()


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
@pytest.mark.parametrize("kind", ["two classes", "regression"])
def test_thresholds_are_midpoints_of_training_values(make, kind):
    model, records, member = fit(make(kind), kind)
    (events,) = read_split_thresholds(model, records.X[member], 0.5)
    assert events.n_explained == events.n_thresholds > 15
    (others,) = read_split_thresholds(model, records.X[~member], 0.5)
    assert others.n_explained < events.n_explained


def test_evenly_spaced_borders_are_refused():
    model, records, _ = fit(
        make_catboost("regression", feature_border_type="Uniform"), "regression"
    )
    with pytest.raises(ValueError, match="feature_border_type='Uniform' spaces them evenly"):
        read_split_thresholds(model, records.X, 0.5)


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
def test_members_are_found(make):
    many = {"n_estimators": 60} if make is make_lightgbm else {"iterations": 60}
    model = make_pipeline(StandardScaler(), make("two classes", **many))
    model, records, member = fit(model, "two classes")
    for attack in (NodeEquationsAttack, SplitThresholdAttack, ReleasedModelAttack):
        scores = attack(FrozenEstimator(model)).fit(records).score_samples(records)
        assert roc_auc_score(member, scores) > 0.9


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
def test_state_has_what_nodes_store(make):
    model, _, member = fit(make("two classes"), "two classes")
    state = read_state(model)
    assert not state.unread
    kinds = {one.kind for one in state.arrays}
    assert {"thresholds", "counts", "leaf values"} <= kinds
    assert ("covers" in kinds) == (make is make_lightgbm)
    inspection = inspect_model(model)
    assert inspection.n_rows == member.sum()
    (finding,) = inspection.findings
    assert {"NodeEquationsAttack", "SplitThresholdAttack"} <= set(finding.attacks)


def test_lightgbm_keeps_the_extremes_of_each_column():
    model, records, member = fit(make_lightgbm("regression"), "regression")
    assert inspect_model(model).level == "values"
    frame = reconstruct_values(model).to_frame()
    assert set(frame["how"]) == {"exact"}
    extremes = frame.groupby("column", sort=False)["value"].agg(["min", "max"])
    X = records.X[member]
    np.testing.assert_array_equal(extremes, np.column_stack([X.min(axis=0), X.max(axis=0)]))


@pytest.mark.filterwarnings("ignore:Predictions of this")
@pytest.mark.parametrize("kind", DATA)
def test_leaf_values_of_a_stripped_text_are_equations_by_themselves(kind):
    model, records, member = fit(make_lightgbm(kind), kind)
    equations = read_node_equations(strip_state(model), records)
    assert equations.n_rows == 0
    assert len(equations.targets) > 50
    assert find_errors(equations, member).max() < 1e-4
    (events,) = read_split_thresholds(strip_state(model), records.X[member], 0.5)
    assert events.n_explained == events.n_thresholds


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
def test_models_that_are_not_fitted_are_named(make):
    model = make("two classes")
    assert has_node_equations(model)
    with pytest.raises(NotFittedError):
        read_node_equations(model, Records(*CANCER))
