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
from skmia.victims._boosters import OBLIVIOUS, CatBoostTree, load_catboost
from skmia.victims._node_equations.read import has_node_equations, read_node_equations
from skmia.victims._split_thresholds import read_split_thresholds

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


def test_values_on_the_borders_of_catboost_go_where_the_model_sends_them():
    model, records, _ = fit(make_catboost("regression"), "regression")
    stored = load_catboost(model)
    numbers = stored["features_info"]["float_features"]
    X = np.asarray(records.X, dtype=np.float32)[:50].copy()
    for one in numbers:
        X[: len(one["borders"] or ()), one["flat_feature_index"]] = (one["borders"] or [])[:50]
    leaves = [CatBoostTree(tree, numbers).route(X) for tree in stored[OBLIVIOUS]]
    np.testing.assert_array_equal(np.transpose(leaves), model.calc_leaf_indexes(X))


@pytest.mark.parametrize("make", [make_lightgbm, make_catboost])
@pytest.mark.parametrize("kind", DATA)
def test_equations_hold_for_the_true_members(make, kind):
    model, records, member = fit(make(kind), kind)
    equations = read_node_equations(FrozenEstimator(model), records)
    assert equations.n_rows == member.sum()
    # Gradients of LightGBM are in single precision.
    assert find_errors(equations, member).max() < (1e-4 if make is make_lightgbm else 1e-12)
    assert find_errors(equations, ~member).max() > 0.1
    # A leaf states its records and, for each output, its step; of two classes there is none.
    n_counts = np.isin(equations.rows.toarray(), [0, 1]).all(axis=1).sum()
    if make is make_catboost:
        n_steps = {"two classes": 0, "three classes": 3, "regression": 1}[kind]
        assert len(equations.targets) == (1 + n_steps) * n_counts


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
        (
            {"pos_bagging_fraction": 0.5, "subsample_freq": 1},
            "pos_bagging_fraction=0.5 leaves out other shares",
        ),
        ({"reg_alpha": 1.0}, "lambda_l1=1 changes"),
        ({"linear_tree": True}, "linear_tree=1 changes"),
        ({"path_smooth": 1.0}, "path_smooth=1 changes"),
        ({"max_delta_step": 0.1}, "max_delta_step=0.1 changes"),
        (
            {"is_unbalance": True, "subsample": 0.5, "subsample_freq": 1},
            "class weights or sample weights",
        ),
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
    ],
)
def test_settings_of_catboost_that_are_refused(settings, message):
    model, records, _ = fit(make_catboost("two classes", iterations=2, **settings), "two classes")
    with pytest.raises(ValueError, match=message):
        read_node_equations(model, records)


def test_sample_weights_of_catboost_are_noticed():
    X, y = CANCER
    model = make_catboost("two classes")
    model.fit(X, y, sample_weight=np.random.default_rng(0).random(len(y)))
    with pytest.raises(ValueError, match="class weights or sample weights"):
        read_node_equations(model, Records(X, y))


def find_deviations(equations, member):
    """What is left of each equation for the true members, over its declared deviation."""
    norms = np.asarray((equations.rows**2).sum(axis=1)).ravel()
    left = equations.rows @ member - equations.targets
    return left / np.sqrt(equations.variances + 1e-8 * norms)


@pytest.mark.parametrize("kind", DATA)
def test_unknown_sample_weights_leave_counts_of_lightgbm_exact(kind):
    X, y = DATA[kind]
    member = np.random.default_rng(0).permutation(len(y)) < N[kind]
    weights = np.random.default_rng(1).uniform(0.3, 2, N[kind])
    model = make_lightgbm(kind).fit(X[member], y[member], sample_weight=weights)
    equations = read_node_equations(model, Records(X, y))
    assert equations.n_rows == N[kind]
    z, exact = find_deviations(equations, member), equations.variances < 1e-9
    assert np.abs(z[exact]).max() < 1e-3
    assert exact.any() and not exact.all()
    assert 0.3 < np.sqrt(np.mean(z[~exact] ** 2)) < 1.6


