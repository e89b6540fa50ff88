"""Gradients of the true members and of the penalty add to zero at the optimum."""

import copy
import functools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC

from skmia import Records
from skmia.victims import _optima
from skmia.victims._optima import OPTIMA
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


@functools.cache
def fit_kind(k):
    """A model of those below, its records and bits; nobody changes them."""
    model, data, _ = KINDS[k]
    return fit(clone(model), data)


def find_errors(equations, member):
    """What is left of each equation, over the norm of its row."""
    norms = np.sqrt(equations.rows.square_rows())
    return (equations.rows @ member - equations.targets) / norms


COUNTS = DIABETES[0], np.random.default_rng(0).poisson(np.exp(DIABETES[0][:, 2] * 0.3)) * 1.0
AMOUNTS = DIABETES[0], DIABETES[1] / 100
L1, NET = {"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.5}
BEYOND = {"loss": "squared_epsilon_insensitive", "dual": False}
# With as many equations as coefficients, intercepts and outputs, and that of the number of members.
# Penalties with l1 leave out the coefficients of 0.
KINDS = [
    (LinearRegression(), DIABETES, 12),
    (LinearRegression(fit_intercept=False), DIABETES, 11),
    (Ridge(alpha=3.0), DIABETES, 12),
    (RidgeClassifier(), CANCER, 32),
    (RidgeClassifier(alpha=0.1), WINE, 43),
    (RidgeClassifier(class_weight="balanced"), CANCER, 32),
    (RidgeClassifier(class_weight={0: 3.0}), WINE, 43),
    (RidgeCV(alphas=[1.0, 30.0]), DIABETES, 12),
    (RidgeClassifierCV(), CANCER, 32),
    (BayesianRidge(), DIABETES, 12),
    (ARDRegression(), DIABETES, 12),
    (Lasso(alpha=2.0), DIABETES, None),
    (Lasso(alpha=2.0, positive=True), DIABETES, None),
    (LassoCV(), DIABETES, None),
    (ElasticNet(alpha=0.5), DIABETES, 12),
    (ElasticNet(alpha=0.5, l1_ratio=0.2, fit_intercept=False), DIABETES, 11),
    (ElasticNetCV(), DIABETES, None),
    (LassoLars(alpha=1.0), DIABETES, None),
    (LassoLarsCV(), DIABETES, None),
    (LassoLarsIC(), DIABETES, None),
    (OrthogonalMatchingPursuit(), DIABETES, 3),
    (OrthogonalMatchingPursuitCV(), DIABETES, None),
    (LogisticRegression(), CANCER, 32),
    (LogisticRegression(C=0.1, fit_intercept=False), CANCER, 31),
    (LogisticRegression(), WINE, 43),
    (LogisticRegression(class_weight="balanced"), CANCER, 32),
    (LogisticRegression(class_weight={0: 2.0, 1: 0.5}), CANCER, 32),
    (LogisticRegression(solver="newton-cg"), WINE, 43),
    (LogisticRegression(solver="newton-cholesky", C=1e8), CANCER, 32),
    (LogisticRegression(solver="liblinear"), CANCER, 32),
    (LogisticRegression(solver="liblinear", intercept_scaling=10.0, **L1), CANCER, None),
    (LogisticRegression(solver="saga", max_iter=5000, **L1), WINE, None),
    (LogisticRegression(solver="saga", max_iter=5000, **NET), CANCER, None),
    (LogisticRegression(solver="sag", max_iter=5000), CANCER, 32),
    (LogisticRegressionCV(), CANCER, 32),
    (PoissonRegressor(), COUNTS, 12),
    (PoissonRegressor(alpha=0.0, fit_intercept=False), COUNTS, 11),
    (GammaRegressor(alpha=0.1, solver="newton-cholesky"), AMOUNTS, 12),
    (TweedieRegressor(power=1.5), COUNTS, 12),
    (TweedieRegressor(power=0), AMOUNTS, 12),
    (TweedieRegressor(power=0, link="log"), AMOUNTS, 12),
    (HuberRegressor(epsilon=2.0, alpha=1.0), AMOUNTS, 13),
    (HuberRegressor(fit_intercept=False), AMOUNTS, 12),
    (LinearSVC(), CANCER, 32),
    (LinearSVC(C=0.1, class_weight="balanced"), WINE, 43),
    (LinearSVC(dual=False, penalty="l1"), CANCER, None),
    (LinearSVC(dual=True, max_iter=100_000), CANCER, 32),
    (LinearSVC(intercept_scaling=10.0), CANCER, 32),
    (LinearSVR(**BEYOND), DIABETES, 12),
    (LinearSVR(epsilon=10.0, C=0.1, **BEYOND), DIABETES, 12),
]


# Of the noise that the attack adds to all equations, a tenth.
_RELATIVE = 1e-3


EACH_KIND = pytest.mark.parametrize(
    "k", range(len(KINDS)), ids=[f"{type(one[0]).__name__} {k}" for k, one in enumerate(KINDS)]
)


@EACH_KIND
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_of_the_true_members_add_to_zero(k):
    (model, records, member), n_equations = fit_kind(k), KINDS[k][2]
    equations = read_gradients(FrozenEstimator(model), records, member.sum(), 1.0)
    if n_equations is None:  # those of coefficients, the intercept, and the number of members
        n_equations = np.count_nonzero(model.coef_) + np.count_nonzero(model.intercept_) + 1
    assert len(equations.targets) == n_equations
    noise = np.sqrt(equations.variances + _RELATIVE**2 * equations.rows.square_rows())
    assert np.abs((equations.rows @ member - equations.targets) / noise).max() < 4
    # Those of the others do not, except where class weights are known up to their number.
    assert np.abs(find_errors(equations, ~member)).max() > 0.1
    assert equations.targets[-1] == member.sum() and equations.variances[-1] >= 1


@pytest.mark.parametrize("model", OPTIMA, ids=lambda one: one.__name__)
def test_every_kind_has_a_known_answer(model):
    assert any(type(one) is model for one, _, _ in KINDS)


def test_a_balanced_model_is_read_up_to_the_share_of_each_class():
    model, records, member = fit(LogisticRegression(class_weight="balanced"), CANCER)
    weighted = read_gradients(model, records, member.sum(), 1.0)
    counts = np.bincount(records.y[member])
    given = LogisticRegression(class_weight=dict(enumerate(member.sum() / 2 / counts)))
    given = given.fit(records.X[member], records.y[member])
    np.testing.assert_allclose(given.coef_, model.coef_)
    exact = read_gradients(given, records, member.sum(), 1.0)
    assert (weighted.variances[:-1] > 5 * exact.variances[:-1]).mean() > 0.5


@pytest.mark.parametrize("tol", [1e-4, 1e-2])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky"])
def test_what_a_solver_leaves_is_the_noise(solver, tol):
    model, records, member = fit(LogisticRegression(solver=solver, tol=tol, max_iter=1000), CANCER)
    equations = read_gradients(model, records, member.sum(), 1.0)
    left = np.abs(equations.rows @ member - equations.targets)[:-1]
    assert left.max() <= tol * member.sum() * (1 + 1e-6)
    found = np.sqrt(3 * equations.variances[:-1])
    np.testing.assert_allclose(found, tol * member.sum(), rtol=1e-6)


def test_steps_of_a_pipeline_and_searches_are_gone_through():
    ridge = RidgeClassifier()
    for wrapped in (make_pipeline(StandardScaler(), ridge), GridSearchCV(ridge, {"alpha": [2.0]})):
        model, records, member = fit(wrapped, CANCER)
        equations = read_gradients(FrozenEstimator(model), records, member.sum(), 1.0)
        assert np.abs(find_errors(equations, member)).max() < 1e-10
        assert has_stationarity(model)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@EACH_KIND
def test_bends_are_the_slopes_of_slopes(k):
    model, records, _ = fit_kind(k)
    reader, y = OPTIMA[type(model)], records.y.astype(type(records.y[0]))
    if hasattr(model, "classes_"):
        y = np.searchsorted(model.classes_, y)
    step = 1e-5 * max(1.0, float(np.abs(model.coef_).max()))
    ends, here = np.atleast_1d(model.intercept_), reader.read(model, records.X, y, len(y) / 2)
    for k in range(here.bends.shape[1]):
        slopes = []
        for sign in (-1, 1):
            moved = copy.copy(model)
            moved.intercept_ = np.broadcast_to(ends, len(here.pulls)) + 0.0
            moved.intercept_[k] += sign * step
            slopes.append(reader.read(moved, records.X, y, len(y) / 2).slopes[:, k])
        found = (slopes[1] - slopes[0]) / (2 * step)
        # Except at an edge between the two, and of the scale of Huber's loss, which stays.
        close = np.isclose(here.bends[:, k], found, rtol=1e-3, atol=1e-6 * np.abs(found).max())
        assert close.mean() > 0.99


def make_gradients(model, d, n=300, seed=0):
    """Records of whom half are members, the fitted model, and the rows of its Hessian."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d) * 1.5 / np.sqrt(d)
    y = X @ w + rng.normal(size=n)
    if not hasattr(model, "predict_proba"):
        y = np.exp(y / 3)
    else:
        y = (y > 0).astype(int)
    member = rng.permutation(n) < n // 2
    model.fit(X[member], y[member])
    return FrozenEstimator(model), Records(X, y), member


@pytest.mark.parametrize(
    "model, alpha, bend",
    [
        (Ridge(alpha=3.0), 3.0, lambda f: np.ones_like(f)),
        (LogisticRegression(C=0.5), 2.0, lambda f: expit(f) * expit(-f)),
        (PoissonRegressor(alpha=0.01), 0.01 * 150, np.exp),
    ],
    ids=["ridge", "logistic", "Poisson"],
)
def test_a_row_multiplies_the_determinant(model, alpha, bend):
    model, records, _ = make_gradients(model, 40)
    design = np.column_stack([records.X, np.ones(300)])
    bends = bend(records.X @ np.ravel(model.coef_) + np.ravel(model.intercept_))
    penalty = np.diag(np.append(np.full(40, alpha), 0))

    def measure(bits):
        return np.linalg.slogdet((design * (bits * bends)[:, None]).T @ design + penalty)[1]

    equations = read_gradients(model, records, 150, 1.0)
    every = np.ones(300)
    # If all are rows for certain, the determinant with and without each of them is known.
    hessian = copy.copy(equations.hessian)
    hessian._share = 1.0
    without = [measure(every - (np.arange(300) == i)) for i in range(5)]
    np.testing.assert_allclose(hessian.find_pulls(every)[:5], measure(every) - without, rtol=1e-6)
    # A further record, as one more row.
    _, further = read_further_gradients(model, records[:5], equations._replace(hessian=hessian))
    twice = [measure(every + (np.arange(300) == i)) for i in range(5)]
    np.testing.assert_allclose(further, twice - measure(every), rtol=1e-6)
    # If a half of them are, by the mean over draws, although the logarithm is not linear.
    rng, found = np.random.default_rng(1), np.zeros(40)
    for _ in range(40):
        bits = (rng.permutation(300) < 150).astype(float)
        inverse = np.linalg.inv((design * (bits * bends)[:, None]).T @ design + penalty)
        length = np.einsum("nj,jk,nk->n", design[:40], inverse, design[:40])
        # Of those among the rows, by the others.
        length = length / (1 - bits[:40] * bends[:40] * length)
        found += np.log1p(bends[:40] * length) / 40
    np.testing.assert_allclose(equations.pulls[:40], found, rtol=0.15)
    np.testing.assert_allclose(equations.pulls[:40].mean(), found.mean(), rtol=0.03)


def test_rows_of_a_small_share_of_coefficients_have_no_pulls():
    model, records, _ = make_gradients(Ridge(), 5)
    equations = read_gradients(model, records, 150, 1.0)
    assert equations.hessian is None and equations.pulls == 0
    columns, pulls = read_further_gradients(model, records[:3], equations)
    assert columns.shape == (7, 3) and pulls == 0


def test_two_outputs_of_a_softmax_pull_as_one():
    X = np.random.default_rng(0).normal(size=(200, 30))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    records = Records(X, y)
    model = LogisticRegression(C=1.0).fit(X[:100], y[:100])
    three = read_gradients(model, records, 100, 1.0)
    assert 0.3 < three.pulls.mean() < 3
    np.testing.assert_allclose(three.hessian._free, 2 / 3)


def test_columns_of_further_records_are_those_that_they_would_have():
    model, records, member = fit(LogisticRegression(), CANCER)
    every = read_gradients(model, records, member.sum(), 1.0)
    some = read_gradients(model, records[:400], member.sum(), 1.0)
    columns, _ = read_further_gradients(model, records[400:], some)
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
        (LogisticRegression(max_iter=2), "stopped after max_iter=2 rounds"),
        (Lasso(alpha=1e-3, max_iter=1), "stopped after max_iter=1 rounds"),
        (RidgeCV(cv=3), "cv=3 leaves open by which solver"),
        (Ridge(solver="sag"), "solver='sag' stops at another point"),
        (Ridge(positive=True), "coefficients that were kept at 0"),
        (LinearRegression(positive=True), "coefficients that were kept at 0"),
        (LassoLars(positive=True), "coefficients that were kept at 0"),
        (LinearSVC(loss="hinge", max_iter=100_000), "loss='hinge' has no gradient"),
        (LinearSVC(multi_class="crammer_singer"), "multi_class='crammer_singer' has another loss"),
        (LinearSVR(), "loss='epsilon_insensitive' has no gradient"),
        (LinearSVR(loss=BEYOND["loss"], dual=True), "dual=True stops at another point"),
        (LogisticRegression(solver="liblinear", dual=True), "dual=True stops at another point"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_settings_whose_optimum_is_not_known_are_refused(model, message):
    model, records, _ = fit(model, CANCER)
    with pytest.raises(ValueError, match=f"optimum of this {type(model).__name__} .*{message}"):
        read_gradients(model, records, 284, 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_machines_that_did_not_come_to_the_optimum_are_refused():
    model, records, _ = fit(SVC(max_iter=5), CANCER)
    with pytest.raises(ValueError, match="optimum of this SVC .* stopped after max_iter=5 steps"):
        decide_by_margins(model, records)
    X, y = CANCER
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="precomputed kernel it stores no rows"):
        decide_by_margins(model, Records(X @ X.T, y))
    model = SVC(kernel=lambda X, Y: X @ Y.T).fit(X[::2] / 1000, y[::2])
    with pytest.raises(ValueError, match="kernel of one's own it stores all rows"):
        decide_by_margins(model, Records(X, y))


def test_other_models_and_several_outputs_are_named():
    X, y = CANCER
    records = Records(X, y)
    for model in (SGDClassifier(), NuSVC(nu=0.2)):
        assert not has_stationarity(model)
    with pytest.raises(TypeError, match="SVC and SVR, also at the end of a Pipeline; got SGDCl"):
        read_gradients(SGDClassifier().fit(X, y), records, 284, 1.0)
    for model in (Ridge(), Lasso(), LinearRegression()):
        with pytest.raises(ValueError, match="several outputs"):
            read_gradients(model.fit(X, np.column_stack([y, y])), records, 284, 1.0)
    with pytest.raises(ValueError, match="The model has 30 features; the records have shape"):
        read_gradients(Ridge().fit(X, y), Records(X[:, :3], y), 284, 1.0)


@pytest.mark.parametrize("share", [0.25, 1.5])
def test_balanced_weights_have_the_variance_of_the_counts_of_classes(share):
    X = np.array([[1.0, 2.0], [3.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    y, slopes = np.array([0, 0, 0, 1]), np.array([[0.5], [-1.0], [2.0], [4.0]])
    candidates = SimpleNamespace(
        y=y, share=share, add_up=lambda own, power=1: (X**power).T @ own**power
    )
    model = SimpleNamespace(class_weight="balanced", classes_=[0, 1])
    weights, variance = _optima._weigh_classes(model, candidates, slopes)
    np.testing.assert_allclose(weights[:, 0], [2 / 3, 2 / 3, 2 / 3, 2])
    expected = np.zeros((2, 1))
    for label, count in ((0, 3), (1, 1)):
        rows = [X[i][:, None] * slopes[i] * weights[i] for i in np.flatnonzero(y == label)]
        mean, spread = share * sum(rows), share * abs(1 - share) * sum(row**2 for row in rows)
        # The number of training rows of the class varies by 1 - share of its mean.
        expected += (mean**2 + spread) * abs(1 - share) / (share * count)
    np.testing.assert_allclose(variance, expected)
