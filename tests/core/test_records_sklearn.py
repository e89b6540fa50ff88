"""Records as the X of scikit-learn's tools; the one part that leans on how scikit-learn slices."""

from operator import methodcaller
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import resample, shuffle

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.metrics import membership_advantage_scorer
from skmia.signals import Signals

pytestmark = pytest.mark.contract

N = 60
FOLDS = StratifiedKFold(3)
FLATTEN = FunctionTransformer(methodcaller("reshape", -1, 4))
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def make_tensor(values):
    return pytest.importorskip("torch").tensor(values.reshape(-1, 2, 2))


def make_frame(values):
    frame = pd.DataFrame(values, columns=list("abcd"))
    frame["color"] = np.where(values[:, 0] > 0, "red", "blue")
    return frame


def encode(frame):
    """Encode a column by its name, which takes a ColumnTransformer ten times as long."""
    return frame.assign(color=frame["color"] == "red")


CONTAINERS = {
    "ndarray": (np.copy, TREE),
    "image": (lambda values: values.reshape(-1, 1, 2, 2), make_pipeline(FLATTEN, TREE)),
    "frame": (make_frame, make_pipeline(FunctionTransformer(encode), TREE)),
    "sparse": (sparse.csr_matrix, TREE),
    "tensor": (make_tensor, make_pipeline(FLATTEN, TREE)),
}


