"""Linear shadow models that are solved together are the ones that scikit-learn fits."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from scipy import sparse
from sklearn import __version__ as sklearn_version
from sklearn.datasets import load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import check_is_fitted

from skmia import Records, ShadowPool
from skmia._core.linear_influence import CholeskyFactor
from skmia._core.query import query_victim
from skmia._training.backends.linear import LinearWay

TIGHT = {"tol": 1e-11, "max_iter": 2000, "solver": "newton-cg"}
NO_PENALTY = (
    {"C": np.inf} if parse_version(sklearn_version) >= parse_version("1.8") else {"penalty": None}
)
PROMISED = 1e-3  # nats


def draw_halves(n, n_models, seed=0):
    rng = np.random.default_rng(seed)
    inside = np.zeros((n_models, n), dtype=bool)
    for k in range(0, n_models, 2):
        inside[k, rng.permutation(n)[: n // 2]] = True
        inside[k + 1] = ~inside[k]
    return inside


def make_job(estimator, X, y, n_models=4, inside=None, store="signals", more=()):
    inside = draw_halves(len(y), n_models) if inside is None else inside
    return training.make_job(estimator, [X, *more], np.asarray(y), inside, store=store)


def run(job, models=None):
    return training.run(LinearWay(), job, models)


def assert_same(results, expected, atol=PROMISED):
    assert sorted(results) == sorted(expected)
    for k, result in results.items():
        other = expected[k]
        assert (result.signal, result.kind) == (other.signal, other.kind)
        assert (result.dtype, result.raw.dtype) == (other.dtype, other.raw.dtype)
        assert np.array_equal(result.classes, other.classes)
        np.testing.assert_allclose(within(result.raw), within(other.raw), rtol=0, atol=atol)


def within(raw):
    """Evidence up to where 1 - p is still more than a few roundings (half of it tempered by 2)."""
    return np.clip(raw, [[[-24.0]], [[-12.0]]][: len(raw)], [[[24.0]], [[12.0]]][: len(raw)])


def make_data(n_classes, n=240, d=8, seed=0):
    X, y = make_classification(
        n, d, n_informative=d, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=seed
    )
    return X * np.logspace(-1, 1, d) + np.arange(d), y


LOGISTIC = {
    "weak penalty": {"C": 100.0},
    "strong penalty": {"C": 0.01},
    "default": {},
    "no intercept": {"fit_intercept": False},
    "balanced": {"class_weight": "balanced"},
    "class weights": {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}},
    "no penalty": NO_PENALTY,
}


QUICK = [
    *(("strong penalty", 2), ("no intercept", 2), ("no penalty", 2)),
    *(("balanced", 3), ("class weights", 3)),
]


@pytest.mark.parametrize("name, n_classes", slow_but(itertools.product(LOGISTIC, [2, 3]), *QUICK))
def test_logistic_regressions_are_at_the_optimum(name, n_classes):
    settings = dict(LOGISTIC[name])
    if name == "class weights" and n_classes == 2:
        settings["class_weight"] = {0: 1.0, 1: 3.0}
    X, y = make_data(n_classes)
    job = make_job(LogisticRegression(**settings), X, y)
    assert LinearWay().why_not(job) is None
    tight = job._replace(estimator=LogisticRegression(**{**settings, **TIGHT}))
    results = run(job)
    assert not any(result.warnings for result in results.values())
    assert_same(results, training.run_alone(tight))


def test_records_that_can_be_separated_are_no_exception():
    X, y = make_classification(120, 20, n_informative=10, class_sep=3, random_state=0)
    job = make_job(LogisticRegression(C=1e3), X, y)
    tight = job._replace(estimator=LogisticRegression(C=1e3, **TIGHT))
    results = run(job)
    assert not any(result.warnings for result in results.values())
    assert_same(results, training.run_alone(tight))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_features_may_outnumber_the_records(n_classes):
    X, y = make_classification(90, 200, n_informative=20, n_classes=n_classes, random_state=0)
    job = make_job(LogisticRegression(), X, y)
    tight = job._replace(estimator=LogisticRegression(**TIGHT))
    assert_same(run(job), training.run_alone(tight))


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]
)
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_a_scaling_fitted_on_each_half_is_taken_into_the_penalty(scaler, n_classes):
    X, y = make_data(n_classes)
    X[:, 0] = X[:, 1] > 9  # rare enough to be constant in a half or nearly so
    job = make_job(make_pipeline(scaler, LogisticRegression()), X, y)
    assert LinearWay().why_not(job) is None
    tight = job._replace(estimator=make_pipeline(scaler, LogisticRegression(**TIGHT)))
    assert_same(run(job), training.run_alone(tight))


def test_a_feature_that_only_one_record_has():
    X, y = make_data(3)
    X[:, 0] = 0
    X[5, 0] = 1
    job = make_job(make_pipeline(StandardScaler(), LogisticRegression()), X, y)
    tight = job._replace(estimator=make_pipeline(StandardScaler(), LogisticRegression(**TIGHT)))
    assert_same(run(job), training.run_alone(tight))


def with_rare_class(n_rare, n_classes):
    X, y = make_data(n_classes)
    y = np.concatenate([y, np.full(n_rare, n_classes)])
    return np.concatenate([X, X[:n_rare] + 1]), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_half_without_a_class_is_fitted_without_it(n_classes):
    X, y = with_rare_class(1, n_classes)
    job = make_job(LogisticRegression(), X, y, store="outputs")
    tight = job._replace(estimator=LogisticRegression(**TIGHT))
    results, expected = run(job), training.run_alone(tight)
    for k, result in results.items():
        absent = not job.subsets[k, -1]
        assert (result.outputs[:, -1] == 0).all() == absent
        # A model of two classes is left to the estimator itself, with the tolerance that it has.
        atol = 0.02 if absent and n_classes == 2 else PROMISED
        np.testing.assert_allclose(result.raw, expected[k].raw, rtol=0, atol=atol)


def test_a_half_of_one_class_is_refused_as_by_scikit_learn():
    X = np.arange(8.0)[:, None]
    inside = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]], dtype=bool)
    job = make_job(LogisticRegression(), X, np.repeat([0, 1], 4), inside=inside)
    with pytest.raises(RuntimeError, match="with 1 different labels"):
        run(job)


def test_without_a_penalty_separated_records_are_left_to_the_estimator():
    X, y = make_classification(80, 20, n_informative=10, class_sep=3, random_state=0)
    estimator = LogisticRegression(**NO_PENALTY)
    job = make_job(estimator, X, y)
    results, expected = run(job), training.run_alone(job)
    for k, result in results.items():
        assert result.warnings[-1][0] is ConvergenceWarning
        assert "fitted it alone" in result.warnings[-1][1]
        assert np.array_equal(result.raw, expected[k].raw)


@pytest.mark.parametrize("alpha", slow_but([1e-3, 1.0, 1e3], 1e-3, 1e3))
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(200, 10), (60, 45), (60, 150)])
def test_ridge_regressions_have_the_closed_form(alpha, fit_intercept, shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.logspace(-1, 1, shape[1]) + 3
    y = X @ rng.normal(size=shape[1]) + rng.normal(size=len(X)) + 100
    estimator = Ridge(alpha=alpha, fit_intercept=fit_intercept)
    job = make_job(estimator, X, y, store="models")
    assert LinearWay().why_not(job) is None
    for k, result in run(job).items():
        part, target = X[job.subsets[k]], y[job.subsets[k]]
        mean, offset = (part.mean(axis=0), target.mean()) if fit_intercept else (0, 0)
        part = part - mean
        # Augmented least squares: squares nothing, unlike the normal equations.
        rows = np.vstack([part, np.sqrt(alpha) * np.eye(shape[1])])
        right = np.concatenate([target - offset, np.zeros(shape[1])])
        coef = np.linalg.lstsq(rows, right, rcond=None)[0]
        np.testing.assert_allclose(result.model.coef_, coef, rtol=1e-6, atol=1e-8)
        expected = (X - mean) @ coef + offset
        np.testing.assert_allclose(result.model.predict(X), expected, rtol=1e-7)


@pytest.mark.parametrize(
    "estimator",
    [
        Ridge(),
        Ridge(alpha=0.1, fit_intercept=False, solver="svd"),
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(MinMaxScaler(), LinearRegression()),
    ],
)
def test_regressions_agree_with_scikit_learn(estimator):
    X, _ = make_data(2)
    y = X @ np.arange(X.shape[1]) + np.random.default_rng(0).normal(size=len(X))
    job = make_job(estimator, X, y)
    assert LinearWay().why_not(job) is None
    assert_same(run(job), training.run_alone(job), atol=1e-4)


@pytest.mark.parametrize("estimator", [Ridge(), LinearRegression()])
def test_a_single_feature_is_enough(estimator):
    X = make_data(2)[0][:, :1]
    job = make_job(estimator, X, 3 * X[:, 0] + np.random.default_rng(0).normal(size=len(X)))
    assert LinearWay().why_not(job) is None
    assert_same(run(job), training.run_alone(job), atol=1e-4)


def test_least_squares_without_a_single_solution_is_left_to_the_estimator():
    X, _ = make_data(2)
    X[:, 0] = X[:, 1]
    job = make_job(LinearRegression(), X, X[:, 2] + np.random.default_rng(0).normal(size=len(X)))
    results, expected = run(job), training.run_alone(job)
    for k, result in results.items():
        assert "fitted it alone" in result.warnings[-1][1]
        assert np.array_equal(result.raw, expected[k].raw)


def make_nearly_dependent(n_columns, gap):
    """Columns of which the first is the sum of the others but for a gap."""
    X = np.random.default_rng(0).normal(size=(60, n_columns))
    X[:, 0] = X[:, 1:].sum(axis=1) + gap * X[:, 0]
    return X


@pytest.mark.parametrize("n_columns", [2, 3, 6, 12])
@pytest.mark.parametrize("gap", [1, 1e-2, 1e-4])
def test_the_condition_number_is_that_of_the_matrix_with_a_diagonal_of_ones(n_columns, gap):
    X = make_nearly_dependent(n_columns, gap) * np.geomspace(1e-3, 1e3, n_columns)
    scaled = X / np.linalg.norm(X, axis=0)
    expected = 1 / np.linalg.cond(scaled.T @ scaled, 1)
    assert CholeskyFactor(X.T @ X).rcond == pytest.approx(expected, rel=1e-3)


def test_nearly_dependent_columns_are_left_to_the_estimator():
    X = make_nearly_dependent(6, 1e-4)
    job = make_job(Ridge(1e-12), X, X[:, 2] + np.random.default_rng(1).normal(size=60))
    results, expected = run(job), training.run_alone(job)
    for k, result in results.items():
        assert np.array_equal(result.raw, expected[k].raw)


def test_regression_on_halves_that_do_not_complement_each_other():
    X, _ = make_data(2)
    y = X[:, 0] + np.random.default_rng(0).normal(size=len(X))
    inside = np.random.default_rng(1).random((5, len(X))) < 0.4
    job = make_job(Ridge(), X, y, inside=inside)
    assert_same(run(job), training.run_alone(job), atol=1e-4)


MODELS = {
    "binary": (LogisticRegression(), 2),
    "multinomial": (LogisticRegression(C=0.1), 3),
    "no intercept": (LogisticRegression(fit_intercept=False), 3),
    "scaled": (make_pipeline(StandardScaler(), LogisticRegression()), 3),
    "ridge": (Ridge(), 2),
    "least squares": (make_pipeline(RobustScaler(), LinearRegression()), 2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("as_frame", [pytest.param(False, marks=pytest.mark.slow), True])
def test_stored_models_are_fitted_estimators_that_give_the_stored_answers(name, as_frame):
    estimator, n_classes = MODELS[name]
    X, y = with_rare_class(1, 3) if n_classes == 3 else make_data(2)
    if as_frame:
        X = pd.DataFrame(X, columns=[f"feature{j}" for j in range(X.shape[1])])
    job = make_job(estimator, X, y, store="models")
    expected = training.run_alone(job, [0, 1])
    for k, result in run(job, models=[0, 1]).items():
        check_is_fitted(result.model)
        other = expected[k].model
        for model, reference in zip([result.model, _last(result.model)], [other, _last(other)]):
            assert type(model) is type(reference)
            assert {name for name in vars(model) if name.endswith("_")} == {
                name for name in vars(reference) if name.endswith("_")
            }
            assert model.get_params().keys() == reference.get_params().keys()
        model, reference = _last(result.model), _last(other)
        assert model.coef_.shape == reference.coef_.shape
        assert np.shape(model.intercept_) == np.shape(reference.intercept_)
        assert model.max_iter == reference.max_iter if hasattr(model, "max_iter") else True
        outputs = query_victim(result.model, X)
        if outputs.kind == "proba":
            outputs = outputs.aligned_to(np.unique(y))
            values = outputs.scaled_logit(y)
        else:
            values = y - outputs.values
        np.testing.assert_allclose(values, result.raw[0, 0], rtol=0, atol=1e-4)


def _last(model):
    return model[-1] if hasattr(model, "steps") else model


def test_stored_models_have_the_seeds_and_the_settings_of_the_pool():
    X, y = make_data(2)
    estimator = LogisticRegression(random_state=3, max_iter=150)
    job = make_job(estimator, X, y, store="models")
    results, expected = run(job, models=[0, 2]), training.run_alone(job, [0, 2])
    for k, result in results.items():
        assert result.model.get_params() == expected[k].model.get_params()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_the_type_of_the_answers_is_that_of_scikit_learn(dtype):
    X, y = make_data(3)
    X = (10 * X).astype(dtype)
    job = make_job(LogisticRegression(), X, y)
    expected = training.run_alone(job)
    for k, result in run(job).items():
        assert result.dtype == expected[k].dtype


@pytest.mark.parametrize("estimator", [LogisticRegression(), Ridge()])
def test_the_order_of_the_records_does_not_matter(estimator):
    X, y = make_data(3)
    job = make_job(estimator, X, y + 0.5 if isinstance(estimator, Ridge) else y)
    order = np.random.default_rng(1).permutation(len(X))
    other = make_job(estimator, X[order], job.data.y[order], inside=job.subsets[:, order])
    results, permuted = run(job), run(other)
    for k, result in results.items():
        np.testing.assert_allclose(permuted[k].raw, result.raw[..., order], rtol=0, atol=PROMISED)


def test_names_of_classes_do_not_matter():
    X, y = make_data(3)
    names = np.array(["b", "c", "d"])[y]
    results, named = run(make_job(LogisticRegression(), X, y)), None
    named = run(make_job(LogisticRegression(), X, names))
    for k, result in results.items():
        assert named[k].classes.tolist() == ["b", "c", "d"]
        np.testing.assert_array_equal(named[k].raw, result.raw)


@pytest.mark.parametrize("estimator", [LogisticRegression(), Ridge()])
def test_some_models_of_a_pool_are_the_same_as_in_the_whole_pool(estimator):
    X, y = make_data(2)
    job = make_job(estimator, X, y + 0.5 if isinstance(estimator, Ridge) else y, n_models=70)
    results, some = run(job), dict(LinearWay().run(job, [66], None))
    assert sorted(some) == [64, 65, 66, 67, 68, 69]  # those that are solved together
    for k, result in some.items():
        np.testing.assert_array_equal(result.arrays["raw"], results[k].raw)
    assert run(job, models=[]) == {}


@pytest.mark.parametrize(
    "begin, in_memory",
    [
        (2, True),
        *(
            pytest.param(*others, marks=pytest.mark.slow)
            for others in [(2, False), (8, True), (8, False), (64, True), (64, False)]
        ),
    ],
)
def test_a_pool_that_grows_is_the_one_that_was_trained_at_once(tmp_path, begin, in_memory):
    X, y = make_data(3)
    kept = {"warm_start": True} if in_memory else {"checkpoint": tmp_path}
    model = LogisticRegression(C=100.0, max_iter=300)
    pool = ShadowPool(model, begin, batched=True, random_state=0, **kept).fit(Records(X, y))
    pool.set_params(n_estimators=70).fit(Records(X, y))
    whole = ShadowPool(model, 70, batched=True, random_state=0).fit(Records(X, y))
    np.testing.assert_array_equal(pool.signals_, whole.signals_)


def draw_wide():
    return make_classification(300, 450, n_informative=5, random_state=0)


@pytest.mark.parametrize(
    "data, model",
    [
        # The curvature of the first 4 models brings them to their optimum, and that of the first 8
        # does not: the pool of 8 is then fitted by the estimator.
        pytest.param(draw_wide, LogisticRegression(C=1e4, max_iter=2000), marks=pytest.mark.slow),
        (lambda: load_wine(return_X_y=True), LogisticRegression(max_iter=2000, **NO_PENALTY)),
    ],
    ids=["wide", "free"],
)
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pools_whose_first_models_fail_grow_into_the_same_one(data, model, dtype):
    X, y = data()
    records, model = Records(X.astype(dtype), y), make_pipeline(StandardScaler(), model)
    pool = ShadowPool(model, 4, warm_start=True, random_state=0).fit(records)
    pool.set_params(n_estimators=8).fit(records)
    whole = ShadowPool(model, 8, random_state=0).fit(records)
    np.testing.assert_array_equal(pool.signals_, whole.signals_)


def test_chunks_of_fewer_models_than_pilots_grow_into_the_same_pool():
    X, y = make_classification(120, 180, n_informative=5, random_state=0)
    job = make_job(LogisticRegression(C=1e4, max_iter=2000), X, y, n_models=8)
    job = job._replace(most_together=2)
    small = job._replace(subsets=job.subsets[:4], seeds=job.seeds[:4])
    grown = dict(LinearWay().run(small, range(4), None))
    grown.update(LinearWay().run(job, range(4, 8), None))
    for k, result in run(job).items():
        np.testing.assert_array_equal(grown[k].arrays["raw"], result.raw)


def test_augmentations_are_answered_too():
    X, y = make_data(3)
    job = make_job(LogisticRegression(), X, y, more=[X + 0.1, X - 0.1], store="outputs")
    tight = job._replace(estimator=LogisticRegression(**TIGHT))
    results, expected = run(job), training.run_alone(tight)
    assert results[0].raw.shape == (2, 3, len(y))
    assert_same(results, expected)
    for k, result in results.items():
        np.testing.assert_allclose(result.outputs, expected[k].outputs, atol=1e-3)


def test_models_come_as_soon_as_they_are_there():
    X, y = make_data(2)
    results = LinearWay().run(make_job(LogisticRegression(), X, y), range(4), None)
    k, kept = next(results)
    assert k == 0 and kept.arrays["raw"].shape == (2, 1, len(y))


def test_no_global_randomness_is_used_and_nothing_is_changed():
    X, y = make_data(3)
    X.flags.writeable = False
    estimator = LogisticRegression(random_state=0)
    np.random.seed(0)  # noqa: NPY002
    run(make_job(estimator, X, y))
    assert np.random.random() == np.random.RandomState(0).random_sample()  # noqa: NPY002
    assert not hasattr(estimator, "coef_")


def test_warnings_about_settings_reach_the_user():
    X, y = make_data(2)
    estimator = LogisticRegression(penalty="l2")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    job = make_job(estimator, X, y)
    given = [str(one.message) for one in caught if issubclass(one.category, FutureWarning)]
    assert [message for _, message in run(job, models=[0])[0].warnings] == given


class Renamed(LogisticRegression):
    pass


X_DATA, Y_DATA = make_data(2)
REFUSED = [
    (SGDClassifier(), X_DATA, "SGDClassifier is none of LinearRegression, LogisticRegression, Rid"),
    (Renamed(), X_DATA, "Renamed is none of"),
    (LogisticRegression(solver="liblinear"), X_DATA, "Solver='liblinear' is none of lbfgs"),
    (LogisticRegression(solver="saga"), X_DATA, "Solver='saga' is none of"),
    (LogisticRegression(penalty="l1", l1_ratio=1), X_DATA, "Its penalty is not the plain L2"),
    (LogisticRegression(penalty="elasticnet", l1_ratio=0.5), X_DATA, "Its penalty is not"),
    (LogisticRegression(warm_start=True), X_DATA, "Warm_start=True is set"),
    (LogisticRegression(max_iter=5), X_DATA, "Max_iter=5 and .* stop it before the optimum"),
    (LogisticRegression(tol=0.1), X_DATA, "tol=0.1 stop it before the optimum"),
    (LogisticRegression(class_weight={0: 0, 1: 1}), X_DATA, "Class_weight leaves out a class"),
    (LogisticRegression(), sparse.csr_matrix(X_DATA), "X is sparse"),
    (LogisticRegression(), X_DATA.reshape(len(X_DATA), 2, -1), "X has 3 dimensions"),
    (LogisticRegression(), X_DATA.astype(object), "X holds values that are not numbers"),
    (LogisticRegression(), pd.DataFrame({"a": ["x"] * len(X_DATA)}), "X holds values that are"),
    (LogisticRegression(), np.where(X_DATA > 9, np.nan, X_DATA), "X holds NaN or infinite values"),
    (LogisticRegression(), np.zeros((len(X_DATA), 10_000))[:, :9000], None),
    (Ridge(positive=True), X_DATA, "Positive=True is set"),
    (Ridge(solver="sag"), X_DATA, "Solver='sag' is none of auto, cholesky, svd"),
    (Ridge(alpha=0), X_DATA, "Alpha=0 is not a positive number"),
    (Ridge(alpha=[1.0]), X_DATA, r"Alpha=\[1.0\] is not a positive number"),
    (LinearRegression(positive=True), X_DATA, "Positive=True is set"),
    (LinearRegression(), X_DATA[:, [0] * 200], "A training set has fewer records"),
    (make_pipeline(StandardScaler(), Ridge()), X_DATA[:, [0] * 200], "fewer records .* are scaled"),
    (make_pipeline(PCA(2), LogisticRegression()), X_DATA, "Pipeline fits its other steps on each"),
    (
        make_pipeline(PolynomialFeatures(), StandardScaler(), LogisticRegression()),
        X_DATA,
        "Pipeline fits its other steps on each training set",
    ),
    (make_pipeline(MinMaxScaler(clip=True), Ridge()), X_DATA, "fits its other steps"),
    (
        make_pipeline(StandardScaler(), LogisticRegression(fit_intercept=False)),
        X_DATA,
        "has no intercept to absorb the shift",
    ),
    (make_pipeline(StandardScaler(), Ridge(), memory="cache"), X_DATA, "Pipeline has a memory"),
]


@pytest.mark.parametrize(("estimator", "X", "reason"), REFUSED)
def test_what_cannot_be_solved_is_refused_with_the_reason(estimator, X, reason):
    found = LinearWay().why_not(make_job(estimator, X, Y_DATA))
    if reason is None:
        assert found is None
    else:
        with pytest.raises(ValueError, match=reason):
            raise ValueError(found)
        assert found.endswith(".") and found[0].isupper()


def test_too_many_features_and_records_are_refused():
    X = np.broadcast_to(0.0, (2**14, 2**14))
    job = make_job(Ridge(), X, np.arange(2**14) % 2, n_models=2)
    assert "X has more than 128 million entries" in LinearWay().why_not(job)
    X = np.broadcast_to(0.0, (4000, 4000))
    job = make_job(LogisticRegression(), X, np.arange(4000) % 2, n_models=2)
    assert "too many to keep their curvature" in LinearWay().why_not(job)


def test_targets_that_fit_the_model():
    y = np.random.default_rng(0).normal(size=len(X_DATA))
    assert "Y does not hold" in LinearWay().why_not(make_job(LogisticRegression(), X_DATA, y))
    one = make_job(LogisticRegression(), X_DATA, np.zeros(len(X_DATA), dtype=int))
    assert "single class" in LinearWay().why_not(one)
    y[3] = np.inf
    assert "finite numbers" in LinearWay().why_not(make_job(Ridge(), X_DATA, y))
