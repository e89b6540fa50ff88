"""Stripped models predict bitwise the same, and hold nothing else of their training records."""

import inspect
import warnings

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from skmia.defenses import ReleasedFileDefense, SELENADefense, strip_state
from skmia.defenses._released import _strip_booster_tree
from skmia.victims import read_state
from tests.helpers.generic import make_generically

N = 61
RNG = np.random.default_rng(0)
X = RNG.gamma(2, size=(N, 4))
LABELS = (X[:, 0] + RNG.normal(size=N) > 2).astype(int)
TARGETS = X[:, 1] + RNG.gamma(2, size=N)
QUICK = {"max_iter": 5, "n_estimators": 5, "cv": 3, "n_init": 1, "n_iter": 1, "random_state": 0}
SLOW = {"DictionaryLearning", "MiniBatchDictionaryLearning"}
# Sums over records, whose last bit depends on where an array lies: a copy by pickle differs too.
APPROXIMATE = {"LabelPropagation", "LabelSpreading"}
# Fitted on records alone, with no answer about others: what they store is all that they are.
NO_ANSWERS = {
    *("AgglomerativeClustering", "ClassicalMDS", "DBSCAN", "HDBSCAN", "MDS", "OPTICS", "TSNE"),
    *("SpectralBiclustering", "SpectralClustering", "SpectralCoclustering", "SpectralEmbedding"),
}
# Settings decide which of these are read, or they have the same in another place.
ON_DEMAND = {"L_", "_fit_X", "_distances_fit_X_", "_lrd"}

METHODS = {
    *("apply", "decision_function", "decision_path", "kneighbors", "predict", "predict_log_proba"),
    *("predict_proba", "score_samples", "staged_predict", "staged_predict_proba", "transform"),
    "inverse_transform",
}


def fit_quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def strip_quietly(model, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return strip_state(model, **settings)


def flatten(answer):
    if inspect.isgenerator(answer) or isinstance(answer, list | tuple):
        return [array for one in answer for array in flatten(one)]
    return [answer.toarray() if sparse.issparse(answer) else np.asarray(answer)]


def is_long(value):
    """Whether something has a length for each record."""
    shape = getattr(value, "shape", (len(value),) if isinstance(value, list | tuple) else ())
    return N in shape


def answer_all(model, X):
    """Arrays that the methods of a model answer, by their names; without those that refuse."""
    answers = {}
    for name in sorted(METHODS):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = model.transform(X) if name == "inverse_transform" else X
                answers[name] = flatten(getattr(model, name)(given))
        except Exception:
            continue
    return answers


def assert_answers_equal(model, stripped, X, exact=True):
    expected, got = answer_all(model, X), answer_all(stripped, X)
    assert expected.keys() == got.keys()
    for name, arrays in expected.items():
        assert len(arrays) == len(got[name])
        for one, other in zip(arrays, got[name], strict=True):
            if exact:
                np.testing.assert_array_equal(one, other, strict=True)
            else:
                np.testing.assert_allclose(one, other)


def fit_generically(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator = make_generically(kind, QUICK)
            data = X[:, :1] if name == "IsotonicRegression" else X
            y = TARGETS if is_regressor(estimator) else LABELS
            y = y[:, None] if name.startswith("Multi") else y
            # A product of an array with itself may be rounded otherwise than with a copy of it.
            return estimator.fit(data, y), data.copy()
        except Exception as error:
            pytest.skip(f"cannot be fitted on a matrix: {str(error).splitlines()[0]}")


def watch(model):
    """Names of the attributes of a model that its methods read."""
    kind, read = type(model), set()

    class Watched(kind):
        def __getattribute__(self, name):
            read.add(name)
            return super().__getattribute__(name)

    model.__class__ = Watched
    return read


LONG = {"LatentDirichletAllocation", "MeanShift", "TheilSenRegressor", "TunedThresholdClassifierCV"}


@pytest.mark.parametrize(
    "name, kind",
    [
        pytest.param(name, kind, id=name, marks=[pytest.mark.slow] * (name in LONG))
        for name, kind in all_estimators()
    ],
)
def test_predictions_stay_bitwise_and_what_they_do_not_read_of_records_is_gone(name, kind):
    if name in SLOW:
        pytest.skip("takes seconds")
    model, data = fit_generically(name, kind)
    stripped = strip_quietly(model)
    assert_answers_equal(model, stripped, data, exact=name not in APPROXIMATE)
    if name in NO_ANSWERS:
        return
    read = watch(stripped)
    answer_all(stripped, data)
    left = {
        attribute
        for attribute, value in vars(stripped).items()
        if attribute not in read | ON_DEMAND and is_long(value)
    }
    assert not left
    assert not [one for one in vars(stripped) if one in ("_seeds", "_optimizer", "cv_results_")]


def test_the_lists_of_estimators_are_up_to_date():
    assert SLOW | APPROXIMATE | NO_ANSWERS <= {name for name, _ in all_estimators()} | {
        "ClassicalMDS"  # is new
    }


TREES = [
    AdaBoostClassifier(n_estimators=5, random_state=0),
    BaggingClassifier(n_estimators=5, oob_score=False, random_state=0),
    CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), cv=2),
    DecisionTreeClassifier(random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(X, LABELS)),
    GradientBoostingClassifier(n_estimators=5, subsample=0.5, random_state=0),
    GridSearchCV(RandomForestClassifier(random_state=0), {"n_estimators": [3, 5]}, cv=2),
    HistGradientBoostingClassifier(max_iter=5, early_stopping=True, random_state=0),
    RandomForestClassifier(30, oob_score=True, random_state=0),
    StackingClassifier([("forest", RandomForestClassifier(5, random_state=0))], cv=2),
    VotingClassifier([("forest", RandomForestClassifier(5, random_state=0))], voting="soft"),
    make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=5, random_state=0)),
]