def make_problem(kind):
    convert, model = CONTAINERS[kind]
    X, y = make_classification(N, 4, n_redundant=0, flip_y=0.2, random_state=0)
    membership = np.random.default_rng(0).permutation(np.arange(N) % 2)
    labels = np.array(["no", "yes"])[y]
    records = Records(convert(X), labels, index=np.arange(N), group=np.arange(N) // 4)
    members = records[membership == 1]
    victim = FrozenEstimator(clone(model).fit(members.X, members.y))
    pool = ShadowPool(model, n_estimators=8, random_state=0).fit(records)
    return SimpleNamespace(
        records=records,
        membership=membership,
        data=(records, membership),
        victim=victim,
        threshold=ThresholdAttack(victim),
        lira=LiRA(victim, shadows=FrozenEstimator(pool)),
    )


# What a tool does with rows does not depend on what holds them, where they are cut out alike.
KINDS = slow_but(CONTAINERS, "frame")
EACH_KIND = pytest.mark.parametrize("problem", CONTAINERS, indirect=True, scope="module")


@pytest.fixture(scope="module", params=KINDS)
def problem(request):
    return make_problem(request.param)


@pytest.fixture(scope="module", params=["threshold", "lira"])
def attack(request, problem):
    return getattr(problem, request.param)


@pytest.fixture(scope="module")
def plain():
    return make_problem("ndarray")


def score_by_hand(attack, problem, folds=FOLDS):
    scores = []
    for train, test in folds.split(np.zeros(N), problem.membership):
        fitted = clone(attack).fit(problem.records[train], problem.membership[train])
        decision = fitted.decision_function(problem.records[test])
        scores.append(roc_auc_score(problem.membership[test], decision))
    return scores


@EACH_KIND
@pytest.mark.parametrize("stratified", [False, True])
def test_train_test_split(problem, stratified):
    index, labels = np.arange(N), problem.records.y
    stratify = labels if stratified else None
    parts = train_test_split(*problem.data, index, random_state=0, stratify=stratify)
    for records, membership, rows in zip(parts[:2], parts[2:4], parts[4:], strict=True):
        assert isinstance(records, Records)
        assert type(records.X) is type(problem.records.X)
        np.testing.assert_array_equal(records["index"], rows)
        np.testing.assert_array_equal(records.y, labels[rows])
        np.testing.assert_array_equal(membership, problem.membership[rows])


def test_cross_val_score(problem, attack):
    scores = cross_val_score(attack, *problem.data, cv=FOLDS, scoring="roc_auc")
    np.testing.assert_allclose(scores, score_by_hand(attack, problem))


def test_cross_val_score_keeps_groups_together(plain):
    folds = StratifiedGroupKFold(3)
    groups = plain.records["group"]
    result = cross_validate(plain.lira, *plain.data, groups=groups, cv=folds, return_indices=True)
    for train, test in zip(*result["indices"].values(), strict=True):
        assert not set(groups[train]) & set(groups[test])


def test_cross_validate(problem):
    scoring = {
        "auc": "roc_auc",
        "advantage": membership_advantage_scorer(),
        "accuracy": "accuracy",
    }
    result = cross_validate(
        problem.lira,
        *problem.data,
        cv=FOLDS,
        scoring=scoring,
        return_train_score=True,
        return_estimator=True,
        error_score="raise",
    )
    np.testing.assert_allclose(result["test_auc"], score_by_hand(problem.lira, problem))
    _, test = next(FOLDS.split(np.zeros(N), problem.membership))
    advantage = result["estimator"][0].score(problem.records[test], problem.membership[test])
    assert result["test_advantage"][0] == pytest.approx(advantage)


@pytest.mark.usefixtures("copied_workers")
def test_grid_search_in_parallel(problem):
    grid = {"variance": ["example", "shrunk"]}
    search = GridSearchCV(
        problem.lira, grid, cv=FOLDS, scoring="roc_auc", n_jobs=2, error_score="raise"
    )
    search.fit(*problem.data)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        by_hand = score_by_hand(clone(problem.lira).set_params(**params), problem)
        assert score == pytest.approx(np.mean(by_hand))
    best = clone(problem.lira).set_params(**search.best_params_)
    best.fit(*problem.data)
    np.testing.assert_allclose(
        search.decision_function(problem.records), best.decision_function(problem.records)
    )


def test_searches_share_the_frozen_models(plain):
    search = GridSearchCV(plain.lira, {"prior": [0.2, 0.5]}, cv=2).fit(*plain.data)
    assert search.best_estimator_.victim is plain.victim
    assert search.best_estimator_.pool_ is plain.lira.shadows.estimator


def test_randomized_search(problem):
    signals = {"signal": ["loss", "entropy", "max_softmax"]}
    search = RandomizedSearchCV(
        problem.threshold, signals, n_iter=2, cv=FOLDS, scoring="roc_auc", random_state=0
    )
    search.fit(*problem.data)
    best = clone(problem.threshold).set_params(**search.best_params_)
    assert search.best_score_ == pytest.approx(np.mean(score_by_hand(best, problem)))


@pytest.mark.parametrize(
    "search_cv",
    [HalvingGridSearchCV, pytest.param(HalvingRandomSearchCV, marks=pytest.mark.slow)],
)
def test_halving_search(problem, search_cv):
    search = search_cv(
        problem.threshold,
        {"signal": ["loss", "entropy", "confidence", "correctness"]},
        cv=2,
        scoring="roc_auc",
        factor=2,
        min_resources=16,
        error_score="raise",
        random_state=0,
    )
    search.fit(*problem.data)
    assert search.n_resources_[0] == 16
    assert search.n_candidates_[-1] < search.n_candidates_[0]
    assert search.predict(problem.records).shape == (N,)


@EACH_KIND
def test_cross_val_predict(problem, attack):
    decision = cross_val_predict(attack, *problem.data, cv=FOLDS, method="decision_function")
    for train, test in FOLDS.split(np.zeros(N), problem.membership):
        fitted = clone(attack).fit(problem.records[train], problem.membership[train])
        expected = fitted.decision_function(problem.records[test])
        np.testing.assert_allclose(decision[test], expected)


def test_learning_curve(problem):
    sizes, _, scores = learning_curve(
        problem.threshold,
        *problem.data,
        train_sizes=[0.5, 1.0],
        cv=FOLDS,
        scoring="roc_auc",
        shuffle=True,
        random_state=0,
        error_score="raise",
    )
    assert sizes.tolist() == [20, 40]
    np.testing.assert_allclose(scores[1], score_by_hand(problem.threshold, problem))


@pytest.mark.slow  # one more of the tools that all cut records in the same way
def test_validation_curve(problem):
    _, scores = validation_curve(
        problem.lira,
        *problem.data,
        param_name="variance",
        param_range=["pooled", "shrunk"],
        cv=FOLDS,
        scoring="roc_auc",
        error_score="raise",
    )
    np.testing.assert_allclose(scores[1], score_by_hand(problem.lira, problem))


@pytest.mark.slow  # one more of the tools that all cut records in the same way
def test_permutation_test_score(problem):
    score, permuted, pvalue = permutation_test_score(
        problem.lira,
        *problem.data,
        cv=FOLDS,
        scoring="roc_auc",
        n_permutations=4,
        random_state=0,
    )
    assert score == pytest.approx(np.mean(score_by_hand(problem.lira, problem)))
    assert pvalue == (1 + np.sum(permuted >= score)) / 5


def test_pipeline_of_signals_with_a_cache(problem, tmp_path):
    def fit(records, membership):
        signals = Signals(problem.victim, ["loss", "entropy"])
        steps = [("signals", signals), ("model", TREE)]
        return Pipeline(steps, memory=str(tmp_path)).fit(records, membership)

    def count_cached():
        return len(list(tmp_path.rglob("output.pkl")))

    rows = np.arange(N)
    first = fit(problem.records[rows], problem.membership)
    assert count_cached() == 1
    again = fit(problem.records[rows], problem.membership)
    assert count_cached() == 1  # equal records, made anew, are the same entry
    np.testing.assert_array_equal(again.predict(problem.records), first.predict(problem.records))
    fit(problem.records[rows[::-1]], problem.membership[::-1])
    assert count_cached() == 2


def test_feature_union_of_signals(problem):
    union = FeatureUnion(
        [
            ("answers", Signals(problem.victim, ["loss", "entropy"])),
            ("right", Signals(problem.victim, ["correctness"])),
            ("shadows", problem.lira.shadows),
        ]
    )
    features = union.fit_transform(*problem.data)
    assert features.shape == (N, 11)
    names = union.get_feature_names_out().tolist()
    assert names[:4] == [
        "answers__loss",
        "answers__entropy",
        "right__correctness",
        "shadows__shadow0",
    ]
    attack = make_pipeline(union, TREE)
    scores = cross_val_score(attack, *problem.data, cv=FOLDS)
    assert scores.shape == (3,)


@pytest.mark.parametrize("ensemble, method", [(True, "sigmoid"), (False, "isotonic")])
def test_calibration(problem, ensemble, method):
    calibrated = CalibratedClassifierCV(problem.lira, cv=FOLDS, ensemble=ensemble, method=method)
    proba = calibrated.fit(*problem.data).predict_proba(problem.records)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    if not ensemble:
        decision = clone(problem.lira).fit(*problem.data)
        order = np.argsort(decision.score_samples(problem.records), kind="stable")
        assert (np.diff(proba[order, 1]) > -1e-9).all()


def test_tuned_threshold(problem):
    tuned = TunedThresholdClassifierCV(problem.lira, scoring="balanced_accuracy", cv=FOLDS)
    tuned.fit(*problem.data)
    expected = tuned.estimator_.predict_proba(problem.records)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(problem.records), expected)


