"""The equations of each family hold for the true members, to the last bit where they are exact."""

import numpy as np
import pandas as pd
import pytest
from cells import slow
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records
from skmia.defenses import strip_state
from skmia.victims._node_equations.boosting import add_bins
from skmia.victims._node_equations.cart import TreeSample, estimate_totals
from skmia.victims._node_equations.equations import NodeCollector, estimate_steps
from skmia.victims._node_equations.read import (
    has_node_equations,
    read_further_columns,
    read_node_equations,
)

pytestmark = pytest.mark.contract

CANCER = load_breast_cancer(return_X_y=True)
NARROW = CANCER[0][:, :4], CANCER[1]
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def draw_groups(n=500):
    """A table with two columns of categories, which the labels depend on."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(40, size=n), rng.normal(size=(n, 1)), rng.integers(5, size=n)]
    )
    return X, (rng.normal(size=40)[X[:, 0].astype(int)] + X[:, 1] > X[:, 2] % 2).astype(int)


GROUPS = draw_groups()


def fit(model, data, seed=0):
    """A model fitted on a random half of a table, all records, and the bits of the half."""
    X, y = data
    member = np.zeros(len(y), dtype=bool)
    member[np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]] = True
    return model.fit(X[member], y[member]), Records(X, y), member


def find_errors(equations, member):
    """What is left of each equation, over the norm of its row; and the norms."""
    norms = np.sqrt(np.asarray((equations.rows**2).sum(axis=1)).ravel())
    return (equations.rows @ member - equations.targets) / norms, norms


def bag(tree, **settings):
    """Bagged trees for classes or targets."""
    kind = BaggingClassifier if hasattr(tree, "predict_proba") else BaggingRegressor
    return kind(tree, n_estimators=15, random_state=0, **settings)


FORESTS = {"n_estimators": 10, "min_samples_leaf": 3, "random_state": 0}
# Rows of XGBoost are sums in single precision.
EXACT = [
    (DecisionTreeClassifier(random_state=0), CANCER, 1e-12),
    slow(DecisionTreeClassifier(min_samples_leaf=5, random_state=0), WINE, 1e-12),
    (DecisionTreeRegressor(min_samples_leaf=5, random_state=0), DIABETES, 1e-12),
    (ExtraTreesClassifier(**FORESTS), WINE, 1e-12),
    (ExtraTreesRegressor(**FORESTS), DIABETES, 1e-11),
    (HistGradientBoostingClassifier(max_iter=20, random_state=0), CANCER, 1e-10),
    (HistGradientBoostingClassifier(max_iter=10, l2_regularization=2, random_state=0), WINE, 1e-3),
    (HistGradientBoostingRegressor(max_iter=20, random_state=0), DIABETES, 1e-10),
    (GradientBoostingClassifier(n_estimators=20, random_state=0), CANCER, 1e-10),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), WINE, 1e-10),
    (GradientBoostingRegressor(n_estimators=20, random_state=0), DIABETES, 1e-10),
    slow(AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), random_state=0), CANCER, 1e-9),
    (AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), random_state=0), WINE, 1e-9),
    (bag(DecisionTreeClassifier(), bootstrap=False, max_features=0.5), WINE, 1e-12),
    slow(bag(DecisionTreeRegressor(), bootstrap=False, max_features=0.5), DIABETES, 1e-12),
    # Class weights, by which sums and gradients are divided again.
    (DecisionTreeClassifier(min_samples_leaf=3, class_weight="balanced"), CANCER, 1e-12),
    slow(DecisionTreeClassifier(min_samples_leaf=3, class_weight={0: 2, 1: 0.3}), WINE, 1e-12),
    (ExtraTreesClassifier(**FORESTS, class_weight="balanced"), WINE, 1e-12),
    (ExtraTreesClassifier(**FORESTS, class_weight="balanced_subsample"), WINE, 1e-12),
    (bag(DecisionTreeClassifier(class_weight="balanced"), bootstrap=False), WINE, 1e-12),
    # With weights of rows scikit-learn takes long to bin the many columns of this table.
    slow(HistGradientBoostingClassifier(max_iter=10, class_weight="balanced"), CANCER, 1e-10),
    (
        HistGradientBoostingClassifier(
            max_iter=10, class_weight="balanced", l2_regularization=2, learning_rate=0.3
        ),
        NARROW,
        1e-10,
    ),
    slow(HistGradientBoostingClassifier(max_iter=10, class_weight={0: 3.0}), CANCER, 1e-10),
    (HistGradientBoostingClassifier(max_iter=10, class_weight={0: 3.0}), WINE, 1e-3),
    (AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=10), CANCER, 1e-10),
    slow(AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10), WINE, 1e-10),
    # Splits on categories.
    (HistGradientBoostingClassifier(max_iter=10, categorical_features=[0, 2]), GROUPS, 1e-10),
    (HistGradientBoostingRegressor(max_iter=10, categorical_features=[0, 2]), GROUPS, 1e-10),
]


@pytest.mark.parametrize("model, data, tolerance", EXACT, ids=[repr(case[0]) for case in EXACT])
def test_equations_hold_for_the_true_members(model, data, tolerance):
    model, records, member = fit(model, data)
    equations = read_node_equations(FrozenEstimator(model), records)
    assert equations.n_rows == member.sum()
    assert len(equations.targets) > 5
    errors, norms = find_errors(equations, member)
    deviations = np.sqrt(equations.variances) / norms
    exact = deviations < 1e-3  # bins of histogram boosting are not, where candidates share values
    assert np.abs(errors[exact]).max() < tolerance
    assert np.abs(errors[~exact] / deviations[~exact]).max(initial=0) < 4
    wrong, _ = find_errors(equations, ~member)
    assert np.abs(wrong).max() > 0.1


def test_counts_of_samples_without_labels_have_the_variance_of_their_draw():
    model, records, member = fit(
        IsolationForest(n_estimators=30, max_samples=100, random_state=0), CANCER
    )
    equations = read_node_equations(model, records, (member.sum(), len(member) / 4))
    assert equations.n_rows == member.sum()  # the forest stores how many rows it drew from
    equations = equations._replace(targets=equations.targets[:-1], rows=equations.rows[:-1])
    errors, norms = find_errors(equations, member)
    deviations = np.sqrt(equations.variances[:-1]) / norms
    assert 0.5 < np.sqrt(np.mean((errors / deviations) ** 2)) < 1.2


def test_unequal_weights_of_the_first_round_leave_the_counts():
    X, y = WINE
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5)
    even = read_node_equations(model.fit(X, y), Records(X, y))
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=len(y))
    uneven = read_node_equations(model.fit(X, y, sample_weight=weights), Records(X, y))
    assert len(uneven.targets) < len(even.targets)
    errors, _ = find_errors(uneven, np.ones(len(y)))
    assert np.abs(errors).max() < 1e-12


@pytest.mark.parametrize("data, kind", [(CANCER, 0), (WINE, 0), (DIABETES, 1)])
def test_equations_of_xgboost_hold(data, kind):
    xgboost = pytest.importorskip("xgboost")
    model = [xgboost.XGBClassifier, xgboost.XGBRegressor][kind](n_estimators=10, n_jobs=1)
    model, records, member = fit(model, data)
    equations = read_node_equations(model, records)
    np.testing.assert_allclose(equations.n_rows, member.sum(), rtol=1e-5)
    errors, _ = find_errors(equations, member)
    assert np.abs(errors).max() < 5e-3
    assert np.median(np.abs(errors)) < 1e-6


@pytest.mark.parametrize(
    "model, data",
    [
        (RandomForestClassifier(15, min_samples_leaf=3, random_state=0), CANCER),
        (RandomForestClassifier(15, max_samples=0.5, random_state=0), WINE),
        (RandomForestRegressor(15, min_samples_leaf=5, random_state=0), DIABETES),
        (bag(DecisionTreeClassifier(min_samples_leaf=3)), CANCER),
        (bag(DecisionTreeClassifier(min_samples_leaf=3), max_samples=0.5, max_features=0.5), WINE),
        (bag(DecisionTreeClassifier(), bootstrap=False, max_samples=0.5), CANCER),
        slow(bag(DecisionTreeRegressor(min_samples_leaf=5)), DIABETES),
        (
            bag(DecisionTreeRegressor(min_samples_leaf=5), bootstrap=False, max_samples=0.7),
            DIABETES,
        ),
        slow(RandomForestClassifier(15, max_samples=100, random_state=0), CANCER),
        (bag(DecisionTreeClassifier(min_samples_leaf=3), max_samples=100), CANCER),
        (
            RandomForestClassifier(15, min_samples_leaf=3, class_weight="balanced", random_state=0),
            WINE,
        ),
        (
            RandomForestClassifier(
                15, min_samples_leaf=3, class_weight={0: 1, 1: 3}, random_state=0
            ),
            CANCER,
        ),
        (
            RandomForestClassifier(
                15, min_samples_leaf=3, class_weight="balanced_subsample", random_state=0
            ),
            CANCER,
        ),
        (bag(DecisionTreeClassifier(min_samples_leaf=3, class_weight={1: 3})), CANCER),
        (IsolationForest(n_estimators=50, random_state=0), CANCER),
        (IsolationForest(n_estimators=50, max_samples=64, bootstrap=True, random_state=0), CANCER),
    ],
    ids=[
        *("classes", "half of the rows", "targets", "bag", "half of rows and columns"),
        *("half without replacement", "bag of targets", "targets without replacement"),
        *("100 rows", "bag of 100 rows", "balanced", "weights", "balanced samples"),
        *("bag with weights", "isolation forest", "isolation forest of samples"),
    ],
)
def test_noise_of_bootstrap_samples_is_as_large_as_declared(model, data):
    model, records, member = fit(model, data)
    equations = read_node_equations(model, records)
    assert abs(equations.n_rows - member.sum()) <= 1
    errors = (equations.rows @ member - equations.targets) / np.sqrt(equations.variances)
    # The variances are an upper estimate where few candidates of a node are members.
    assert 0.4 < errors.std() < 1.1
    assert abs(errors.mean()) < 0.2


def draw_weights(n, kind):
    rng = np.random.default_rng(n)
    return rng.integers(1, 4, n).astype(float) if kind == "whole" else rng.uniform(0.3, 2, n)


WEIGHTED = [
    (ExtraTreesClassifier(15, min_samples_leaf=5, random_state=0), CANCER),
    (ExtraTreesRegressor(15, min_samples_leaf=5, random_state=0), DIABETES),
    (RandomForestClassifier(15, min_samples_leaf=3, random_state=0), CANCER),
    (bag(DecisionTreeClassifier(min_samples_leaf=5), bootstrap=True), CANCER),
    (GradientBoostingClassifier(n_estimators=20, random_state=0), CANCER),
    (GradientBoostingRegressor(n_estimators=20, random_state=0), DIABETES),
    (AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=5), CANCER),
]
# Whole weights differ from others where rows are drawn, which they could be taken for.
DRAWN = [one for one in WEIGHTED if isinstance(one[0], RandomForestClassifier | BaggingClassifier)]


@pytest.mark.parametrize(
    "model, data, kind",
    [*((*one, "real") for one in WEIGHTED), *((*one, "whole") for one in DRAWN)]
    + [slow(*one, "whole") for one in WEIGHTED if one not in DRAWN],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_unknown_weights_leave_counts_exact_and_other_equations_noisy(model, data, kind):
    X, y = data
    member = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
    model.fit(X[member], y[member], sample_weight=draw_weights(member.sum(), kind))
    if not hasattr(model, "_sample_weight") and isinstance(model, BaggingClassifier):
        pytest.skip("older versions of scikit-learn do not store the weights")
    equations = read_node_equations(model, Records(X, y))
    assert equations.n_rows == member.sum()
    errors, norms = find_errors(equations, member)
    z = errors / np.sqrt(equations.variances / norms**2 + 1e-12)
    noisy = equations.variances > 1e-9 * norms**2
    assert np.abs(errors[~noisy]).max(initial=0) < 1e-9
    # Residuals of boosting and squares in small leaves are not normal.
    assert not noisy.any() or 0.3 < np.sqrt(np.mean(z[noisy] ** 2)) < 1.6
    assert len(z) > 10


@pytest.mark.parametrize(
    "model, data",
    [
        (GradientBoostingClassifier(n_estimators=40, subsample=0.6, random_state=0), CANCER),
        slow(GradientBoostingClassifier(n_estimators=40, subsample=0.5, random_state=0), WINE),
        (GradientBoostingRegressor(n_estimators=40, subsample=0.5, random_state=0), DIABETES),
    ],
    ids=["two classes", "three classes", "targets"],
)
def test_equations_of_subsamples_have_the_noise_of_the_draw(model, data):
    model, records, member = fit(model, data)
    equations = read_node_equations(model, records)
    assert abs(equations.n_rows - member.sum()) <= 2
    errors, norms = find_errors(equations, member)
    z = errors / np.sqrt(equations.variances / norms**2)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5
    wrong, _ = find_errors(equations, ~member)
    assert np.mean(wrong**2) > np.mean(errors**2)


def test_steps_of_a_pipeline_and_searches_are_gone_through():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    for wrapped in (
        make_pipeline(MaxAbsScaler(), tree),
        GridSearchCV(tree, {"max_depth": [4]}),
    ):
        model, records, member = fit(wrapped, CANCER)
        equations = read_node_equations(FrozenEstimator(model), records)
        assert np.abs(find_errors(equations, member)[0]).max() < 1e-12
        assert has_node_equations(model)


def test_missing_values_go_where_the_tree_sends_them():
    X, y = CANCER
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for model in (
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
    ):
        model, records, member = fit(model, (X, y))
        errors, _ = find_errors(read_node_equations(model, records), member)
        assert np.abs(errors).max() < 1e-10


@pytest.mark.parametrize("absent", ["in sparse rows", "by their value"])
def test_missing_entries_of_xgboost_go_where_the_tree_sends_them(absent):
    xgboost = pytest.importorskip("xgboost")
    X, y = CANCER
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.3, 0.0, X)
    settings, X = ({"missing": 0.0}, X) if absent == "by their value" else ({}, sparse.csr_array(X))
    model = xgboost.XGBClassifier(n_estimators=10, n_jobs=1, **settings)
    model, records, member = fit(model, (X, y))
    errors, _ = find_errors(read_node_equations(model, records), member)
    assert np.median(np.abs(errors)) < 1e-6


def test_columns_of_further_records_are_those_that_they_would_have():
    model, records, _ = fit(GradientBoostingClassifier(n_estimators=5, random_state=0), CANCER)
    every = read_node_equations(model, records)
    some = read_node_equations(model, records[:400])
    columns = read_further_columns(model, records[400:], some)
    assert columns.shape == (len(some.targets), 169)
    again = read_further_columns(model, records[:400], some)
    np.testing.assert_array_equal(again.toarray(), some.rows.toarray())
    # Nodes that only the further records come to have no equation.
    assert columns.nnz <= every.rows[:, 400:].nnz


def read_bins(model, X, member):
    """Errors of the equations of the bins, and what deviation each is declared to have."""
    collector = NodeCollector(len(X))
    add_bins(collector, model, X, int(member.sum()))
    equations = collector.equations(member.sum()) if collector._n_equations else None
    if equations is None:
        return np.empty(0), np.empty(0)
    return equations.rows @ member - equations.targets, np.sqrt(equations.variances)


def draw_columns(n_members, decimals):
    """Columns of normal values, and who is a member."""
    rng = np.random.default_rng(n_members)
    member = rng.permutation(1000) < n_members
    return rng.normal(size=(1000, 3)).round(decimals), member


@pytest.mark.parametrize("n_members", [300, 510, 697])
def test_bins_of_histogram_boosting_count_training_rows(n_members):
    X, member = draw_columns(n_members, 12)
    model = HistGradientBoostingRegressor(max_iter=1).fit(X[member], X[member, 0])
    errors, deviations = read_bins(model, X, member)
    assert len(errors) == 3 * 255
    assert not errors.any()
    assert deviations.max() < 1e-9


def test_bins_of_a_sample_of_the_rows_count_nothing(monkeypatch):
    X, member = draw_columns(300, 12)
    model = HistGradientBoostingRegressor(max_iter=1).fit(X[member], X[member, 0])
    for limit, n_equations in ((300, 3 * 255), (299, 0)):
        monkeypatch.setattr("skmia.victims._node_equations.boosting._MOST_BINNED", limit)
        assert len(read_bins(model, X, member)[0]) == n_equations


def test_bins_between_shared_values_are_noisy():
    X, member = draw_columns(500, 2)
    model = HistGradientBoostingRegressor(max_iter=1, max_bins=60).fit(X[member], X[member, 0])
    errors, deviations = read_bins(model, X, member)
    assert len(errors) > 100
    assert 0.3 < errors.std() / np.sqrt(np.mean(deviations**2)) < 1.1
    assert np.abs(errors[deviations < 1e-9]).max(initial=0) == 0


@pytest.mark.parametrize("given", ["class weights", "sample weights"])
def test_quantiles_of_weighted_rows_are_left_out(given):
    X, member = draw_columns(600, 12)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    model.set_params(class_weight="balanced" if given == "class weights" else None)
    weights = {} if given == "class weights" else {"sample_weight": draw_weights(600, "real")}
    model.fit(X[member], y[member], **weights)
    equations = read_node_equations(model, Records(X, y))
    assert np.abs(find_errors(equations, member)[0]).max() < 1e-9
    model.set_params(class_weight=None).fit(X[member], y[member])
    plain = read_node_equations(model, Records(X, y))
    assert len(plain.targets) > len(equations.targets) + 255


def test_columns_without_quantiles_have_no_counts_of_bins():
    X, member = draw_columns(500, 12)
    few = np.argsort(np.argsort(X, axis=0), axis=0).astype(float) // 4  # 250 values
    values = np.unique(few[member, 0])
    missing = np.where(np.arange(1000)[:, None] % 9 == 0, np.nan, X)
    for table, n_bins in ((few, 255), (few, len(values)), (missing, 255)):
        model = HistGradientBoostingRegressor(max_iter=1, max_bins=n_bins)
        model.fit(table[member][:, :1], X[member, 0])
        assert not len(read_bins(model, table[:, :1], member)[0])


@pytest.mark.parametrize(
    "model, message",
    [
        (DecisionTreeClassifier(monotonic_cst=[1] + [0] * 29), "monotonic constraints"),
        (BaggingClassifier(LogisticRegression(C=1e-6)), "holds a LogisticRegression"),
        (GradientBoostingClassifier(n_estimators=3, loss="exponential"), "loss='exponential'"),
        (AdaBoostClassifier(LogisticRegression(C=1e-6)), "holds a LogisticRegression"),
    ],
    ids=repr,
)
def test_settings_whose_equations_are_not_known_are_refused(model, message):
    model, records, _ = fit(model, CANCER)
    with pytest.raises(ValueError, match=message):
        read_node_equations(model, records)


@pytest.mark.parametrize(
    "model, message",
    [
        (RandomForestClassifier(3, max_samples=50), "max_samples=50 does not say how many"),
        (BaggingClassifier(max_samples=50), "max_samples=50 does not say how many"),
        (DecisionTreeClassifier(class_weight="balanced"), "class weights or sample weights"),
        (RandomForestClassifier(3, class_weight="balanced"), "class weights or sample weights"),
        (IsolationForest(n_estimators=5), "does not store the numbers of rows"),
        (AdaBoostClassifier(n_estimators=2), "does not store the numbers of rows"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_what_needs_numbers_of_rows_is_refused_in_a_stripped_file(model, message):
    model, records, _ = fit(model, CANCER)
    with pytest.raises(ValueError, match=message):
        read_node_equations(strip_state(model), records)


@pytest.mark.parametrize("whole", [False, True])
def test_sample_weights_are_noticed_by_the_rows_that_bags_lack(whole):
    """Where the file does not store them, as in older versions of scikit-learn."""
    X, y = CANCER
    weights = np.random.default_rng(0).random(len(y))
    weights = np.ceil(3 * weights) if whole else weights
    model = bag(DecisionTreeClassifier(max_depth=3)).fit(X, y, sample_weight=weights)
    vars(model).pop("_sample_weight", None)
    with pytest.raises(ValueError, match="class weights or sample weights"):
        read_node_equations(model, Records(X, y))


def test_balanced_weights_of_two_classes_are_found_after_rows_were_set_apart():
    model = HistGradientBoostingClassifier(
        max_iter=5, early_stopping=True, class_weight="balanced", random_state=0
    )
    model, records, member = fit(model, CANCER)
    plain = model.get_params()["class_weight"]
    equations = read_node_equations(model, records)
    model.class_weight = None
    without = read_node_equations(model, records)
    assert plain == "balanced" and len(equations.targets) > len(without.targets)
    assert member.sum() * 0.85 < equations.n_rows < member.sum() * 0.95


@pytest.mark.parametrize("given", ["balanced", {0: 1, 1: 3}, {0: 2.5}])
def test_class_weights_that_multiply_draws_are_found(given):
    """Forests of older versions of scikit-learn, and bags of trees with weights."""
    tree = DecisionTreeClassifier(class_weight=given, min_samples_leaf=3)
    model, records, member = fit(bag(tree).set_params(n_estimators=30), CANCER)
    equations = read_node_equations(model, records)
    z = (equations.rows @ member - equations.targets) / np.sqrt(equations.variances)
    assert abs(z.mean()) < 0.1
    if given != {0: 1, 1: 3}:
        return
    # If the weights were taken for draws, one class would have too many rows.
    for one in model.estimators_:
        one.class_weight = None
    if not hasattr(model, "_sample_weight"):  # older versions do not say that there were none
        with pytest.raises(ValueError, match="multiplied by class weights or sample weights"):
            read_node_equations(model, records)
        return
    taken = read_node_equations(model, records)
    wrong = (taken.rows @ member - taken.targets) / np.sqrt(taken.variances)
    assert np.mean(wrong**2) > np.mean(z**2)


def test_bags_without_weights_are_never_taken_for_weighted_ones():
    rng = np.random.default_rng(0)
    for seed in range(8):
        y = rng.integers(2, size=rng.integers(60, 300))
        model = BaggingClassifier(
            DecisionTreeClassifier(max_depth=1),
            n_estimators=rng.integers(1, 20),
            max_samples=rng.choice([0.5, 1.0]),
            random_state=seed,
        )
        X = rng.normal(size=(len(y), 2))
        assert read_node_equations(model.fit(X, y), Records(X, y)).n_rows >= len(y) - 1


def test_criteria_without_means_and_several_outputs_are_refused():
    X, y = DIABETES
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="criterion='absolute_error'"):
        read_node_equations(model, Records(X, y))
    model = DecisionTreeRegressor(max_depth=2).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="several outputs"):
        read_node_equations(model, Records(X, y))


@pytest.mark.filterwarnings("ignore:.*booster=(dart|gblinear)")  # deprecated in xgboost 3.4
@pytest.mark.parametrize(
    "settings, message",
    [
        ({"reg_alpha": 1.0}, "alpha=1 changes"),
        ({"objective": "binary:hinge"}, "objective is 'binary:hinge'"),
        ({"booster": "gblinear"}, "booster is 'gblinear'"),
        ({"booster": "dart", "rate_drop": 0.9}, "booster is 'dart'|rate_drop or one_drop changes"),
        ({"num_parallel_tree": 2}, "several trees"),
    ],
)
def test_settings_of_xgboost_that_are_refused(settings, message):
    xgboost = pytest.importorskip("xgboost")
    model, records, _ = fit(xgboost.XGBClassifier(n_estimators=2, n_jobs=1, **settings), CANCER)
    with pytest.raises(ValueError, match=message):
        read_node_equations(model, records)


def test_the_weight_of_a_class_of_xgboost_multiplies_its_sums():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=10, scale_pos_weight=3.0, n_jobs=1)
    model, records, member = fit(model, CANCER)
    equations = read_node_equations(model, records)
    assert equations.n_rows == pytest.approx(member.sum(), abs=1e-2)
    errors, _ = find_errors(equations, member)
    assert np.abs(errors).max() < 5e-3
    assert np.median(np.abs(errors)) < 1e-6


@pytest.mark.parametrize("data, kind", [(CANCER, 0), (WINE, 0), (DIABETES, 1)])
def test_equations_of_subsamples_of_xgboost_have_the_noise_of_the_draw(data, kind):
    xgboost = pytest.importorskip("xgboost")
    model = [xgboost.XGBClassifier, xgboost.XGBRegressor][kind]
    model = model(n_estimators=20, subsample=0.6, n_jobs=1, random_state=0)
    model, records, member = fit(model, data)
    equations = read_node_equations(model, records)
    # The first sample estimates the number of rows.
    assert abs(equations.n_rows - member.sum()) < 4 * np.sqrt(member.sum() * 0.4 / 0.6)
    errors, norms = find_errors(equations, member)
    z = errors / np.sqrt(equations.variances / norms**2)
    assert 0.5 < np.sqrt(np.mean(z**2)) < 1.5


def as_frame(data, names="abc"):
    """The table with columns of categories whose codes are not in the order of their names."""
    frame = pd.DataFrame(data[0], columns=list(names))
    for name in "ac":
        values = [f"v{(7 * int(value)) % 41}" for value in frame[name]]
        frame[name] = pd.Categorical(values, categories=sorted(set(values), key=hash_of))
    return frame


def hash_of(text):
    """A key that shuffles short texts in the same way in each run."""
    return int(text[1:]) * 17 % 43


@pytest.mark.parametrize("one_hot", [2, 100])
@pytest.mark.parametrize("package", ["sklearn", "xgboost", "lightgbm"])
def test_categories_of_a_frame_go_where_the_tree_sends_them(package, one_hot):
    frame, y = as_frame(GROUPS), GROUPS[1]
    if package == "sklearn":
        model = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    elif package == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        settings = {"enable_categorical": True, "max_cat_to_onehot": one_hot, "n_jobs": 1}
        model = xgboost.XGBClassifier(n_estimators=10, **settings)
    else:
        lightgbm = pytest.importorskip("lightgbm")
        settings = {"max_cat_to_onehot": one_hot, "min_data_per_group": 5, "n_jobs": 1}
        model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1, **settings)
    member = np.random.default_rng(0).permutation(len(y)) < 250
    model.fit(frame[member], y[member])
    # Other records come with other categories, in another order.
    shuffled = frame.copy()
    for name in "ac":
        shuffled[name] = frame[name].cat.set_categories(sorted(frame[name].cat.categories))
    for table in (frame, shuffled):
        equations = read_node_equations(model, Records(table, y))
        assert equations.n_rows == pytest.approx(250, abs=1e-2)
        errors, _ = find_errors(equations, member)
        assert np.abs(errors).max() < 5e-3
        assert len(equations.targets) > 50
        wrong, _ = find_errors(equations, ~member)
        assert np.abs(wrong).max() > 0.1


@pytest.mark.parametrize("data, kind", [(CANCER, 0), (WINE, 0), (CANCER, 1)])
def test_weights_of_xgboost_are_told_from_counts(data, kind):
    xgboost = pytest.importorskip("xgboost")
    model = [xgboost.XGBClassifier, xgboost.XGBRegressor][kind](n_estimators=3, n_jobs=1)
    X, y = data
    records, assumed = Records(X, y), (len(y), 1.0)
    for base in (None, 0.3):
        model.set_params(base_score=base).fit(X, y)
        assert read_node_equations(model, records, assumed).n_rows == pytest.approx(len(y))
    model.fit(X, y, sample_weight=np.random.default_rng(0).uniform(0.5, 1.5, size=len(y)))
    with pytest.warns(UserWarning, match="trained with sample weights"):
        equations = read_node_equations(model, records, assumed)
    assert equations.is_assumed and equations.n_rows == len(y)
    read_further_columns(model, records[:5], equations)  # warns no second time


def test_other_models_and_labels_are_named():
    X, y = WINE
    records = Records(X, y)
    for model in (LogisticRegression(max_iter=3000), GaussianNB()):
        model.fit(X / X.max(axis=0), y)
        assert not has_node_equations(model)
        with pytest.raises(TypeError, match=f"XGBoost, .*; got {type(model).__name__}"):
            read_node_equations(model, records)
    model = DecisionTreeClassifier().fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match="does not know the label 2 of 48 records"):
        read_node_equations(model, records)
    with pytest.raises(ValueError, match="split by 13 features"):
        read_node_equations(model, Records(X[:, :3], y))


STRIPPED = [
    (ExtraTreesClassifier(**FORESTS), WINE, 1e-12),
    (ExtraTreesRegressor(**FORESTS), DIABETES, 1e-11),
    (DecisionTreeClassifier(min_samples_leaf=5, random_state=0), WINE, 1e-12),
    (HistGradientBoostingClassifier(max_iter=20, random_state=0), CANCER, 1e-10),
    (HistGradientBoostingClassifier(max_iter=10, random_state=0), WINE, 1e-3),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), WINE, 1e-10),
    (GradientBoostingRegressor(n_estimators=10, random_state=0), DIABETES, 1e-10),
]


@pytest.mark.parametrize("model, data, tolerance", STRIPPED)
@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_values_of_a_stripped_file_are_equations_by_themselves(model, data, tolerance):
    fitted, records, member = fit(model, data)
    equations = read_node_equations(fitted, records)
    stripped = read_node_equations(strip_state(fitted), records)
    assert stripped.n_rows == 0 < equations.n_rows
    # Numbers of rows that follow from shares of classes are not exact.
    exact = stripped.variances < 1e-6
    assert 0 < exact.sum() < len(equations.targets)
    assert np.abs(find_errors(stripped, member)[0][exact]).max() < tolerance


@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_leaf_values_of_a_stripped_booster_are_equations_by_themselves():
    xgboost = pytest.importorskip("xgboost")
    fitted, records, member = fit(xgboost.XGBClassifier(n_estimators=10, n_jobs=1), WINE)
    equations = read_node_equations(strip_state(fitted), records)
    assert equations.n_rows == 0
    assert np.abs(find_errors(equations, member)[0]).max() < 1e-4


def round_leaves(model, rounded):
    """A stripped copy whose leaf values are rounded."""
    stripped = strip_state(model)
    for one in getattr(stripped, "_predictors", ()):
        for tree in one:
            tree.nodes["value"] = rounded(tree.nodes["value"])
    for one in np.ravel(getattr(stripped, "estimators_", ())):
        one.tree_.value[:] = rounded(one.tree_.value)
    return stripped


ROUNDINGS = {
    "2 decimals": lambda values: np.round(values, 2),
    "float16": lambda values: values.astype(np.float16).astype(values.dtype),
}


@pytest.mark.parametrize("name", ["2 decimals", pytest.param("float16", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "model, data",
    [
        (HistGradientBoostingClassifier(max_iter=20, random_state=0), WINE),
        (GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0), CANCER),
        (HistGradientBoostingRegressor(max_iter=20, random_state=0), DIABETES),
        (ExtraTreesClassifier(**FORESTS), WINE),
    ],
)
@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_equations_of_rounded_values_have_the_variance_of_their_steps(model, data, name):
    fitted, records, member = fit(model, data)
    exact = read_node_equations(strip_state(fitted), records)
    rounded = read_node_equations(round_leaves(fitted, ROUNDINGS[name]), records)
    assert exact.blur.nnz == 0 < rounded.blur.nnz
    noisy = np.flatnonzero(np.diff(rounded.blur.indptr))
    left = (rounded.rows @ member - rounded.targets)[noisy]
    # An error that is uniform in one step is below the root of three standard deviations; the sum
    # over members differs from the expected one, and margins drift by the errors of other leaves.
    z = left / np.sqrt(rounded.variances[noisy])
    assert 0.2 < np.sqrt(np.mean(z**2)) < 2
    assert np.mean(np.abs(z) > 2 * np.sqrt(3)) < 0.05


@pytest.mark.parametrize("decimals", [1, 2])
@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_the_class_that_takes_the_rest_of_rounded_shares_does_not_mislead(decimals):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(400, 5)), rng.integers(8, size=400)
    fitted, records, member = fit(
        ExtraTreesClassifier(20, min_samples_leaf=10, random_state=0), data
    )
    equations = read_node_equations(strip_state(fitted, decimals=decimals), records)
    left = equations.rows @ member - equations.targets
    z = left / np.sqrt(equations.variances)
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.abs(z).max() < 6


def test_steps_are_found_where_all_values_are_rounded_alone():
    values = np.random.default_rng(0).normal(size=200)
    for decimals in (0, 1, 3, 6):
        find = estimate_steps([np.round(values, decimals)])
        np.testing.assert_allclose(find(values), 10.0**-decimals)
        short = np.round(values, decimals).astype(np.float32)
        np.testing.assert_allclose(estimate_steps([short])(short), 10.0**-decimals)
    half = values.astype(np.float16).astype(np.float64)
    np.testing.assert_array_equal(
        estimate_steps([half])(half), np.spacing(np.abs(half).astype(np.float16)).astype(float)
    )
    for other in (values, values.astype(np.float32), np.r_[np.round(values, 2), 1 / 3], values[:5]):
        assert not estimate_steps([other])(other).any()
    assert not estimate_steps([np.zeros(30)])(values).any()


def test_shares_say_of_how_many_rows_they_are():
    shares = np.array([[3 / 7, 4 / 7], [1 / 3, 2 / 3], [1.0, 0.0], [0.43, 0.57], [1.0, 0.0]])
    steps = np.zeros((5, 2))
    steps[3] = 0.01
    candidates = np.array([14, 100, 1, 14, 0])
    totals, _ = estimate_totals(shares, steps, candidates, 0.5, TreeSample(0, 100))
    assert totals[0] == pytest.approx(7, abs=0.01)  # 14 would be all of the candidates
    assert np.isnan(totals[1])  # multiples of 3 vary as the number did before
    assert totals[2] == pytest.approx(1, abs=1e-3)  # the only record that can be in the leaf
    assert totals[3] == pytest.approx(7, abs=0.5)
    assert np.isnan(totals[4])


@pytest.mark.filterwarnings("ignore:Predictions of this")
def test_numbers_of_rows_follow_from_the_shares_of_a_stripped_forest():
    forest = ExtraTreesClassifier(10, min_samples_leaf=5, random_state=0)
    fitted, records, member = fit(forest, CANCER)
    off, n_said = 0, 0
    for one in fitted.estimators_:
        tree, leaves = one.tree_, one.apply(records.X)
        values = tree.value[:, 0, :]
        possible = values[leaves, records.y] > 0
        candidates = np.bincount(leaves, possible, minlength=tree.node_count)
        share, sample = member.mean(), TreeSample(0, member.sum())
        totals, variances = estimate_totals(
            values, np.zeros_like(values), candidates, share, sample
        )
        said = np.isfinite(totals) & (variances < 0.05)
        n_said += said.sum()
        off += (np.rint(totals[said]) != tree.n_node_samples[said]).sum()
    assert n_said > 50
    # A variance of 0.05 leaves another number of rows at most the probability 0.05.
    assert off <= 0.05 * n_said + 3 * np.sqrt(0.05 * n_said)