@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
def test_counts_and_seeds_of_trees_are_gone_at_any_depth(model):
    fit_quietly(model, X, LABELS)
    before = {one.path: one for one in read_state(model).arrays}
    stripped = strip_quietly(model)
    assert_answers_equal(model, stripped, X)
    state = {one.path: one for one in read_state(stripped).arrays}
    counted = "impurity", "n_node_samples", "count", "gain"
    zeros = [one for path, one in state.items() if path.split("['")[-1][:-2] in counted]
    assert len(zeros) >= 2
    assert not any(one.array.any() for one in zeros)
    assert not [path for path, one in state.items() if one.kind == "seeds"]
    # The model itself is as it was.
    after = {one.path: one for one in read_state(model).arrays}
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[path].array, after[path].array) for path in before)


@pytest.mark.parametrize(
    "model", [ExtraTreesRegressor, RandomForestRegressor, GradientBoostingRegressor]
)
def test_inner_nodes_of_regression_trees_hold_no_mean(model):
    fitted = model(n_estimators=3, random_state=0).fit(X, TARGETS)
    stripped = strip_quietly(fitted)
    assert_answers_equal(fitted, stripped, X)
    for one in np.ravel(stripped.estimators_):
        inner = one.tree_.children_left >= 0
        assert inner.any()
        assert not one.tree_.value[inner].any()
        assert one.tree_.value[~inner].any()


def test_replayed_bootstraps_are_gone():
    forest = strip_quietly(RandomForestClassifier(5, random_state=0).fit(X, LABELS))
    with pytest.raises(AttributeError):
        forest.estimators_samples_  # noqa: B018


def test_edges_of_numbers_are_gone_and_those_of_categories_are_used():
    columns = np.column_stack([X[:, 0], RNG.integers(0, 5, N), X[:, 1]])
    columns[:5, 0] = columns[5:10, 1] = np.nan
    y = columns[:, 1] % 2 > 0
    model = HistGradientBoostingRegressor(
        max_iter=5, min_samples_leaf=5, categorical_features=[1], random_state=0
    ).fit(columns, y)
    stripped = strip_quietly(model)
    further = np.vstack([columns, [[1.0, 7.0, 1.0], [np.nan, np.nan, np.nan]]])
    assert_answers_equal(model, stripped, further)
    edges = stripped._bin_mapper.bin_thresholds_
    assert sorted(map(len, edges)) == [0, 0, 5]
    assert not [one for one in read_state(stripped).arrays if one.kind == "edges"]


def test_isolation_forest_keeps_its_scores():
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    assert_answers_equal(forest, strip_quietly(forest), X)


