"""Thresholds are computed from values of the training rows, and their explanations are found."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import logit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia.attacks._split_threshold import compute_messages
from skmia.defenses import strip_state
from skmia.victims._split_thresholds import (
    MIDPOINT,
    QUANTILE,
    VALUE,
    SortedColumns,
    explain,
    has_split_thresholds,
    read_edges,
    read_split_thresholds,
)

pytestmark = pytest.mark.contract

CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
FEW = {"n_estimators": 5, "random_state": 0}


def fit(model, data, seed=0):
    """A model fitted on a random half of a table, all features, and the bits of the half."""
    X, y = data
    member = np.zeros(len(y), dtype=bool)
    member[np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]] = True
    return model.fit(X[member], y[member]), X, member


def count_true(events, member):
    """How many thresholds an explanation of which both ends have a member."""
    has = np.zeros(len(events.of_slot), dtype=bool)
    np.logical_or.at(has, events.slots, member[events.candidates])
    between = np.append(0, np.cumsum(has))
    empty = between[events.upper] <= between[np.minimum(events.lower + 1, len(has))]
    true = has[events.lower] & has[events.upper] & empty
    return len(np.unique(events.of_pair[true]))


# In models without samples, the two values that the training rows have explain each threshold.
EXACT = [
    (DecisionTreeClassifier(random_state=0), CANCER),
    (DecisionTreeClassifier(class_weight="balanced", random_state=0), WINE),
    (DecisionTreeRegressor(random_state=0), DIABETES),
    (DecisionTreeRegressor(criterion="absolute_error", max_depth=4), DIABETES),
    (RandomForestClassifier(bootstrap=False, **FEW), WINE),
    (GradientBoostingClassifier(**FEW), WINE),
    (GradientBoostingRegressor(**FEW), DIABETES),
    (HistGradientBoostingClassifier(max_iter=2), CANCER),
    (HistGradientBoostingRegressor(max_iter=2, max_bins=50), DIABETES),
]


@pytest.mark.parametrize(
    "model, data", EXACT, ids=[f"{type(one[0]).__name__} {k}" for k, one in enumerate(EXACT)]
)
def test_values_of_members_explain_every_threshold(model, data):
    model, X, member = fit(model, data)
    groups = read_split_thresholds(FrozenEstimator(model), X, 0.5)
    assert {events.kept for events in groups} == {1}
    assert sum(events.n_thresholds for events in groups) > 3
    for events in groups:
        assert count_true(events, member) == events.n_explained == events.n_thresholds


@pytest.mark.parametrize(
    "model, data, kept",
    [
        (RandomForestClassifier(**FEW), CANCER, 1 - np.exp(-1)),
        (RandomForestRegressor(max_samples=0.5, **FEW), DIABETES, 1 - np.exp(-0.5)),
        (BaggingClassifier(max_features=0.5, **FEW), CANCER, 1 - np.exp(-1)),
        (BaggingClassifier(bootstrap=False, max_samples=0.6, **FEW), CANCER, 0.6),
        (GradientBoostingClassifier(subsample=0.7, **FEW), CANCER, 0.7),
    ],
    ids=["forest", "forest of halves", "bagging", "bagging without replacement", "subsample"],
)
def test_values_explain_thresholds_of_samples(model, data, kept):
    model, X, member = fit(model, data)
    groups = read_split_thresholds(model, X, 0.5)
    assert len(groups) == 5
    for events in groups:
        np.testing.assert_allclose(events.kept, kept)
        assert events.n_thresholds == events.n_explained > 3
    # Without the members, hardly any is explained in columns of many values.
    apart = read_split_thresholds(model, X[~member], 0.5)
    assert sum(one.n_explained for one in apart) < sum(one.n_thresholds for one in apart)


def test_thresholds_of_xgboost_are_values():
    xgboost = pytest.importorskip("xgboost")
    for kind, data in ((xgboost.XGBClassifier, CANCER), (xgboost.XGBRegressor, DIABETES)):
        for settings in ({}, {"subsample": 0.5, "reg_alpha": 1.0, "max_bin": 16}):
            model, X, member = fit(kind(n_estimators=5, n_jobs=1, **settings), data)
            (events,) = read_split_thresholds(model, X, 0.5)
            assert events.n_thresholds == events.n_explained > 10
            assert count_true(events, member) == events.n_thresholds


def draw_event(seed, rule):
    """One threshold of eight candidates with few distinct values, and their probabilities."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, size=8).astype(float)
    distinct = np.unique(x)
    k = rng.integers(len(distinct) - 1)
    t = distinct[k] if rule is VALUE else (distinct[k] + distinct[k + 1]) / 2
    return x, t, rng.uniform(0.05, 0.95, size=8)


