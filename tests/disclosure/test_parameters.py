"""Numbers of parameters, counted by hand or by what the model stores."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from small_net import make_small_net

from skmia import Records
from skmia.disclosure import count_parameters, structural_checks
from skmia.disclosure._parameters import measure_effective_dof

X, Y = load_iris(return_X_y=True)
N, D = X.shape
STUMP = {"max_depth": 1, "random_state": 0}
ONE = {"n_estimators": 2, **STUMP}
TREE, LINE = DecisionTreeClassifier(**STUMP), LogisticRegression(max_iter=1000)
FOREST = RandomForestClassifier(**ONE)
DEEPER = DecisionTreeClassifier(max_leaf_nodes=3)
FEW = {"max_iter": 2, "max_leaf_nodes": 2, "early_stopping": False}

KNOWN = [
    (TREE, 2 + 2 * 2),
    (DecisionTreeRegressor(**STUMP), 2 + 2),
    (RandomForestRegressor(**ONE), 2 * 4),
    (GradientBoostingRegressor(**ONE), 2 * 4 + 1),
    (GradientBoostingClassifier(**ONE), 2 * 3 * 4 + 3),
    (HistGradientBoostingRegressor(**FEW), 2 * 4 + 1),
    (HistGradientBoostingClassifier(**FEW), 2 * 3 * 4 + 3),
    (LinearRegression(), D + 1),
    (LinearRegression(fit_intercept=False), D),
    (LinearRegression(positive=True), D + 1),  # stores no rank
    (Ridge(), D + 1),
    (LINE, 2 * (D + 1)),
    (LinearSVC(max_iter=10_000), 3 * (D + 1)),
    (RidgeClassifier(), 3 * (D + 1)),
    (KNeighborsClassifier(), N * D),
    (GaussianProcessRegressor(optimizer=None, alpha=1), N * D + N),
    (KernelRidge(), N * D + N),
    (BaggingClassifier(TREE, 3, random_state=0), 3 * 6),
    (AdaBoostClassifier(TREE, n_estimators=3), 3 * 6 + 3),
    (VotingClassifier([("a", TREE), ("b", LINE)]), 6 + 2 * (D + 1)),
    (StackingClassifier([("a", TREE)], LINE, cv=2), 6 + 2 * (3 + 1)),
    (GridSearchCV(TREE, {"max_depth": [1]}), 6),
    (GaussianNB(), None),
    (LinearDiscriminantAnalysis(), None),
    (BaggingClassifier(GaussianNB(), 2), None),
    (make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), TREE)), None),
]


@pytest.mark.parametrize(("model", "n_parameters"), KNOWN, ids=lambda value: type(value).__name__)
def test_counts_by_hand(model, n_parameters):
    found = count_parameters(model.fit(X, Y))
    assert found.n_parameters == n_parameters
    assert found.formula


@pytest.mark.parametrize(
    ("model", "largest"),
    [
        (TREE, None),
        (RandomForestRegressor(**ONE), 4),
        (GradientBoostingClassifier(**ONE), 4),
        (BaggingClassifier(TREE, 3, random_state=0), 6),
        (BaggingClassifier(FOREST, 3, random_state=0), 6),
        (VotingClassifier([("a", GradientBoostingClassifier(**ONE)), ("b", FOREST)]), 6),
        (VotingClassifier([("a", FOREST), ("b", DEEPER)]), 2 * 2 + 3 * 2),
        (VotingClassifier([("a", FOREST), ("b", RidgeClassifier())]), None),
    ],
    ids=range(8),
)
def test_the_largest_tree_is_a_single_one_also_of_ensembles_inside_of_others(model, largest):
    assert count_parameters(model.fit(X, Y)).largest_tree == largest


def test_several_outputs_have_a_number_each():
    tree = DecisionTreeRegressor(**STUMP).fit(X, np.column_stack([Y, Y**2]))
    assert count_parameters(tree).n_parameters == 2 + 2 * 2
    tree = DecisionTreeClassifier(**STUMP).fit(X, np.column_stack([Y, Y > 0]))
    assert count_parameters(tree).n_parameters == 2 + 2 * (2 + 1)
    line = LinearRegression().fit(X, np.column_stack([Y, Y**2]))
    assert count_parameters(line).n_parameters == 2 * (D + 1)


def test_columns_that_repeat_others_are_not_free():
    model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), Y)
    assert count_parameters(model).n_parameters == D + 1


def test_two_classes_have_one_vector_of_weights():
    assert count_parameters(LINE.fit(X, Y > 0)).n_parameters == D + 1
    svm = SVC().fit(X, Y > 0)
    assert count_parameters(svm).n_parameters == len(svm.support_) * (D + 1)


@pytest.mark.parametrize("n_classes, n_models", [(2, 1), (3, 3)])
def test_a_gaussian_process_of_classes_stores_its_rows_once_a_model(n_classes, n_models):
    some = np.flatnonzero(n_classes > Y)[::5]
    model = GaussianProcessClassifier(optimizer=None).fit(X[some], Y[some])
    assert count_parameters(model).n_parameters == n_models * (len(some) * D + len(some))


def test_what_steps_before_a_model_learned_is_apart():
    found = count_parameters(make_pipeline(StandardScaler(), LINE).fit(X, Y))
    assert found.n_parameters == 2 * (D + 1)
    assert found.preprocessing == 2 * D  # mean and scale


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nets():
    perceptron = MLPClassifier((5,), max_iter=1).fit(X, Y)
    assert count_parameters(perceptron).n_parameters == D * 5 + 5 + 5 * 3 + 3
    pytest.importorskip("skorch")
    net = make_small_net(D, 3, max_epochs=1).fit(X.astype(np.float32), Y)
    found = count_parameters(net)
    assert found.n_parameters == D * 8 + 8 + 8 * 3 + 3
    assert found.buffers == 0
    # What is not trained does not count, and means of batches are buffers.
    net.module_.register_buffer("means", next(net.module_.parameters()).detach())
    next(net.module_.parameters()).requires_grad_(False)
    found = count_parameters(net)
    assert (found.n_parameters, found.buffers) == (8 + 8 * 3 + 3, D * 8)


@pytest.mark.filterwarnings("ignore:.*booster=(dart|gblinear)")  # deprecated in xgboost 3.4
def test_xgboost_has_one_number_per_leaf_and_tree_of_a_class():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=1).fit(X, Y)
    n_starts = np.size(model.intercept_)  # one until version 3.1, and then one of each class
    assert count_parameters(model).n_parameters == 2 * 3 + 6 + n_starts
    dart = xgboost.XGBClassifier(n_estimators=2, max_depth=1, booster="dart").fit(X, Y)
    assert count_parameters(dart).n_parameters == 2 * (2 * 3 + 6) + n_starts
    linear = xgboost.XGBClassifier(n_estimators=1, booster="gblinear").fit(X, Y)
    assert count_parameters(linear).n_parameters is None


@pytest.mark.parametrize("kind", ["XGBClassifier", "XGBRegressor"])
def test_leaves_of_xgboost_that_hold_a_vector_count_each_output(kind):
    xgboost = pytest.importorskip("xgboost")
    settings = {"n_estimators": 2, "max_depth": 1, "tree_method": "hist"}
    model = getattr(xgboost, kind)(multi_strategy="multi_output_tree", **settings)
    targets = Y if kind == "XGBClassifier" else np.column_stack([Y == k for k in range(3)])
    found = count_parameters(model.fit(X, targets))
    assert found.n_parameters == 2 * (2 + 2 * 3) + np.size(model.intercept_)
    assert found.formula == "2 per inner node, 3 per leaf, and start values"


def test_linear_trees_of_lightgbm_count_an_intercept_and_each_coefficient():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"n_estimators": 3, "num_leaves": 3, "min_child_samples": 5, "verbose": -1}
    model = lightgbm.LGBMRegressor(linear_tree=True, **settings).fit(X, X[:, 0] + X[:, 1] ** 2)
    lines = [
        line.split("=") for line in model.booster_.model_to_string().split("\n") if "=" in line
    ]
    n_weights = sum(int(n) for name, ns in lines if name == "num_features" for n in ns.split())
    assert n_weights >= 6
    found = count_parameters(model)
    assert found.n_parameters == 3 * (2 * 2 + 3) + n_weights
    assert found.formula == "2 per inner node, 1 per leaf and 1 per coefficient of leaves"


def test_trees_that_early_stopping_leaves_out_do_not_count():
    xgboost = pytest.importorskip("xgboost")
    noise = np.random.default_rng(0).integers(0, 2, N)
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=1, early_stopping_rounds=2)
    model.fit(X, Y > 0, eval_set=[(X, noise)], verbose=False)
    n_used = model.best_iteration + 1
    assert n_used < len(model.get_booster().get_dump())
    assert count_parameters(model).n_parameters == 4 * n_used + 1


def test_early_stopping_leaves_out_all_trees_of_a_round():
    noise = np.random.default_rng(0).integers(0, 3, N)
    xgboost = pytest.importorskip("xgboost")
    settings = {"n_estimators": 20, "max_depth": 1, "num_parallel_tree": 2}
    model = xgboost.XGBClassifier(early_stopping_rounds=2, **settings)
    model.fit(X, Y, eval_set=[(X, noise)], verbose=False)
    n_used = 3 * 2 * (model.best_iteration + 1)
    assert n_used < len(model.get_booster().get_dump())
    found = count_parameters(model)
    assert found.n_parameters == 4 * n_used + np.size(model.intercept_)
    assert found.largest_tree == 4
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=2, verbose=-1)
    stop = lightgbm.early_stopping(2, verbose=False)
    model.fit(X, Y, eval_X=X, eval_y=noise, callbacks=[stop])
    assert 0 < model.best_iteration_ < 20
    assert count_parameters(model).n_parameters == 4 * 3 * model.best_iteration_


def test_lightgbm_and_catboost():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, num_leaves=2, verbose=-1).fit(X, Y)
    assert count_parameters(model).n_parameters == 2 * 3 * 4
    catboost = pytest.importorskip("catboost")
    settings = {"iterations": 2, "depth": 1, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**settings).fit(X, Y)
    assert count_parameters(model).n_parameters == 2 * (2 + 2 * 3) + 3
    deep = catboost.CatBoostClassifier(grow_policy="Depthwise", **settings).fit(X, Y)
    found = count_parameters(deep)
    assert (found.n_parameters, found.largest_tree) == (None, None)
    assert found.formula == "its grow_policy is not 'SymmetricTree'"


@pytest.mark.parametrize("penalty", [pytest.param(1e-8, marks=pytest.mark.slow), 1.0])
def test_effective_freedom_is_the_trace_of_the_map_from_labels(penalty):
    records = Records(X, Y.astype(float))
    model = make_pipeline(StandardScaler(), Ridge(penalty))
    fitted = [model.fit(X, label).predict(X) for label in np.eye(N)]
    model.fit(X, records.y)
    found = structural_checks(model, records).effective_dof
    assert found == pytest.approx(np.trace(fitted), rel=1e-6)


def test_effective_freedom_of_trees_is_their_leaves():
    assert measure_effective_dof(TREE.fit(X, Y), X) == 2
    forest = RandomForestRegressor(4, max_leaf_nodes=3, random_state=0).fit(X, Y)
    forest.estimators_[0] = DecisionTreeRegressor(max_leaf_nodes=6).fit(X, Y)
    assert measure_effective_dof(forest, X) == (6 + 3 * 3) / 4


def test_effective_freedom_of_few_columns_is_known_also_of_sparse_ones(monkeypatch):
    model = Ridge().fit(X, Y)
    monkeypatch.setattr("skmia.disclosure._parameters._MOST_COLUMNS", D)
    found = measure_effective_dof(model, X)
    assert 1 < found < D + 1
    assert measure_effective_dof(model, sparse.csr_array(X)) == found
    monkeypatch.setattr("skmia.disclosure._parameters._MOST_COLUMNS", D - 1)
    assert measure_effective_dof(model, X) is None


def test_effective_freedom_does_not_depend_on_the_solver():
    models = [LogisticRegression(solver=one, fit_intercept=False) for one in ("lbfgs", "liblinear")]
    found = [measure_effective_dof(model.fit(X, Y > 0), X) for model in models]
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_effective_freedom_of_a_logistic_regression_is_below_its_parameters():
    loose, tight = (
        structural_checks(LogisticRegression(C=c).fit(X, Y > 0), Records(X, Y > 0)).effective_dof
        for c in (1.0, 1e-8)
    )
    assert 1 < loose < D + 1
    assert tight == pytest.approx(1, abs=1e-4)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(TypeError, match="model must be a fitted estimator; got int"):
        count_parameters(3)
    with pytest.raises(NotFittedError, match="model must be fitted; this Ridge is not"):
        count_parameters(Ridge())


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearRegression(positive=True), Y),
        (LinearRegression(), np.column_stack([Y, Y])),
        (LogisticRegression(class_weight="balanced"), Y > 0),
        (LogisticRegression(solver="liblinear"), Y > 0),
        (LogisticRegression(max_iter=1000), Y),
        (Lasso(), Y),
    ],
    ids=str,
)
def test_effective_freedom_is_not_known_without_one_smooth_optimum(model, y):
    assert measure_effective_dof(model.fit(X, y), X) is None