WEIGHTS = [
    ("two classes", {"class_weight": "balanced"}),
    ("two classes", {"class_weight": "balanced", "reg_lambda": 2.0}),
    ("two classes", {"class_weight": {1: 3.0}}),
    ("two classes", {"is_unbalance": True}),
    ("two classes", {"scale_pos_weight": 0.3}),
    ("three classes", {"class_weight": {0: 2.0, 2: 0.5}}),
]


@pytest.mark.parametrize("kind, settings", WEIGHTS, ids=repr)
def test_class_weights_of_lightgbm_multiply_its_sums(kind, settings):
    model, records, member = fit(make_lightgbm(kind, **settings), kind)
    equations = read_node_equations(model, records)
    assert equations.n_rows == member.sum()
    assert find_errors(equations, member).max() < 5e-3  # sums in single precision that cancel
    assert np.median(find_errors(equations, member)) < 1e-6
    assert len(equations.targets) > 3 * 8
    assert find_errors(equations, ~member).max() > 0.1


def test_weights_in_the_loss_of_a_stripped_text_are_refused():
    model, records, _ = fit(make_lightgbm("two classes", is_unbalance=True), "two classes")
    with pytest.warns(UserWarning, match="Predictions of this"):
        stripped = strip_state(model)
    with pytest.raises(ValueError, match="class weights or sample weights"):
        read_node_equations(stripped, records)


def test_class_weights_of_catboost_multiply_its_counts():
    model, records, member = fit(make_catboost("two classes", class_weights=[1, 3]), "two classes")
    equations = read_node_equations(model, records)
    assert equations.n_rows == 0  # sums of weights do not say it
    assert find_errors(equations, member).max() < 1e-9
    assert set(np.unique(equations.rows.data)) == {1.0, 3.0}


@pytest.mark.parametrize("freq", [1, 3])
@pytest.mark.parametrize("kind", DATA)
def test_equations_of_bags_of_lightgbm_have_the_noise_of_the_draw(kind, freq):
    settings = {"n_estimators": 30, "subsample": 0.6, "subsample_freq": freq, "random_state": 0}
    model, records, member = fit(make_lightgbm(kind, **settings), kind)
    equations = read_node_equations(model, records)
    assert abs(equations.n_rows - member.sum()) < 0.1 * member.sum()
    z = find_deviations(equations, member)
    assert 0.3 < np.sqrt(np.mean(z**2)) < 1.5
    wrong = equations.rows @ ~member - equations.targets
    assert np.mean(wrong**2 / equations.variances) > np.mean(z**2)


def test_splits_of_lightgbm_on_codes_are_followed():
    """Columns of few categories are split into one and all others, with another penalty."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers([40, 3], size=(500, 2)), rng.normal(size=500)])
    y = (rng.normal(size=40)[X[:, 0].astype(int)] + X[:, 2] > X[:, 1] - 1).astype(int)
    X[rng.random(500) < 0.1, 0] = np.nan
    member = rng.permutation(500) < 250
    model = make_lightgbm("two classes", min_data_per_group=5)
    model.fit(X[member], y[member], categorical_feature=[0, 1])
    equations = read_node_equations(model, Records(X, y))
    assert find_errors(equations, member).max() < 1e-4
    assert find_errors(equations, ~member).max() > 0.1
    (events,) = read_split_thresholds(model, X[member], 0.5)
    assert events.n_explained == events.n_thresholds > 5  # of the column of numbers
    model.fit(X[member][:, :2], y[member], categorical_feature=[0, 1])
    with pytest.raises(ValueError, match="splits on categories alone"):
        read_split_thresholds(model, X[:, :2], 0.5)


def test_splits_of_catboost_on_categories_are_refused():
    X, y = CANCER
    codes = (X[:, 20] / 3).astype(int) % 5
    table = np.column_stack([codes.astype(object), X[:, 1:3].astype(object)])
    model = make_catboost("two classes").fit(table, y, cat_features=[0])
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


@pytest.mark.parametrize(
    "make", [make_lightgbm, pytest.param(make_catboost, marks=pytest.mark.slow)]
)
def test_members_are_found(make):
    many = {"n_estimators": 30} if make is make_lightgbm else {"iterations": 60}
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