def is_made(x, present, t, rule):
    """Whether the values of those who are present can have given a threshold."""
    values = np.unique(x[present])
    if rule is VALUE:
        return t in values
    low, high = values[values <= t], values[values > t]
    midpoint = len(low) and len(high) and (low[-1] + high[0]) / 2 == t
    return bool(midpoint or (rule is QUANTILE and t in values))


@pytest.mark.parametrize("rule", [MIDPOINT, VALUE], ids=["midpoint", "value"])
@pytest.mark.parametrize("seed", range(8))
def test_message_is_the_likelihood_ratio_of_all_cases(rule, seed):
    x, t, q = draw_event(seed, rule)
    columns = SortedColumns(x[:, None], len(x))
    events = explain(read_edges([0], [t], columns), rule, 1.0, columns, 0.5)
    found = np.zeros(len(x))
    found[events.candidates] = compute_messages(events, logit(q[events.candidates]), 0.0)
    likelihood = np.zeros((2, len(x)))
    for present in product([False, True], repeat=len(x)):
        present = np.array(present)
        chance = np.where(present, q, 1 - q)
        if is_made(x, present, t, rule):
            for i in range(len(x)):
                likelihood[int(present[i]), i] += np.prod(np.delete(chance, i))
    with np.errstate(divide="ignore"):
        expected = np.clip(np.diff(np.log(likelihood), axis=0)[0], -8, 8)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected).max() > 0.1


def test_midpoints_are_those_of_single_precision():
    X = np.array([[0.1], [0.3], [0.7]])
    tree = DecisionTreeClassifier().fit(X[1:], [0, 1])
    (events,) = read_split_thresholds(tree, X, 0.5)
    assert events.n_explained == 1
    assert X.astype(np.float32)[events.candidates, 0].tolist() == np.float32([0.3, 0.7]).tolist()
    moved = X * (1 + 1e-6)
    assert read_split_thresholds(tree, moved, 0.5)[0].n_explained == 0


def test_steps_searches_and_missing_values():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    for wrapped in (make_pipeline(StandardScaler(), tree), GridSearchCV(tree, {"max_depth": [4]})):
        model, X, member = fit(wrapped, CANCER)
        assert has_split_thresholds(model)
        (events,) = read_split_thresholds(model, X, 0.5)
        assert count_true(events, member) == events.n_thresholds


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(max_depth=4), HistGradientBoostingClassifier(max_iter=2)],
    ids=["tree", "histogram boosting"],
)
def test_missing_values_go_where_the_tree_sends_them(model):
    X, y = CANCER
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    model, _, member = fit(model, (X, y))
    if hasattr(model, "tree_"):
        leaves, counts = np.unique(model.apply(X[member]), return_counts=True)
        if not np.array_equal(model.tree_.n_node_samples[leaves], counts):
            pytest.skip("this scikit-learn sends some missing values elsewhere while it trains")
    groups = read_split_thresholds(model, X, 0.5)
    assert sum(events.n_thresholds for events in groups) > 3
    for events in groups:
        assert count_true(events, member) == events.n_thresholds


def test_edges_of_columns_with_few_values_are_no_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 90, size=400), rng.normal(size=400)]).astype(float)
    model, _, member = fit(
        HistGradientBoostingClassifier(max_iter=1, max_bins=128), (X, X[:, 1] > 0)
    )
    inner, quantiles = read_split_thresholds(model, X, 0.5)
    assert inner.n_thresholds == len(np.unique(X[member, 0])) - 1
    assert quantiles.n_thresholds == 127
    assert (inner.lower < inner.upper).all()
    for events in (inner, quantiles):
        assert count_true(events, member) == events.n_thresholds


