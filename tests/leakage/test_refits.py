"""Predictions without a record, beside refits without it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from skmia import Records
from skmia.leakage import LeaveOneOutLeakage
from skmia.signals import LogResidual

pytestmark = pytest.mark.contract

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TARGET = X @ [1.0, -2.0, 0.5] + RNG.normal(size=60)
LABELS = np.array(list("abc"))[(np.digitize(TARGET, [-1, 1]) + (RNG.random(60) < 0.1)) % 3]
SOME = [0, 13, 59]


def refit_without(model, i, y):
    others = np.arange(len(X)) != i
    return clone(model).fit(X[others], y[others])


def fit(model, y, scale):
    return LeaveOneOutLeakage(model, scale=scale).fit(X, y)


PROCESS = GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.5), optimizer=None)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(3.0),
        PROCESS,
        KNeighborsRegressor(4),
        KNeighborsRegressor(3, weights="distance"),
    ],
    ids=["ols", "no intercept", "ridge", "process", "neighbors", "near neighbors"],
)
def test_regressors_are_exact(model):
    leakage = fit(model, TARGET, "p")
    assert leakage.method_ == "leave-one-out"
    inside = np.abs(TARGET - leakage.estimator_.predict(X))
    np.testing.assert_allclose(-leakage.signal_in_, inside, atol=1e-10)
    for i in SOME:
        outside = refit_without(model, i, TARGET).predict(X[[i]])[0]
        np.testing.assert_allclose(-leakage.signal_out_[i], abs(TARGET[i] - outside), atol=1e-9)
    logs = fit(model, TARGET, "phi")
    np.testing.assert_allclose(logs.signal_out_, -np.log(-leakage.signal_out_), atol=1e-9)
    victim = FrozenEstimator(leakage.estimator_)
    of_victim = LogResidual().of(victim, Records(X, TARGET))
    np.testing.assert_allclose(logs.signal_in_, of_victim, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="lsqr"),
        LinearDiscriminantAnalysis(solver="eigen"),
        KNeighborsClassifier(5),
        KNeighborsClassifier(5, weights="distance"),
    ],
    ids=["svd", "lsqr", "eigen", "neighbors", "near neighbors"],
)
def test_classifiers_are_exact(model):
    leakage = fit(model, LABELS, "p")
    label = np.searchsorted(np.unique(LABELS), LABELS)
    inside = leakage.estimator_.predict_proba(X)[np.arange(60), label]
    np.testing.assert_allclose(leakage.signal_in_, inside, atol=1e-10)
    for i in SOME:
        proba = refit_without(model, i, LABELS).predict_proba(X[[i]])[0, label[i]]
        np.testing.assert_allclose(leakage.signal_out_[i], proba, atol=1e-9)


def test_a_feature_that_is_constant_within_each_class_takes_no_part():
    wide = np.column_stack(
        [X, np.array([0.1, 0.3, 0.7])[np.unique(LABELS, return_inverse=True)[1]]]
    )
    model = LinearDiscriminantAnalysis("lsqr")
    expected = LeaveOneOutLeakage(model).fit(X, LABELS).leakage_
    np.testing.assert_allclose(LeaveOneOutLeakage(model).fit(wide, LABELS).leakage_, expected)


@pytest.mark.parametrize("constant", [1.0, 0.1, 1 / 3])
def test_constant_and_repeated_features_take_no_part(constant):
    wide = np.column_stack([X, X[:, 0], np.full(60, constant)])
    model = LinearDiscriminantAnalysis()
    expected = LeaveOneOutLeakage(model).fit(X, LABELS).leakage_
    np.testing.assert_allclose(LeaveOneOutLeakage(model).fit(wide, LABELS).leakage_, expected)


def test_log_odds_are_those_of_the_probabilities():
    p, phi = (fit(LinearDiscriminantAnalysis(), LABELS, scale) for scale in ("p", "phi"))
    np.testing.assert_allclose(phi.signal_out_, logit(p.signal_out_), rtol=1e-6)
    votes, odds = (fit(KNeighborsClassifier(5), LABELS, scale) for scale in ("p", "phi"))
    bounded = np.clip(votes.signal_out_, 0.1, 0.9)  # of 5 neighbors, to half of a vote
    np.testing.assert_allclose(odds.signal_out_, logit(bounded))


@pytest.mark.parametrize("labels", [LABELS, LABELS == "a"], ids=["three classes", "two"])
def test_a_newton_step_is_near_a_refit(labels):
    model = LogisticRegression(tol=1e-10, max_iter=500)
    leakage = fit(model, labels, "phi")
    assert leakage.method_ == "one Newton step"
    label = np.searchsorted(np.unique(labels), labels)
    some = np.arange(0, 60, 3)
    wanted = [
        logit(refit_without(model, i, labels).predict_proba(X[[i]])[0, label[i]]) for i in some
    ]
    gap = leakage.signal_in_[some] - wanted
    assert np.abs(leakage.signal_out_[some] - wanted).max() < 0.15 * gap.max()
    assert np.corrcoef(leakage.leakage_[some], gap)[0, 1] > 0.99


@pytest.mark.parametrize("model", [RandomForestClassifier, ExtraTreesClassifier])
def test_votes_out_of_the_bag_are_those_of_the_forest(model):
    forest = model(40, bootstrap=True, oob_score=True, random_state=0).fit(X, LABELS)
    leakage = fit(FrozenEstimator(forest), LABELS, "p")
    assert leakage.method_ == "out-of-bag votes"
    label = np.searchsorted(forest.classes_, LABELS)
    rows = np.arange(60)
    np.testing.assert_allclose(leakage.signal_in_, forest.predict_proba(X)[rows, label])
    votes = forest.oob_decision_function_[rows, label]
    np.testing.assert_allclose(leakage.signal_out_, votes)


@pytest.mark.parametrize("model", [RandomForestRegressor, BaggingRegressor])
def test_predictions_out_of_the_bag_are_those_of_the_ensemble(model):
    ensemble = model(n_estimators=40, oob_score=True, random_state=0).fit(X, TARGET)
    leakage = fit(FrozenEstimator(ensemble), TARGET, "p")
    residuals = np.abs(TARGET - ensemble.oob_prediction_)
    np.testing.assert_allclose(-leakage.signal_out_, residuals)


@pytest.mark.parametrize("member", [None, SVC()], ids=["trees", "labels"])
def test_bagging_of_any_model_with_rare_classes(member):
    y = LABELS.copy()
    y[:2] = "d"  # in few samples
    bag = BaggingClassifier(
        member, 30, max_features=2, max_samples=0.5, oob_score=True, random_state=0
    ).fit(X, y)
    leakage = fit(FrozenEstimator(bag), y, "p")
    label = np.searchsorted(bag.classes_, y)
    known = ~np.isnan(leakage.signal_out_)
    assert known.any()
    votes = bag.oob_decision_function_[np.arange(60), label]
    np.testing.assert_allclose(leakage.signal_out_[known], votes[known])


def test_members_whose_samples_lack_a_class_give_it_no_vote():
    y = LABELS.copy()
    y[0] = "d"
    bag = BaggingClassifier(KNeighborsClassifier(2), 20, max_samples=0.5, random_state=0).fit(X, y)
    leakage = fit(FrozenEstimator(bag), y, "p")
    assert leakage.signal_out_[0] == 0 < leakage.signal_in_[0]


def test_a_record_in_every_sample_has_no_votes_without_it():
    leakage = fit(RandomForestClassifier(2, random_state=0), LABELS, "phi")
    assert 0 < np.isnan(leakage.leakage_).sum() < 60
    assert np.isfinite(leakage.signal_in_).all()


def test_the_only_record_of_a_class_has_no_model_without_it():
    y = LABELS.copy()
    y[7] = "d"
    leakage = fit(LinearDiscriminantAnalysis(), y, "phi")
    assert np.flatnonzero(np.isnan(leakage.leakage_)).tolist() == [7]


def test_a_pipeline_of_mixed_columns_is_read():
    table = pd.DataFrame(X, columns=list("uvw")).assign(kind=np.where(X[:, 0] > 0, "r", "s"))
    encode = make_column_transformer(
        (StandardScaler(), list("uvw")), (OneHotEncoder(drop="first"), ["kind"])
    )
    leakage = LeaveOneOutLeakage(make_pipeline(encode, Ridge())).fit(table, TARGET)
    direct = LeaveOneOutLeakage(Ridge()).fit(encode.fit_transform(table), TARGET)
    np.testing.assert_allclose(leakage.leakage_, direct.leakage_)


def test_noisy_labels_leak_most():
    data, y = load_iris(return_X_y=True)
    noisy = y.copy()
    noisy[::15] = (y[::15] + 1) % 3
    leakage = LeaveOneOutLeakage(RandomForestClassifier(random_state=0), scale="p")
    top = np.argsort(leakage.fit(data, noisy).leakage_)[::-1][:10]
    assert len(set(top) & set(range(0, 150, 15))) >= 8


@pytest.mark.parametrize(
    "model, why, error",
    [
        (SVC(), "got SVC", TypeError),
        (RandomForestClassifier(3, bootstrap=False), "bootstrap=False", ValueError),
        (LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]), "priors are given", ValueError),
        (LinearDiscriminantAnalysis("lsqr", shrinkage=0.1), "is shrunk", ValueError),
        (KNeighborsClassifier(60), "has fewer others", ValueError),
        (LogisticRegression(class_weight="balanced"), "class weights", ValueError),
    ],
)
def test_models_without_a_formula_are_refused(model, why, error):
    with pytest.raises(error, match=why):
        fit(model, LABELS, "p")


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(3), KNeighborsClassifier(), PROCESS], ids=["bag", "knn", "gp"]
)
def test_a_frozen_model_of_other_records_is_refused(model):
    y = TARGET if model is PROCESS else LABELS
    frozen = FrozenEstimator(clone(model).fit(X[:50], y[:50]))
    with pytest.raises(ValueError, match="it was fitted on"):
        fit(frozen, y, "p")


@pytest.mark.parametrize(
    "model", [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())]
)
def test_a_model_that_knows_the_names_of_its_columns_is_read_without_a_warning(model):
    model = model.set_output(transform="pandas") if hasattr(model, "steps") else model
    found = LeaveOneOutLeakage(model).fit(pd.DataFrame(X, columns=list("pqr")), LABELS)
    np.testing.assert_array_equal(found.leakage_, fit(model, LABELS, "phi").leakage_)
    assert list(found.feature_names_in_) == list("pqr")


def test_leverages_of_separable_classes_do_not_overflow():
    data, y = make_classification(80, 30, n_informative=20, class_sep=4, random_state=0)
    leakage = LeaveOneOutLeakage(LogisticRegression(C=1e4, max_iter=2000)).fit(data, y)
    assert np.isfinite(leakage.leakage_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "change, words",
    [
        (lambda X: X * 1e200, "squares are too large for double precision"),
        (lambda X: pd.DataFrame(X).rename(columns=str).assign(z="b"), "column 'z' of X holds text"),
    ],
    ids=["too large", "text"],
)
def test_records_that_a_model_cannot_be_trained_on(change, words):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=words):
        LeaveOneOutLeakage(LogisticRegression()).fit(change(X), LABELS)


def test_columns_of_one_name_are_for_the_model_to_take_or_refuse():
    table = pd.DataFrame(X, columns=["a"] * X.shape[1])
    try:
        LogisticRegression().fit(table, LABELS)
    except Exception:  # as recent versions of scikit-learn
        with pytest.raises(ValueError, match="cannot take these records"):
            LeaveOneOutLeakage(LogisticRegression()).fit(table, LABELS)
    else:
        leakage = LeaveOneOutLeakage(LogisticRegression()).fit(table, LABELS)
        expected = LeaveOneOutLeakage(LogisticRegression()).fit(X, LABELS)
        np.testing.assert_allclose(leakage.leakage_, expected.leakage_)


def test_training_records_leak_above_the_level_and_others_have_nothing_to_leak():
    leakage = LeaveOneOutLeakage(KNeighborsClassifier(3), scale="p").fit(X, LABELS)
    for level in (0.0, 0.2, 0.5):
        expected = (leakage.leakage_ > level).astype(int)
        np.testing.assert_array_equal(leakage.set_params(level=level).predict(X), expected)
    assert leakage.set_params(level=-1.0).predict(X + 1e-3).sum() == 0
    assert leakage.score() == leakage.score(X + 1, LABELS) == pytest.approx(leakage.leakage_.mean())


@pytest.mark.filterwarnings("ignore:X .* feature names")
@pytest.mark.parametrize("form", ["int8", "float64", "frame", "mixed frame", "list"])
def test_training_records_are_recognized_by_their_values(form):
    numbers = RNG.integers(-50, 50, (60, 3))
    frame = pd.DataFrame(numbers, columns=list("abc"))
    given = {"frame": frame, "mixed frame": frame.astype({"b": float, "c": "Int64"})}
    forms = given | {"list": numbers.tolist()} | {t: numbers.astype(t) for t in ("int8", "float64")}
    leakage = LeaveOneOutLeakage(KNeighborsClassifier(3), level=-1e9)
    assert leakage.fit(numbers, LABELS).predict(forms[form]).all()
    assert not leakage.predict(numbers + 100).any()
    assert leakage.fit(forms[form], LABELS).predict(numbers).all()


def test_of_equal_records_the_one_that_leaks_most_decides():
    rows = np.array([[0.0], [0.0], [5.0], [6.0]])
    leakage = LeaveOneOutLeakage(KNeighborsClassifier(1), scale="p").fit(rows, [0, 1, 1, 1])
    assert leakage.leakage_[0] != leakage.leakage_[1]
    middle = leakage.leakage_[:2].mean()
    assert leakage.set_params(level=middle).predict([[0.0], [1.0]]).tolist() == [1, 0]


def test_a_score_leaves_out_records_whose_leakage_is_not_known():
    y = np.array([0] * 20 + [1] * 20 + [2])  # the only one of its class
    leakage = LeaveOneOutLeakage(LinearDiscriminantAnalysis(), scale="p").fit(X[:41], y)
    assert np.isnan(leakage.leakage_[-1])
    assert leakage.predict(X[40:41]).tolist() == [0]
    assert leakage.score() == pytest.approx(leakage.leakage_[:-1].mean())


def test_no_score_where_no_leakage_is_known():
    for seed in range(100):
        forest = RandomForestRegressor(1, random_state=seed)
        leakage = LeaveOneOutLeakage(forest).fit(X[:3], TARGET[:3])
        if np.isnan(leakage.leakage_).all():
            break
    with pytest.raises(ValueError, match="not known for any record.*use more estimators"):
        leakage.score()


def test_a_deeper_forest_has_a_higher_score():
    scores = [
        LeaveOneOutLeakage(RandomForestClassifier(20, max_depth=depth, random_state=0))
        .fit(X, LABELS)
        .score()
        for depth in (1, 3, 9)
    ]
    assert scores[0] < scores[1] < scores[2]