def test_importances_that_a_selector_asks_for_stay():
    selector = SelectFromModel(RandomForestClassifier(5, random_state=0)).fit(X, LABELS)
    stripped = strip_quietly(selector)
    assert_answers_equal(selector, stripped, X)


@pytest.mark.parametrize("n_classes, booster", [(2, "gbtree"), (3, "gbtree"), (2, "dart")])
def test_boosters_of_xgboost_lose_covers(n_classes, booster):
    xgboost = pytest.importorskip("xgboost")
    data, y = make_classification(300, n_informative=4, n_classes=n_classes, random_state=0)
    model = xgboost.XGBClassifier(
        n_estimators=20, early_stopping_rounds=2, booster=booster, n_jobs=1
    )
    model.fit(data[:200], y[:200], eval_set=[(data[200:], y[200:])], verbose=False)
    stripped = strip_quietly(model)
    np.testing.assert_array_equal(model.predict_proba(data), stripped.predict_proba(data))
    assert stripped.best_iteration == model.best_iteration
    stored = [one for one in read_state(stripped).arrays if one.array.dtype.kind in "fiu"]
    told = [one for one in stored if one.kind == "covers" or "base_weights" in one.path]
    assert len(told) > 0
    assert not any(one.array.any() for one in told)
    assert any(one.array.any() for one in read_state(model).arrays if one.kind == "covers")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosters_of_lightgbm_lose_counts_and_ranges(n_classes):
    lightgbm = pytest.importorskip("lightgbm")
    data, y = make_classification(300, n_informative=4, n_classes=n_classes, random_state=0)
    model = lightgbm.LGBMClassifier(
        n_estimators=20, early_stopping_rounds=2, random_state=0, verbose=-1, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have other names
        model.fit(data[:200], y[:200], eval_set=[(data[200:], y[200:])])
    stripped = strip_quietly(model)
    np.testing.assert_array_equal(model.predict_proba(data), stripped.predict_proba(data))
    assert stripped.best_iteration_ == model.best_iteration_
    assert stripped.random_state is None and not stripped.evals_result_
    kinds = {one.kind for one in read_state(stripped).arrays if one.array.any()}
    assert kinds & {"counts", "covers", "values"} == set()
    kinds = {one.kind for one in read_state(model).arrays if one.array.any()}
    assert {"counts", "covers", "values"} <= kinds
    with pytest.warns(UserWarning, match="LGBMClassifier use leaf values and thresholds, which"):
        rounded = strip_state(model, decimals=1)
    leaves = [one.array for one in read_state(rounded).arrays if "leaf_value" in one.path]
    np.testing.assert_array_equal(np.concatenate(leaves), np.concatenate(leaves).round(1))


def test_nets_lose_their_history_and_the_state_of_the_optimizer():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    torch.manual_seed(0)
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear(4, 2), criterion=torch.nn.CrossEntropyLoss, optimizer=torch.optim.Adam,
        max_epochs=2, verbose=0, train_split=None,
    ).fit(X.astype("float32"), LABELS)  # fmt: skip
    assert len(net.history) == 2
    stripped = strip_state(make_pipeline(net))[0]
    assert len(stripped.history) == 0
    assert not stripped.optimizer_.state
    given = X.astype("float32")
    np.testing.assert_array_equal(net.predict_proba(given), stripped.predict_proba(given))


def test_targets_of_defenses_are_gone():
    defended = SELENADefense(
        LogisticRegression(), n_estimators=4, n_left_out=2, store_targets=True, random_state=0
    ).fit(X, LABELS)
    stripped = strip_state(defended)
    assert defended.targets_ is not None
    assert stripped.targets_ is None
    assert_answers_equal(defended, stripped, X)


class Remembering(ClassifierMixin, BaseEstimator):
    """Predicts with an attribute that has the name of one that scikit-learn does not use."""

    def fit(self, X, y):
        self.classes_, self.labels_ = np.unique(y), y
        self.train_score_, self.tree_ = y, DecisionTreeClassifier(random_state=0).fit(X, y)
        return self

    def predict(self, X):
        return self.train_score_[: len(X)] + self.tree_.predict(X)


