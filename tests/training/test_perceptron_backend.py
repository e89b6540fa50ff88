"""Perceptrons that are trained together are the ones that scikit-learn trains."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import training
from cells import slow_but
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmia._core.query import query_victim
from skmia._training.backends.perceptron import PerceptronWay
from skmia._training.backends.perceptron import backend as _memory
from skmia._training.backends.perceptron import backend as _way
from skmia._training.backends.perceptron.backend import count_together, start_network

ALMOST = 1e-9


def draw_uneven(n, n_models):
    """Sets of different sizes, among them fewer records than a batch holds."""
    rng = np.random.default_rng(1)
    share = np.linspace(0.2, 0.7, n_models)[:, None]
    return rng.random((n_models, n)) < share


def make_data(n_classes=2, n=160):
    return make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0
    )


def make_job(estimator, X, y, inside=None, store="models", n_jobs=None, more=()):
    inside = draw_uneven(len(y), 3) if inside is None else inside
    tables, y = [X, *more], np.asarray(y)
    return training.make_job(estimator, tables, y, inside, seed=3, store=store, n_jobs=n_jobs)


def run(job, models=None):
    return training.run(PerceptronWay(), job, models)


def run_both(job):
    assert PerceptronWay().why_not(job) is None
    return run(job), training.run_alone(job)


def find_network(model):
    return model[-1] if hasattr(model, "steps") else model


def assert_same_network(model, expected):
    assert vars(model).keys() == vars(expected).keys()
    assert type(model) is type(expected)
    pairs = zip(
        model.coefs_ + model.intercepts_, expected.coefs_ + expected.intercepts_, strict=True
    )
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=0, atol=ALMOST)
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=0, atol=ALMOST)
    assert model.best_loss_ == pytest.approx(expected.best_loss_, abs=ALMOST)
    for name in ("n_iter_", "t_", "n_layers_", "n_outputs_", "out_activation_", "n_features_in_"):
        assert getattr(model, name) == getattr(expected, name), name


def assert_same(job):
    together, alone = run_both(job)
    assert sorted(together) == sorted(alone)
    for k, expected in alone.items():
        result = together[k]
        assert_same_network(find_network(result.model), find_network(expected.model))
        np.testing.assert_allclose(result.raw, expected.raw, rtol=1e-5, atol=1e-6)
        assert (result.signal, result.kind, result.dtype, result.step) == (
            expected.signal,
            expected.kind,
            expected.dtype,
            expected.step,
        )
        assert result.warnings == expected.warnings
        assert_same_answers(result.model, expected.model, job.data.tables[0])
    return together


def assert_same_answers(model, expected, X):
    answers, others = query_victim(model, X), query_victim(expected, X)
    np.testing.assert_allclose(answers.values, others.values, rtol=0, atol=ALMOST)
    if is_regressor(model):
        return
    assert np.array_equal(answers.classes, others.classes)
    assert np.array_equal(model.predict(X), expected.predict(X))


SOLVERS = [
    {"solver": "adam", "learning_rate_init": 0.02, "beta_1": 0.8, "beta_2": 0.99, "epsilon": 1e-6},
    {"solver": "sgd", "learning_rate_init": 0.05},
    {"solver": "sgd", "learning_rate_init": 0.05, "nesterovs_momentum": False, "momentum": 0.5},
]
ACTIVATIONS = ["relu", "tanh", "logistic", "identity"]


# Each solver with both losses, and each activation with each.
QUICK = [
    *((2, 0, "relu"), (3, 0, "logistic"), (2, 1, "identity"), (3, 1, "tanh")),
    *((2, 2, "logistic"), (3, 2, "relu")),
]


@pytest.mark.parametrize(
    "n_classes, solver, activation",
    slow_but(itertools.product([2, 3], range(3), ACTIVATIONS), *QUICK),
)
def test_classifiers_have_the_weights_of_scikit_learn(n_classes, solver, activation):
    X, y = make_data(n_classes)
    model = MLPClassifier((7, 5), activation=activation, max_iter=8, alpha=0.1, batch_size=32)
    assert_same(make_job(model.set_params(**SOLVERS[solver]), X, y))


@pytest.mark.parametrize("solver", SOLVERS)
def test_regressors_have_the_weights_of_scikit_learn(solver):
    X, _ = make_data()
    model = MLPRegressor(hidden_layer_sizes=9, max_iter=10, batch_size=24).set_params(**solver)
    assert_same(make_job(model, X, X @ np.arange(6) / 5))


@pytest.mark.parametrize(
    "batch_size, shuffle",
    slow_but(
        itertools.product(["auto", 1, 50, 100], [True, False]),
        *(("auto", True), (1, False), (50, True), (100, False)),
    ),
)
def test_batches_are_those_of_scikit_learn(batch_size, shuffle):
    X, y = make_data(n=40 if batch_size == 1 else 160)
    model = MLPClassifier(4, max_iter=3, batch_size=batch_size, shuffle=shuffle)
    assert_same(make_job(model, X, y))


def test_each_model_stops_at_its_own_epoch():
    X, y = make_data()
    model = MLPClassifier(6, tol=0.01, n_iter_no_change=3, learning_rate_init=0.02, max_iter=60)
    results = assert_same(make_job(model, X, y))
    assert len({result.model.n_iter_ for result in results.values()}) > 2
    ends = {result.model.n_iter_ == 60: bool(result.warnings) for result in results.values()}
    assert all(reached == warned for reached, warned in ends.items())


def test_the_limit_of_epochs_is_reported_as_a_warning():
    X, y = make_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = run(make_job(MLPClassifier(3, max_iter=2), X, y))
    for result in results.values():
        ((category, message),) = result.warnings
        assert category is ConvergenceWarning
        assert "(2) reached" in message


def make_frame(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), "wage": rng.normal(size=n)})
    # The rare towns are missing in some halves, whose tables are narrower.
    frame["town"] = rng.choice(["a", "b", "c", "d", "e"], n, p=[0.5, 0.3, 0.17, 0.02, 0.01])
    return frame, np.where(frame["wage"] + (frame["town"] == "a") > 0.3, "yes", "no")


def make_table_model(**encoding):
    columns = make_column_transformer(
        (StandardScaler(), ["age", "wage"]),
        (OneHotEncoder(handle_unknown="ignore", **encoding), ["town"]),
        sparse_threshold=1.0 if encoding.get("sparse_output", True) else 0.0,
    )
    return make_pipeline(columns, MLPClassifier(8, max_iter=6, batch_size=20))


@pytest.mark.parametrize("sparse_output", [pytest.param(False, marks=pytest.mark.slow), True])
def test_steps_of_a_pipeline_are_fitted_for_each_model(sparse_output):
    frame, y = make_frame()
    inside = draw_uneven(len(y), 3)
    model = make_table_model(sparse_output=sparse_output)
    results = assert_same(make_job(model, frame, y, inside))
    assert len({result.model[-1].n_features_in_ for result in results.values()}) > 1


def test_a_half_may_lack_a_class():
    X, y = make_data(3)
    inside = draw_uneven(len(y), 4)
    inside[1] &= y != 2
    assert_same(make_job(MLPClassifier(5, max_iter=5), X, y, inside))


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_single_precision_stays_single(kind):
    X, y = make_data()
    job = make_job(kind(hidden_layer_sizes=5, max_iter=5), X.astype(np.float32), y)
    together, alone = run_both(job)
    for k, expected in alone.items():
        for one, other in zip(together[k].model.coefs_, expected.model.coefs_, strict=True):
            assert one.dtype == other.dtype == np.float32
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)


def test_augmentations_are_answered():
    X, y = make_data()
    job = make_job(MLPClassifier(5, max_iter=5), X, y, more=[X + 0.1, -X])
    for result in assert_same(job).values():
        assert result.raw.shape == (2, 3, len(y))


@pytest.mark.parametrize("store", ["signals", "outputs"])
def test_only_what_is_asked_for_is_kept(store):
    X, y = make_data()
    together, alone = run_both(make_job(MLPClassifier(5, max_iter=5), X, y, store=store))
    for k, expected in alone.items():
        assert together[k].model is None
        assert (together[k].outputs is None) == (store == "signals")
        np.testing.assert_allclose(together[k].raw, expected.raw, rtol=1e-5, atol=1e-6)


@pytest.mark.slow  # test_states.py compares pools of one and two workers
@pytest.mark.usefixtures("copied_workers")
def test_workers_give_the_same_models_as_one_process():
    X, y = make_data()
    job = make_job(MLPClassifier(5, max_iter=5), X, y)
    one = run(job)
    two = run(job._replace(n_jobs=2))
    assert sorted(one) == sorted(two)
    assert all(np.array_equal(one[k].raw, two[k].raw) for k in one)


def test_a_part_of_the_models_is_the_part_of_all():
    X, y = make_data()
    job = make_job(MLPClassifier(5, max_iter=5), X, y)
    everything, some = run(job), run(job, [2, 1])
    assert sorted(some) == [1, 2]
    assert all(np.array_equal(everything[k].raw, some[k].raw) for k in some)
    assert run(job, []) == {}


@pytest.mark.parametrize("together", [1, 2])
def test_models_do_not_depend_on_how_many_are_trained_together(together, monkeypatch):
    X, y = make_data()
    job = make_job(MLPClassifier(5, max_iter=5), X, y)
    expected = run(job)
    monkeypatch.setattr(_way, "count_together", lambda network, n_jobs: together)
    results = run(job)
    assert all(np.array_equal(results[k].raw, expected[k].raw) for k in expected)


def test_records_of_models_together_stay_within_the_memory(monkeypatch):
    X, y = make_data()
    model = MLPClassifier(5, random_state=0)
    network = start_network(model, lambda: model.fit(X, y))
    assert count_together(network, 1) > 10
    room = 8 * len(X) * (X.shape[1] + 3)
    monkeypatch.setattr(_memory, "_BYTES_OF_RECORDS", 10 * room)
    assert [count_together(network, n_jobs) for n_jobs in (1, 2, 100)] == [10, 5, 1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_model_goes_on_and_is_pickled_as_a_fitted_one(solver):
    X, y = make_data()
    together, alone = run_both(make_job(MLPClassifier(5, max_iter=5).set_params(**solver), X, y))
    model, expected = pickle.loads(pickle.dumps(together[2].model)), alone[2].model
    assert_same_network(model.partial_fit(X, y), expected.partial_fit(X, y))


def test_global_generators_are_left_alone():
    X, y = make_data()
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    run(make_job(MLPClassifier(3, max_iter=2), X, y))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_a_model_that_diverges_fails_as_it_does_alone():
    X, _ = make_data()
    model = MLPRegressor(activation="identity", solver="sgd", learning_rate_init=1e3, max_iter=50)
    job = make_job(model, X, X[:, 0])
    for train in (run, training.run_alone):
        with pytest.raises(RuntimeError, match="could not be trained.*non-finite"):
            train(job)


def test_settings_that_scikit_learn_refuses_are_refused_in_its_words():
    X, y = make_data()
    with pytest.raises(RuntimeError, match="could not be trained.*'alpha' parameter"):
        run(make_job(MLPClassifier(5, alpha=-1), X, y))


class OwnClassifier(MLPClassifier):
    pass


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (MLPClassifier(solver="lbfgs"), "solver='lbfgs'"),
        (MLPClassifier(solver="sgd", learning_rate="adaptive"), "learning_rate='adaptive'"),
        (MLPClassifier(solver="sgd", learning_rate="invscaling"), "learning_rate='invscaling'"),
        (MLPClassifier(early_stopping=True), "early_stopping=True"),
        (MLPClassifier(warm_start=True), "warm_start=True"),
        (MLPClassifier(verbose=True), "verbose=True"),
        (OwnClassifier(), "OwnClassifier is neither"),
        (LogisticRegression(), "LogisticRegression is neither"),
        (make_pipeline(StandardScaler(), MLPClassifier(solver="lbfgs")), "solver='lbfgs'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(model, reason):
    X, y = make_data()
    refusal = PerceptronWay().why_not(make_job(model, X, y))
    assert reason.lower() in refusal.lower()
    assert refusal.endswith(".")


def test_a_newer_loss_is_refused():
    X, y = make_data()
    model = MLPRegressor()
    model.loss = "poisson"  # older versions of scikit-learn have no such parameter
    assert "poisson" in PerceptronWay().why_not(make_job(model, X, y))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (sparse.csr_array, "sparse"),
        (lambda X: X.astype(str), "values that are not numbers"),
        (lambda X: X.reshape(len(X), 3, 2), "3 dimensions"),
        (lambda X: pd.DataFrame(X).astype({0: "str"}), "values that are not numbers"),
    ],
)
def test_records_that_cannot_be_stacked_are_refused(change, reason):
    X, y = make_data()
    assert reason in PerceptronWay().why_not(make_job(MLPClassifier(), change(X), y))


def test_several_targets_are_refused():
    X, y = make_data()
    job = make_job(MLPClassifier(), X, np.column_stack([y, y]))
    assert "several targets" in PerceptronWay().why_not(job)
