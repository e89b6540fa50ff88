"""Gradients of the true members and of the penalty add to zero at the optimum."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC

from skmia import Records
from skmia.victims._stationarity import (
    decide_by_margins,
    has_stationarity,
    read_further_gradients,
    read_gradients,
)

pytestmark = pytest.mark.contract


def load(loader):
    X, y = loader(return_X_y=True)
    return scale(X), y


CANCER, WINE, DIABETES = load(load_breast_cancer), load(load_wine), load(load_diabetes)


def fit(model, data, seed=0):
    """A model fitted on a random half of a table, all records, and the bits of the half."""
    X, y = data
    member = np.zeros(len(y), dtype=bool)
    member[np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]] = True
    return model.fit(X[member], y[member]), Records(X, y), member


def find_errors(equations, member):
    """What is left of each equation, over the norm of its row."""
    norms = np.sqrt(equations.rows.square_rows())
    return (equations.rows @ member - equations.targets) / norms


SURE = {"tol": 1e-10, "max_iter": 10_000}
EXACT = [
    (LinearRegression(), DIABETES, 11, 1e-10),
    (LinearRegression(fit_intercept=False), DIABETES, 10, 1e-10),
    (Ridge(alpha=3.0), DIABETES, 11, 1e-10),
    (RidgeClassifier(), CANCER, 31, 1e-10),
    (RidgeClassifier(alpha=0.1), WINE, 42, 1e-10),
    (RidgeCV(alphas=[1.0, 30.0]), DIABETES, 11, 1e-10),
    (RidgeCV(fit_intercept=False), DIABETES, 10, 1e-10),
    (RidgeClassifierCV(), CANCER, 31, 1e-10),
    (RidgeClassifierCV(alphas=[5.0]), WINE, 42, 1e-10),
    (LogisticRegression(**SURE), CANCER, 31, 1e-5),
    (LogisticRegression(C=0.1, fit_intercept=False, **SURE), CANCER, 30, 1e-5),
    (LogisticRegression(solver="newton-cg", **SURE), WINE, 42, 1e-5),
    (LogisticRegression(solver="newton-cholesky", **SURE), CANCER, 31, 1e-5),
]


@pytest.mark.parametrize(
    "model, data, n_equations, tolerance",
    EXACT,
    ids=[f"{type(one[0]).__name__} {k}" for k, one in enumerate(EXACT)],
)
def test_gradients_of_the_true_members_add_to_zero(model, data, n_equations, tolerance):
    model, records, member = fit(model, data)
    equations = read_gradients(FrozenEstimator(model), records, member.sum())
    assert len(equations.targets) == n_equations
    assert np.abs(find_errors(equations, member)).max() < tolerance
    assert np.abs(find_errors(equations, ~member)).max() > 0.1


@pytest.mark.parametrize("tol", [1e-4, 1e-2])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_what_a_solver_leaves_is_the_noise(solver, tol):
    model, records, member = fit(LogisticRegression(solver=solver, tol=tol, max_iter=1000), CANCER)
    equations = read_gradients(model, records, member.sum())
    left = np.abs(equations.rows @ member - equations.targets)
    assert left.max() <= tol * member.sum() * (1 + 1e-6)
    np.testing.assert_allclose(np.sqrt(3 * equations.variances), tol * member.sum(), rtol=1e-6)


def test_steps_of_a_pipeline_and_searches_are_gone_through():
    ridge = RidgeClassifier()
    for wrapped in (make_pipeline(StandardScaler(), ridge), GridSearchCV(ridge, {"alpha": [2.0]})):
        model, records, member = fit(wrapped, CANCER)
        equations = read_gradients(FrozenEstimator(model), records, member.sum())
        assert np.abs(find_errors(equations, member)).max() < 1e-10
        assert has_stationarity(model)


def test_columns_of_further_records_are_those_that_they_would_have():
    model, records, member = fit(LogisticRegression(), CANCER)
    every = read_gradients(model, records, member.sum())
    some = read_gradients(model, records[:400], member.sum())
    columns = read_further_gradients(model, records[400:], some)
    np.testing.assert_allclose(columns.toarray(), every.rows.toarray()[:, 400:])


@pytest.mark.parametrize(
    "model, data",
    [
        (SVC(), CANCER),
        (SVC(kernel="linear", C=0.1, class_weight="balanced"), CANCER),
        (SVC(C=0.3), WINE),
        (SVR(C=10.0, epsilon=5.0), DIABETES),
        (make_pipeline(StandardScaler(), SVC()), WINE),
    ],
    ids=["classes", "linear with weights", "three classes", "targets", "pipeline"],
)
def test_margins_decide_without_error(model, data):
    for seed in range(3):
        model, records, member = fit(model, data, seed)
        decided = decide_by_margins(FrozenEstimator(model), records)
        assert member[decided > 0].all() and not member[decided < 0].any()
        assert (decided > 0).sum() == len(
            model[-1].support_ if hasattr(model, "steps") else model.support_
        )
        # Others with such a margin are about as many as members.
        assert (decided < 0).sum() > (decided > 0).sum() / 2


@pytest.mark.parametrize(
    "model, message",
    [
        (LogisticRegression(class_weight="balanced"), "class weights multiply its gradients"),
        (LogisticRegression(solver="liblinear"), "solver='liblinear' stops at another point"),
        (LogisticRegression(max_iter=2), "stopped after max_iter=2 rounds"),
        (RidgeClassifier(class_weight="balanced"), "class weights multiply"),
        (RidgeCV(cv=3), "cv=3 leaves open by which solver"),
        (RidgeClassifierCV(class_weight="balanced"), "class weights multiply"),
        (Ridge(solver="sag"), "solver='sag' stops at another point"),
        (Ridge(positive=True), "coefficients that were kept at 0"),
        (LinearRegression(positive=True), "coefficients that were kept at 0"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_settings_whose_optimum_is_not_known_are_refused(model, message):
    model, records, _ = fit(model, CANCER)
    with pytest.raises(ValueError, match=f"optimum of this {type(model).__name__} .*{message}"):
        read_gradients(model, records, 284)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_penalties_without_a_gradient_are_refused():
    for settings in ({"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.5}):
        model = LogisticRegression(solver="saga", max_iter=5000, tol=1e-2, **settings)
        model, records, _ = fit(model, CANCER)
        with pytest.raises(ValueError, match="no gradient where a coefficient is 0"):
            read_gradients(model, records, 284)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines_that_did_not_come_to_the_optimum_are_refused():
    model, records, _ = fit(SVC(max_iter=5), CANCER)
    with pytest.raises(ValueError, match="optimum of this SVC .* stopped after max_iter=5 steps"):
        decide_by_margins(model, records)
    X, y = CANCER
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="precomputed kernel it stores no rows"):
        decide_by_margins(model, Records(X @ X.T, y))


def test_other_models_and_several_outputs_are_named():
    X, y = CANCER
    records = Records(X, y)
    for model in (Lasso(), LinearSVC(), NuSVC(nu=0.2), LogisticRegressionCV(Cs=2, cv=2)):
        assert not has_stationarity(model)
    with pytest.raises(TypeError, match="SVC and SVR, also at the end of a Pipeline; got Lasso"):
        read_gradients(Lasso().fit(X, y), records, 284)
    with pytest.raises(ValueError, match="several outputs"):
        read_gradients(Ridge().fit(X, np.column_stack([y, y])), records, 284)
    with pytest.raises(ValueError, match="The model has 30 features; the records have shape"):
        read_gradients(Ridge().fit(X, y), Records(X[:, :3], y), 284)