def test_files_without_counts_and_edges_are_read():
    X = CANCER[0]
    for model in (RandomForestClassifier(**FEW), HistGradientBoostingClassifier(max_iter=5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what stays in the file, which is read here
            model = strip_state(fit(model, CANCER)[0])
        groups = read_split_thresholds(model, X, 0.5)
        found = sum(events.n_explained for events in groups)
        assert found == sum(events.n_thresholds for events in groups) > 20


def test_entries_that_xgboost_takes_for_missing():
    xgboost = pytest.importorskip("xgboost")
    X, y = CANCER
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, -1.0, X)
    model, _, member = fit(xgboost.XGBClassifier(n_estimators=5, n_jobs=1, missing=-1.0), (X, y))
    (events,) = read_split_thresholds(model, X, 0.5)
    assert count_true(events, member) == events.n_thresholds
    assert not (X[events.candidates] == -1).all(axis=1).any()


def test_a_tree_without_splits_says_nothing():
    X, y = CANCER
    for model in (
        DecisionTreeClassifier(min_samples_leaf=400),
        RandomForestClassifier(2, min_samples_leaf=400),
        GradientBoostingClassifier(n_estimators=2, min_samples_leaf=400),
        HistGradientBoostingClassifier(max_iter=1),
    ):
        events = read_split_thresholds(model.fit(0 * X, y), 0 * X, 0.5)
        assert sum(one.n_thresholds for one in events) == 0


@pytest.mark.parametrize(
    "model, message",
    [
        (ExtraTreesClassifier(2), "drawn at random between the values of a node"),
        (DecisionTreeClassifier(splitter="random"), "drawn at random"),
        (BaggingClassifier(DecisionTreeClassifier(splitter="random"), 2), "drawn at random"),
        (BaggingClassifier(SVC(), 2), "holds a SVC, and only decision trees"),
        (HistGradientBoostingClassifier(max_iter=3, categorical_features=[0, 1]), "on categories"),
    ],
    ids=["extra trees", "random splits", "bag of random splits", "bag of others", "codes"],
)
def test_thresholds_that_are_not_known_are_refused(model, message):
    X, y = CANCER
    if "categorical_features" in model.get_params():
        X = X[:, :2] // 3
    model.fit(X, y)
    with pytest.raises(ValueError, match=f"thresholds of this {type(model).__name__}.*{message}"):
        read_split_thresholds(model, X, 0.5)


@pytest.mark.filterwarnings("ignore:.*booster=gblinear")  # deprecated in xgboost 3.4
@pytest.mark.parametrize(
    "settings, message",
    [
        ({"booster": "gblinear"}, "booster is 'gblinear'"),
        ({"tree_method": "exact"}, "tree_method='exact' makes thresholds"),
    ],
)
def test_settings_of_xgboost_that_are_refused(settings, message):
    xgboost = pytest.importorskip("xgboost")
    model, X, _ = fit(xgboost.XGBClassifier(n_estimators=2, n_jobs=1, **settings), CANCER)
    with pytest.raises(ValueError, match=message):
        read_split_thresholds(model, X, 0.5)


@pytest.mark.parametrize("package", ["sklearn", "xgboost"])
def test_columns_of_numbers_beside_categories_are_read(package):
    X, y = CANCER
    X = np.column_stack([X[:, 0] // 3, X[:, 1:6]])
    member = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    if package == "sklearn":
        # Codes of categories come first, whatever the place of their columns.
        X = X[:, ::-1]
        model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[5])
        others = np.flatnonzero(~member)
    else:
        xgboost = pytest.importorskip("xgboost")
        types = ["c"] + ["float"] * 5
        model = xgboost.XGBClassifier(n_estimators=5, feature_types=types, n_jobs=1)
        model.set_params(enable_categorical=True)
        others = np.flatnonzero(~member & np.isin(X[:, 0], X[member, 0]))
    model.fit(X[member], y[member])
    found, wrong = (
        [sum(getattr(one, name) for one in read_split_thresholds(model, X[some], 0.5))
         for name in ("n_explained", "n_thresholds")]
        for some in (member, others)
    )  # fmt: skip
    assert found[0] == found[1] > 10
    assert wrong[0] < wrong[1]


def test_samples_of_a_number_of_rows_are_read():
    X, y = CANCER
    member = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    forest = RandomForestClassifier(20, max_samples=100, random_state=0).fit(X[member], y[member])
    kept = {one.kept for one in read_split_thresholds(forest, X, 0.5)}
    np.testing.assert_allclose(list(kept), -np.expm1(-100 / member.sum()))
    vars(forest).pop("_n_samples")
    with pytest.raises(ValueError, match="max_samples=100 leaves open"):
        read_split_thresholds(forest, X, 0.5)


def test_other_models_and_shapes_are_named():
    X, y = WINE
    for model in (SVC(), GaussianNB()):
        assert not has_split_thresholds(model)
        with pytest.raises(TypeError, match=f"XGBoost, .*; got {type(model).__name__}"):
            read_split_thresholds(model.fit(X, y), X, 0.5)
    with pytest.raises(ValueError, match="split by 13 features; the records have shape"):
        read_split_thresholds(DecisionTreeClassifier().fit(X, y), X[:, :3], 0.5)