def test_own_attributes_of_unknown_classes_stay_and_what_is_in_them_is_stripped():
    model = Remembering().fit(X, LABELS)
    stripped = strip_quietly(model)
    np.testing.assert_array_equal(model.predict(X), stripped.predict(X))
    assert not stripped.tree_.tree_.n_node_samples.any()


def test_what_remains_is_said():
    with pytest.warns(UserWarning, match="KNeighborsClassifier use rows.*still leaks"):
        strip_state(KNeighborsClassifier().fit(X, LABELS))
    with pytest.warns(UserWarning, match="leaf values and thresholds"):
        strip_state(HistGradientBoostingClassifier(max_iter=3).fit(X, LABELS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strip_state(LogisticRegression().fit(X, LABELS))


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        strip_state(LogisticRegression())
    with pytest.raises(TypeError):
        strip_state(X)


@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_leaf_values_are_rounded_and_shares_still_add_to_one(model, n_classes):
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    y = np.digitize(TARGETS, np.quantile(TARGETS, np.linspace(0, 1, n_classes + 1)[1:-1]))
    fit_quietly(model, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stripped = strip_state(model, decimals=1)
    leaves = [one for one in read_state(stripped).arrays if one.kind == "leaf values"]
    assert len(leaves) > 0
    assert all(np.allclose(10 * one.array, np.rint(10 * one.array)) for one in leaves)
    np.testing.assert_allclose(stripped.predict_proba(X).sum(axis=1), 1)
    assert np.abs(stripped.predict_proba(X) - model.predict_proba(X)).max() < 0.5


@pytest.mark.parametrize("kind", ["XGBClassifier", "XGBRegressor"])
def test_boosters_of_several_outputs_are_stripped_and_rounded(kind):
    xgboost = pytest.importorskip("xgboost")
    settings = {"multi_strategy": "multi_output_tree", "n_estimators": 3, "n_jobs": 1}
    model = getattr(xgboost, kind)(**settings)
    labels = LABELS + (TARGETS > np.median(TARGETS))  # 0, 1, 2
    model.fit(X, labels if kind == "XGBClassifier" else np.column_stack([TARGETS, X[:, 0]]))
    stripped = strip_quietly(model)
    assert_answers_equal(model, stripped, X)
    told = [one for one in read_state(stripped).arrays if one.kind == "covers"]
    assert told and not any(one.array.any() for one in told)
    given, got = (
        one.get_booster().predict(xgboost.DMatrix(X), output_margin=True)
        for one in (model, strip_quietly(model, decimals=1))
    )
    assert given.ndim == 2 and (0 < np.abs(given - got).max(axis=0)).all()
    assert np.abs(given - got).max() <= 3 * 0.05 + 1e-5


def test_trees_of_several_outputs_of_older_versions_hold_leaf_values_among_base_weights():
    tree = {
        "left_children": [1, -1, -1],
        "base_weights": [0.11, 0.12, 0.26, 0.27, 0.34, 0.36],
        "split_conditions": [0.123, 0.0, 0.0],
        "tree_param": {"size_leaf_vector": "2"},
    }
    kept = dict(tree)
    _strip_booster_tree(tree, None)
    assert tree == kept | {"base_weights": [0.0, 0.0, 0.26, 0.27, 0.34, 0.36]}
    _strip_booster_tree(tree, 1)
    assert tree == kept | {"base_weights": [0.0, 0.0, 0.3, 0.3, 0.3, 0.4]}


def test_leaf_values_and_coefficients_of_linear_trees_of_lightgbm_are_rounded():
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"linear_tree": True, "n_estimators": 3, "verbose": -1, "n_jobs": 1}
    settings |= {"num_leaves": 3, "min_child_samples": 5}
    model = lightgbm.LGBMRegressor(**settings).fit(X, TARGETS)
    assert_answers_equal(model, strip_quietly(model), X)
    rounded = strip_quietly(model, decimals=1)
    assert np.abs(rounded.predict(X) - model.predict(X)).max() > 0.01
    stored = [one for one in read_state(rounded).arrays if one.kind == "leaf values"]
    for name in ("leaf_value", "leaf_const", "leaf_coeff"):
        assert any(name in one.path for one in stored)
    values = np.concatenate([one.array for one in stored])
    np.testing.assert_array_equal(values, values.round(1))


def test_scores_of_early_stopping_are_gone():
    for package, kind in (("xgboost", "XGBRegressor"), ("lightgbm", "LGBMRegressor")):
        module = pytest.importorskip(package)
        silent = {"verbose": -1} if package == "lightgbm" else {}
        model = getattr(module, kind)(n_estimators=3, n_jobs=1, early_stopping_rounds=2, **silent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions have other names
            model.fit(X[:40], TARGETS[:40], eval_set=[(X[40:], TARGETS[40:])])
        stripped = strip_quietly(model)
        assert_answers_equal(model, stripped, X)
        if package == "xgboost":
            assert model.get_booster().attr("best_score") is not None
            assert stripped.get_booster().attr("best_score") is None
            assert stripped.best_iteration == model.best_iteration
        else:
            assert model.best_score_ and not stripped.best_score_
            assert model.booster_.best_score and not stripped.booster_.best_score
            assert stripped.best_iteration_ == model.best_iteration_


def test_leaf_values_of_xgboost_are_rounded():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=3, n_jobs=1).fit(X, TARGETS)
    with pytest.warns(UserWarning, match="leaf values"):
        stripped = strip_state(model, decimals=1)
    given = model.get_booster().predict(xgboost.DMatrix(X), output_margin=True)
    got = stripped.get_booster().predict(xgboost.DMatrix(X), output_margin=True)
    assert 0 < np.abs(given - got).max() <= 3 * 0.05 + 1e-5


def fit_linear_booster():
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(booster="gblinear", n_estimators=2, n_jobs=1).fit(X, LABELS)


def fit_catboost():
    """A vote of a tree, whose values can be rounded, and CatBoost, whose values cannot."""
    catboost = pytest.importorskip("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    boosted = catboost.CatBoostClassifier(iterations=1, depth=1, **quiet)
    members = [("tree", DecisionTreeClassifier(max_depth=1)), ("boosted", boosted)]
    return VotingClassifier(members).fit(X, LABELS)


@parametrize_refusals(
    (
        lambda: strip_state(LogisticRegression().fit(X, LABELS), decimals=1),
        "LogisticRegression has no leaf values to round",
    ),
    (
        lambda: strip_state(fit_linear_booster(), decimals=1),
        "XGBClassifier has no leaf values to round",
    ),
    (
        lambda: strip_state(fit_catboost(), decimals=1),
        "Leaf values of CatBoostClassifier cannot be rounded in a copy",
    ),
    (lambda: strip_state(LogisticRegression().fit(X, LABELS), decimals=-1), "decimals"),
    (lambda: strip_state(LogisticRegression().fit(X, LABELS), decimals=1.5), "decimals"),
    (lambda: strip_state(LogisticRegression().fit(X, LABELS), decimals=True), "decimals"),
)
def test_models_without_leaf_values_are_not_rounded(call, words, error):
    check_refusal(call, words, error)


def test_a_defended_forest_is_stripped_after_each_fit_and_answers_bitwise_the_same():
    forest = RandomForestClassifier(5, random_state=0)
    defended = ReleasedFileDefense(forest).fit(X, LABELS)
    np.testing.assert_array_equal(defended.predict_proba(X), forest.fit(X, LABELS).predict_proba(X))
    assert not defended.estimator_.estimators_[0].tree_.n_node_samples.any()
    assert not hasattr(defended, "decision_function")
    search = GridSearchCV(
        ReleasedFileDefense(forest), {"decimals": [None, 1], "estimator__max_depth": [2, 3]}, cv=2
    ).fit(X, LABELS)
    assert search.best_estimator_.estimator_.random_state is None
    linear = ReleasedFileDefense(LogisticRegression()).fit(X, LABELS)
    expected = LogisticRegression().fit(X, LABELS).decision_function(X)
    np.testing.assert_array_equal(linear.decision_function(X), expected)


def test_a_frozen_model_stays_as_it_is_when_its_defense_is_fitted():
    forest = RandomForestClassifier(5, random_state=0).fit(X, LABELS)
    defended = ReleasedFileDefense(FrozenEstimator(forest), decimals=1).fit(X, LABELS)
    assert forest.estimators_[0].tree_.n_node_samples.any()
    np.testing.assert_allclose(defended.predict_proba(X), forest.predict_proba(X), atol=0.05)