def test_fixed_threshold(problem):
    fixed = FixedThresholdClassifier(
        problem.threshold, threshold=0.5, response_method="decision_function"
    )
    fixed.fit(*problem.data)
    decision = clone(problem.threshold).fit(*problem.data)
    expected = decision.decision_function(problem.records) >= 0.5
    np.testing.assert_array_equal(fixed.predict(problem.records), expected)


def test_voting(problem):
    members = [("one", problem.threshold), ("two", problem.lira), ("three", clone(problem.lira))]
    voting = VotingClassifier(members).fit(*problem.data)
    lira = clone(problem.lira).fit(*problem.data)
    np.testing.assert_array_equal(voting.predict(problem.records), lira.predict(problem.records))
    soft = VotingClassifier(members[1:], voting="soft").fit(*problem.data)
    np.testing.assert_allclose(
        soft.predict_proba(problem.records), lira.predict_proba(problem.records)
    )


def test_stacking(problem):
    members = [("threshold", problem.threshold), ("lira", problem.lira)]
    final = DecisionTreeClassifier(max_depth=2, random_state=0)
    stack = StackingClassifier(members, final, cv=FOLDS)
    stack.fit(*problem.data)
    decision = clone(problem.threshold).fit(*problem.data)
    np.testing.assert_allclose(
        stack.transform(problem.records)[:, 0], decision.decision_function(problem.records)
    )


def test_curves_of_an_estimator(problem):
    pytest.importorskip("matplotlib")
    from sklearn.metrics import ConfusionMatrixDisplay, DetCurveDisplay, RocCurveDisplay

    fitted = clone(problem.lira).fit(*problem.data)
    expected = roc_auc_score(problem.membership, fitted.score_samples(problem.records))
    display = RocCurveDisplay.from_estimator(fitted, *problem.data)
    assert display.roc_auc == pytest.approx(expected)
    DetCurveDisplay.from_estimator(fitted, *problem.data)
    matrix = ConfusionMatrixDisplay.from_estimator(fitted, *problem.data)
    assert matrix.confusion_matrix.sum() == N


@EACH_KIND
def test_shuffle_and_resample(problem):
    records, membership = shuffle(*problem.data, random_state=0)
    np.testing.assert_array_equal(membership, problem.membership[records["index"]])
    assert sorted(records["index"]) == list(range(N))
    records, membership = resample(
        *problem.data,
        n_samples=90,
        random_state=0,
        stratify=problem.membership,
    )
    assert len(records) == 90
    np.testing.assert_array_equal(membership, problem.membership[records["index"]])


def test_nested_cross_validation_with_metadata_routing(plain):
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(plain.lira, {"online": [True, False]}, cv=2, scoring="roc_auc")
        scores = cross_val_score(search, *plain.data, cv=FOLDS, error_score="raise", params={})
    assert np.isfinite(scores).all()


def test_transform_output_as_a_table(plain):
    with config_context(transform_output="pandas"):
        attack = make_pipeline(Signals(plain.victim, ["loss", "hinge"]), TREE)
        attack.fit(*plain.data)
    assert attack[-1].feature_names_in_.tolist() == ["loss", "hinge"]
