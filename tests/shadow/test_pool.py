import pickle
import random
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from cells import slow_but
from refusals import check_refusal, parametrize_refusals
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, LiRA
from skmia.exceptions import TrainingError


@pytest.fixture(scope="module")
def records():
    X, y = make_classification(
        n_samples=60, n_features=6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )
    return Records(X.astype(np.float32), y)


@pytest.fixture(scope="module")
def regression():
    return Records(*make_regression(n_samples=60, n_features=5, noise=20.0, random_state=0))


def fit_pool(estimator, records, n_estimators=4, **settings):
    """A pool of models trained one by one; the batched backends have tests of their own."""
    settings = {"random_state": 0, "batched": False, **settings}
    return ShadowPool(estimator, n_estimators, **settings).fit(records)


def global_draws():
    """A classifier whose training and answers draw from the global generator of numpy.

    A local class is pickled by value, so that worker processes know it.
    """

    class GlobalDraws(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.coef_ = np.random.normal(size=(X.shape[1], len(self.classes_)))  # noqa: NPY002
            return self

        def predict_proba(self, X):
            z = X @ self.coef_ + np.random.normal(size=len(self.classes_))  # noqa: NPY002
            return np.exp(z - logsumexp(z, axis=1, keepdims=True))

        def predict(self, X):
            return self.classes_[self.predict_proba(X).argmax(axis=1)]

    return GlobalDraws()


def skorch_net():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    from skorch.toy import MLPModule

    return skorch.NeuralNetClassifier(
        MLPModule,
        criterion=torch.nn.CrossEntropyLoss,
        max_epochs=2,
        verbose=0,
        train_split=None,
        iterator_train__shuffle=True,
        module__input_units=6,
        module__output_units=3,
        module__dropout=0.2,
    )


STOCHASTIC = {
    "forest": lambda: RandomForestClassifier(5),
    "pipeline": lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", tol=None)),
    "skorch": skorch_net,
    "global": global_draws,
}


def all_states():
    found = [random.getstate(), *map(repr, np.random.get_state())]  # noqa: NPY002
    try:
        import torch
    except ImportError:
        return found
    return [*found, torch.random.get_rng_state().tolist()]


# What is computed


def scaled_logits_by_hand(z, columns):
    return [z[i, y] - logsumexp(np.delete(z[i], y)) for i, y in enumerate(columns)]


def test_signals_are_the_scaled_logits_of_models_trained_on_the_halves(records):
    model = LogisticRegression(C=3.0, tol=1e-8, max_iter=1000)
    pool = fit_pool(model, records, temperatures=(1.0, 2.0))
    assert pool.signals_.shape == (2, 1, 4, 60)
    assert pool.signals_.dtype == np.float32
    for k, inside in enumerate(pool.membership_):
        own = clone(model).fit(records.X[inside], records.y[inside])
        z = own.decision_function(records.X).astype(float)
        for t, temperature in enumerate((1, 2)):
            expected = scaled_logits_by_hand(z / temperature, records.y)
            np.testing.assert_allclose(pool.signals_[t, 0, k], expected, rtol=1e-3, atol=1e-3)


def test_forest_votes_are_smoothed_by_half_a_tree(records):
    pool = fit_pool(RandomForestClassifier(8), records, store="outputs")
    p = pool.outputs_[:, np.arange(60), records.y].astype(float)
    assert {0.0, 1.0} <= set(p.ravel())
    r = 1 / 8
    np.testing.assert_allclose(pool.resolution_[0], r, rtol=1e-5)
    np.testing.assert_allclose(
        pool.signals_[0, 0], np.log((p + r / 2) / (1 - p + r / 2)), rtol=1e-5, atol=1e-5
    )
    # At temperature 2 the other classes share the half step, and square roots are compared.
    others = [
        np.delete(pool.outputs_[:, i].astype(float), y, axis=1) for i, y in enumerate(records.y)
    ]
    rest = np.sum(np.sqrt(np.array(others) + r / 4), axis=2).T
    expected = np.log(np.sqrt(p + r / 2) / rest)
    np.testing.assert_allclose(pool.signals_[1, 0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("resolution", [0.02, 0.4])
def test_given_resolution_is_used(records, resolution):
    pool = fit_pool(RandomForestClassifier(8), records, store="outputs", resolution=resolution)
    p = pool.outputs_[:, np.arange(60), records.y].astype(float)
    expected = np.log((p + resolution / 2) / (1 - p + resolution / 2))
    np.testing.assert_allclose(pool.signals_[0, 0], expected, rtol=1e-5, atol=1e-5)


def test_smooth_models_are_not_smoothed(records):
    assert fit_pool(LogisticRegression(C=0.1), records).resolution_.tolist() == [0, 0]


@parametrize_refusals(
    (
        lambda records: ShadowPool.from_scores([[0.0]], [[1]], None),
        "Expected skmia.Records, got None",
        TypeError,
    ),
    (
        lambda records: fit_pool(DecisionTreeClassifier(), records, resolution=0),
        'resolution=0 leaves .* infinite, .* use resolution="auto"',
    ),
    (
        lambda records: ShadowPool(LogisticRegression(), 4).fit(records.X),
        r"Expected skmia.Records, got ndarray; .* Records\(X, y\)",
        TypeError,
    ),
    (
        lambda records: (
            RMIA(
                temperature=2.0,
                shadows=FrozenEstimator(
                    fit_pool(LogisticRegression(), records, temperatures=(1.0, 4.0))
                ),
            )
            .fit(records)
            .score_samples(records)
        ),
        r"stores the temperatures \(1.0, 4.0\), not 2.0",
    ),
    (
        lambda records: fit_pool(LogisticRegression(), records, augment=lambda some: [some[1:]]),
        "keep the number of records; it returned 59 of 60",
    ),
    (
        lambda records: fit_pool(LogisticRegression(), records, augment=lambda some: [some.X]),
        "Expected skmia.Records, got ndarray",
        TypeError,
    ),
)
def test_wrong_calls_with_records_are_refused(call, words, error, records):
    check_refusal(call, words, error, records)


def test_margins_of_classifiers_without_probabilities(records):
    pool = fit_pool(LinearSVC(), records, resolution=0.01)  # of no meaning to margins
    assert pool.signal_ == "hinge"
    for k, inside in enumerate(pool.membership_):
        own = clone(LinearSVC(random_state=0)).fit(records.X[inside], records.y[inside])
        z = own.decision_function(records.X)
        expected = [z[i, y] - np.delete(z[i], y).max() for i, y in enumerate(records.y)]
        np.testing.assert_allclose(pool.signals_[0, 0, k], expected, atol=0.02)


def test_log_residuals_of_regressors(regression):
    pool = fit_pool(LinearRegression(), regression)
    assert (pool.signal_, pool.classes_) == ("log_residual", None)
    residuals = []
    for inside in pool.membership_:
        own = LinearRegression().fit(regression.X[inside], regression.y[inside])
        residuals.append(regression.y - own.predict(regression.X))
    residuals = np.array(residuals)
    r = 0.1 * np.median(np.abs(residuals)[~pool.membership_])
    np.testing.assert_allclose(pool.resolution_, [r], rtol=1e-4)
    expected = -np.log(np.sqrt(residuals**2 + r**2))
    np.testing.assert_allclose(pool.signals_[0, 0], expected, rtol=1e-4)
    rms = np.sqrt(((residuals**2 + r**2)[~pool.membership_]).mean())
    np.testing.assert_allclose(pool.scale_, rms, rtol=1e-4)


@pytest.mark.parametrize("rounded", [False, True])
def test_interpolating_regressors_give_finite_evidence(regression, rounded):
    y = np.round(regression.y / 100) if rounded else regression.y
    records = Records(regression.X, y)
    pool = fit_pool(DecisionTreeRegressor(), records, 8)
    assert np.isfinite(pool.signals_).all()
    attack = LiRA(FrozenEstimator(DecisionTreeRegressor().fit(records.X, y)), FrozenEstimator(pool))
    assert np.isfinite(attack.fit(records).score_samples(records)).all()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        DecisionTreeClassifier(),
        GaussianNB(),
        LinearSVC(),
        KNeighborsClassifier(1),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("names", [[0, 1, 2], ["x", "y", "z"]])
def test_class_that_a_half_lacks_gives_finite_evidence(model, names):
    rng = np.random.default_rng(0)
    y = np.array(names)[np.repeat([0, 1, 2], [20, 20, 1])]
    records = Records(rng.normal(size=(41, 3)), y)
    pool = fit_pool(model, records, 6, store="outputs")
    alone = 40
    lacking = ~pool.membership_[:, alone]
    assert np.isfinite(pool.signals_).all()
    assert pool.classes_.tolist() == names
    assert pool.outputs_.shape == (6, 41, 3)
    evidence = pool.signals_[0, 0, :, alone]
    assert evidence[lacking].max() < evidence[~lacking].min()


def test_one_class_in_all_records_is_no_evidence():
    records = Records(np.arange(10.0)[:, None], ["only"] * 10)
    pool = fit_pool(DecisionTreeClassifier(), records)
    assert np.ptp(pool.signals_[0]) == np.ptp(pool.signals_[1]) == 0


@pytest.mark.parametrize("dtype", [np.float32, bool, str, object, "category"])
def test_labels_may_be_of_every_type(records, dtype):
    y = records.y > 0
    labels = pd.Series(np.where(y, "yes", "no")) if dtype in (str, object, "category") else y
    pool = fit_pool(LogisticRegression(), Records(records.X, labels.astype(dtype)))
    for k, inside in enumerate(pool.membership_):
        own = LogisticRegression().fit(records.X[inside], y[inside])
        z = own.decision_function(records.X)
        expected = np.where(y, z, -z)
        np.testing.assert_allclose(pool.signals_[0, 0, k], expected, rtol=1e-4, atol=1e-4)


def test_order_of_the_records_does_not_matter(records):
    order = np.random.default_rng(0).permutation(60)
    pool, shuffled = (fit_pool(LogisticRegression(), some) for some in (records, records[order]))
    np.testing.assert_array_equal(shuffled.membership_, pool.membership_[:, order])
    np.testing.assert_allclose(shuffled.signals_, pool.signals_[..., order], rtol=1e-2, atol=1e-2)


def test_models_of_a_table(records):
    table = pd.DataFrame(records.X, columns=list("abcdef"))
    pool = fit_pool(LogisticRegression(), Records(table, records.y), store="models")
    assert pool.estimators_[0].feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_allclose(
        pool.signals_, fit_pool(LogisticRegression(), records).signals_, rtol=1e-5, atol=1e-5
    )


# Randomness


# A new process imports torch for seconds, and a copy of this one knows it. The others are new ones.
WORKERS = dict.fromkeys(("forest", "skorch"), "multiprocessing")


@pytest.mark.parametrize("name", slow_but(STOCHASTIC, "forest", "pipeline", "global"))
def test_number_of_workers_changes_nothing(records, name):
    with joblib.parallel_config(WORKERS.get(name, "loky")):
        pools = [fit_pool(STOCHASTIC[name](), records, n_jobs=n_jobs) for n_jobs in (1, 2)]
    np.testing.assert_array_equal(pools[0].signals_, pools[1].signals_)
    np.testing.assert_array_equal(pools[0].membership_, pools[1].membership_)
    other = fit_pool(STOCHASTIC[name](), records, random_state=1)
    assert (other.signals_ != pools[0].signals_).any()


def test_every_model_draws_anew(records):
    # What these models answer does not depend on their halves.
    pool = fit_pool(global_draws(), records, 8)
    assert len(np.unique(pool.signals_[0, 0], axis=0)) == 8


def test_seed_of_the_estimator_is_not_that_of_every_model():
    # Two records: each half is the one or the other, so that eight models have two training sets.
    records = Records([[0.0, 1.0], [1.0, 0.0]], [0, 0])
    model = RandomForestClassifier(3, random_state=0)
    pool = fit_pool(model, records, 8, store="models")
    assert len({model.random_state for model in pool.estimators_}) == 8


def test_threads_give_the_same_numbers_and_leave_no_trace(records):
    expected = fit_pool(global_draws(), records, 8)
    states, filters = all_states(), list(warnings.filters)
    with joblib.parallel_config(backend="threading"):
        pool = fit_pool(global_draws(), records, 8, n_jobs=4)
    np.testing.assert_array_equal(pool.signals_, expected.signals_)
    assert all_states() == states
    assert warnings.filters == filters


@pytest.mark.parametrize("name", STOCHASTIC)
def test_global_generators_are_left_as_they_were(records, name):
    estimator = STOCHASTIC[name]()
    before = all_states()
    pool = fit_pool(estimator, records, n_jobs=1, store="models")
    assert all_states() == before
    pool.transform(Records(records.X[:3] + 1, records.y[:3]))
    assert all_states() == before


def test_smaller_pool_is_the_beginning_of_a_larger_one(records):
    for model in (LogisticRegression(), RandomForestClassifier(5)):
        small, large = fit_pool(model, records, 4), fit_pool(model, records, 8)
        np.testing.assert_array_equal(small.membership_, large.membership_[:4])
        np.testing.assert_array_equal(small.signals_, large.signals_[:, :, :4])


def test_second_fit_equals_the_first_and_changes_no_parameter(records):
    model = RandomForestClassifier(5, random_state=7, n_jobs=2)
    pool = ShadowPool(model, 4, random_state=0)
    first = pool.fit(records).signals_
    np.testing.assert_array_equal(pool.fit(records).signals_, first)
    assert (model.random_state, model.n_jobs) == (7, 2)
    assert not hasattr(model, "estimators_")


@pytest.mark.parametrize(
    "wrap", [FrozenEstimator, lambda model: FrozenEstimator(FrozenEstimator(model))]
)
def test_frozen_and_fitted_models_are_trained_anew(records, wrap):
    model = LogisticRegression()
    fitted = wrap(LogisticRegression().fit(records.X, records.y))
    np.testing.assert_array_equal(
        fit_pool(fitted, records).signals_, fit_pool(model, records).signals_
    )


# What is kept


def test_whatever_is_stored_the_signals_are_the_same(records):
    pools = {
        store: fit_pool(RandomForestClassifier(5), records, store=store)
        for store in ("signals", "outputs", "models")
    }
    for pool in pools.values():
        np.testing.assert_array_equal(pool.signals_, pools["signals"].signals_)
    np.testing.assert_array_equal(
        pools["outputs"].answers(records),
        np.float32([model.predict_proba(records.X) for model in pools["models"].estimators_]),
    )
    np.testing.assert_allclose(
        pools["models"].answers(records), pools["outputs"].answers(records), rtol=1e-6
    )
    with pytest.raises(ValueError, match='need store="outputs" or store="models"'):
        pools["signals"].answers(records)


def test_transform_selects_the_columns_of_any_records_of_the_pool(records):
    pool = fit_pool(RandomForestClassifier(5), records)
    everything = pool.transform(records)
    np.testing.assert_array_equal(everything, pool.signals_[0, 0].T)
    rows = [5, 59, 5, 0]
    np.testing.assert_array_equal(pool.transform(records[rows]), everything[rows])
    np.testing.assert_array_equal(pool.membership(records[rows]), pool.membership_.T[rows])
    np.testing.assert_array_equal(pool.transform(records[3]), everything[[3]])
    again = Records(records.X.copy(), records.y)
    np.testing.assert_array_equal(pool.transform(again), everything)


def test_what_transform_returns_is_the_callers_own(records):
    pool = fit_pool(LogisticRegression(), records)
    kept = pool.signals_.copy()
    pool.transform(records)[:] = 0
    np.testing.assert_array_equal(pool.signals_, kept)


def test_records_new_to_the_pool_need_its_models(records):
    new = Records(records.X[:5] + 1, records.y[:5])
    mixed = Records.concat([records[:2], new])
    pool = fit_pool(LogisticRegression(), records)
    for call in (pool.transform, lambda some: pool.values(some)):
        with pytest.raises(ValueError, match='5 of 7 records .* first at position 2; .*"models"'):
            call(mixed)
    assert pool.membership(mixed).sum(axis=1).tolist() == [2, 2, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(5), LinearSVC()])
def test_models_are_asked_about_new_records(records, model):
    pool = fit_pool(model, records[:50], store="models")
    new = records[45:]
    evidence = pool.transform(new)
    np.testing.assert_array_equal(evidence[:5], pool.transform(records[45:50]))
    # The evidence of a record does not depend on those it is asked about with.
    one_by_one = np.vstack([pool.transform(new[i]) for i in range(len(new))])
    np.testing.assert_allclose(one_by_one, evidence, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_models_asked_again_say_what_they_said_in_fit(records, temperature):
    pool = fit_pool(RandomForestClassifier(5), records, store="models")
    asked = pool.to_answers()._ask_models(records, pool.temperatures_.index(temperature))
    np.testing.assert_allclose(asked, pool.values(records, ("auto", temperature)), rtol=1e-6)


@pytest.mark.parametrize(
    "attack, model",
    [(LiRA(), LogisticRegression()), (RMIA(), RandomForestClassifier(5))],
    ids=["LiRA", "RMIA"],
)
def test_score_of_a_record_does_not_depend_on_its_company(records, attack, model):
    # A forest as victim answers 0 and 1, whatever the shadow models do.
    pool = fit_pool(model, records, 8)
    victim = RandomForestClassifier(20, random_state=0).fit(records.X[::2], records.y[::2])
    attack = clone(attack).set_params(victim=FrozenEstimator(victim), shadows=FrozenEstimator(pool))
    scores = attack.fit(records).score_samples(records)
    alone = np.concatenate([attack.score_samples(records[i]) for i in range(0, 60, 4)])
    # Evidence is stored in single precision, in which sums depend on their order.
    np.testing.assert_allclose(alone, scores[::4], rtol=1e-5, atol=1e-5)
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(
        attack.score_samples(records[order]), scores[order], rtol=1e-5, atol=1e-5
    )


def test_pool_of_given_scores_equals_the_pool_that_computed_them(records):
    pool = fit_pool(RandomForestClassifier(5), records, store="outputs")
    y = records.y
    with np.errstate(divide="ignore"):
        raw = [Outputs(p.astype(float), [0, 1, 2]).scaled_logit(y) for p in pool.outputs_]
    given = ShadowPool.from_scores(raw, pool.membership_, records)
    np.testing.assert_allclose(given.resolution_, pool.resolution_[:1], rtol=1e-5)
    np.testing.assert_allclose(given.signals_, pool.signals_[:1], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(given.membership(records), pool.membership(records))
    victim = FrozenEstimator(RandomForestClassifier(5, random_state=0).fit(records.X, y))
    scores = [
        LiRA(victim, FrozenEstimator(some), likelihood="normal").fit(records).score_samples(records)
        for some in (pool, given)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-3)


def test_model_trained_on_one_of_two_equal_records_was_trained_on_both():
    records = Records([[5.0], [1.0], [5.0], [2.0]], [0, 0, 0, 0])
    pool = ShadowPool.from_scores(
        np.zeros((3, 4)), [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]], records
    )
    assert pool.membership_.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 1]]
    np.testing.assert_array_equal(pool.membership(records), pool.membership_.T)


@pytest.mark.parametrize("resolution", ["fine", -0.1, None])
def test_resolution_of_given_scores_is_a_number(resolution):
    with pytest.raises(ValueError, match="must be .auto. or a finite number of at least 0"):
        ShadowPool.from_scores([[0.0]], [[1]], Records([[1.0]], [0]), resolution=resolution)


@pytest.mark.parametrize(
    "scores, membership, message",
    [
        (np.zeros((3, 59)), np.ones((3, 59)), r"shape \(n_estimators, 60\); got \(3, 59\)"),
        (np.zeros((3, 60)), np.ones((4, 60)), r"got \(3, 60\) and \(4, 60\)"),
        (np.zeros(60), np.ones(60), r"got \(60,\) and \(60,\)"),
        (np.full((2, 60), np.nan), np.ones((2, 60)), "scores holds 120 NaN"),
        (np.zeros((2, 60)), np.full((2, 60), 2), "membership must be 1 where"),
    ],
)
def test_unusable_scores_are_refused(records, scores, membership, message):
    with pytest.raises(ValueError, match=message):
        ShadowPool.from_scores(scores, membership, records)


def test_cloning_a_frozen_pool_copies_nothing(records):
    pool = fit_pool(LogisticRegression(), records)
    assert clone(FrozenEstimator(pool)).estimator is pool
    attack = clone(LiRA(shadows=FrozenEstimator(pool)))
    assert attack.shadows.estimator.signals_ is pool.signals_


def test_pickled_pool_gives_the_same_evidence(records):
    pool = fit_pool(RandomForestClassifier(5), records, store="models")
    again = pickle.loads(pickle.dumps(pool))
    np.testing.assert_array_equal(again.transform(records), pool.transform(records))
    new = Records(records.X[:4] + 1, records.y[:4])
    np.testing.assert_array_equal(again.transform(new), pool.transform(new))


def test_clone_is_not_fitted(records):
    pool = clone(fit_pool(LogisticRegression(), records))
    for call in (pool.transform, pool.membership):
        with pytest.raises(NotFittedError):
            call(records)


def test_columns_have_names(records):
    pool = fit_pool(LogisticRegression(), records).set_output(transform="pandas")
    assert pool.transform(records).columns.tolist() == ["shadow0", "shadow1", "shadow2", "shadow3"]


# What the user sees


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_the_models_are_passed_on_once(records, n_jobs):
    with pytest.warns(ConvergenceWarning, match="^4 of 4 shadow models: .*Maximum iter") as caught:
        fit_pool(MLPClassifier((3,), max_iter=2), records, n_jobs=n_jobs)
    assert len(caught) == 1
    assert caught[0].filename == __file__


class WarnsTwice(DecisionTreeClassifier):
    def fit(self, X, y):
        warnings.warn("a step complains", UserWarning, stacklevel=1)
        warnings.warn("a step complains", UserWarning, stacklevel=1)
        return super().fit(X, y)


def test_a_model_that_warns_twice_of_one_thing_counts_once(records):
    with pytest.warns(UserWarning, match="^4 of 4 shadow models: a step complains"):
        fit_pool(WarnsTwice(), records)


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_is_shown_on_demand(records, verbose, capsys, monkeypatch):
    monkeypatch.setattr("skmia._core.progress.draws_bars", lambda file=None: True)
    fit_pool(LogisticRegression(), records, verbose=verbose)
    shown = capsys.readouterr().err
    assert ("shadow models: 100%" in shown and "4/4" in shown) == bool(verbose)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_model_that_cannot_be_trained_is_explained(n_jobs):
    # Each half of one record of each class holds a single class.
    records = Records(np.eye(2), ["a", "b"])
    message = (
        r"shadow model \(LogisticRegression\) could not be trained on its 1 of 2 records with 1 "
        "different labels: ValueError: .* at least 2 classes"
    )
    with pytest.raises(TrainingError, match=message) as raised:
        # An error ends all workers; a pool of copies of this process may wait for itself then.
        with joblib.parallel_config("loky"):
            fit_pool(LogisticRegression(), records, n_jobs=n_jobs)
    # Workers send it.
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), str(again)) == (TrainingError, str(raised.value))


def test_models_that_only_predict_are_compared_by_their_labels(records):
    class LabelOnly(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    pool = fit_pool(LabelOnly(), records)
    assert (pool.signal_, pool.output_kind_) == ("correctness", "label")
    right = records.y == np.unique(records.y)[0]
    np.testing.assert_array_equal(
        pool.values(records)[0], np.tile(right, (len(pool.signals_[0, 0]), 1))
    )
    with pytest.raises(ValueError, match="models of this pool return labels alone"):
        fit_pool(LabelOnly(), records, store="outputs")


def test_models_that_answer_nan_are_refused(regression):
    class Broken(LinearRegression):
        def predict(self, X):
            return np.where(X[:, 0] > 0, np.nan, 0.0)

    n_bad = (regression.X[:, 0] > 0).sum()
    with pytest.raises(ValueError, match=f"model returned NaN for {n_bad} of 60 records"):
        fit_pool(Broken(), regression)


def test_models_that_answer_infinity_are_refused(regression):
    class Broken(LinearRegression):
        def predict(self, X):
            return np.where(X[:, 0] > 0, np.inf, 0.0)

    n_bad = 4 * (regression.X[:, 0] > 0).sum()
    with pytest.raises(ValueError, match=f"{n_bad} answers of the shadow models are .*infinite"):
        fit_pool(Broken(), regression)


# Augmentations


def mirrored(records):
    return [Records(-records.X, records.y), Records(2 * records.X, records.y)]


@pytest.mark.parametrize(
    "params, message",
    [
        ({"temperatures": (True,)}, "one or more positive numbers"),
        ({"temperatures": (1.0, np.inf)}, "one or more positive numbers"),
        ({"temperatures": (1, 1.0)}, "different numbers"),
        ({"n_jobs": True}, "'n_jobs' parameter of ShadowPool must not be a boolean"),
    ],
)
def test_booleans_are_not_numbers_and_temperatures_differ(records, params, message):
    with pytest.raises(ValueError, match=message):
        fit_pool(LogisticRegression(), records, **params)


def test_every_augmentation_is_a_query(records):
    pool = fit_pool(LogisticRegression(), records, augment=mirrored)
    assert pool.signals_.shape == (2, 3, 4, 60)
    plain = fit_pool(LogisticRegression(), records, store="models")
    np.testing.assert_array_equal(pool.signals_[:, 0], plain.signals_[:, 0])
    for query, X in ((1, -records.X), (2, 2 * records.X)):
        expected = plain.transform(Records(X, records.y))
        np.testing.assert_allclose(pool.signals_[0, query].T, expected, rtol=1e-5, atol=1e-5)


def test_new_records_are_augmented_too(records):
    pool = fit_pool(LogisticRegression(), records[:50], augment=mirrored, store="models")
    new = records[50:]
    asked = pool.values(new)
    assert asked.shape == (3, 4, 10)
    np.testing.assert_allclose(asked[1].T, pool.transform(mirrored(new)[0]), rtol=1e-5)


def test_victim_is_asked_about_augmentations(records):
    pool = fit_pool(LogisticRegression(), records, augment=lambda some: mirrored(some)[0])
    victim = FrozenEstimator(LogisticRegression().fit(records.X, records.y))
    assert pool.victim_values(victim, records).shape == (2, 60)
    with pytest.raises(ValueError, match="augmentations, .* pass the victim instead of stored"):
        pool.victim_values(None, records.with_outputs(victim))


def test_forest_of_regression_trees(regression):
    pool = fit_pool(RandomForestRegressor(5), regression, 8)
    inside, outside = pool.membership_, ~pool.membership_
    assert pool.signals_[0, 0][inside].mean() > pool.signals_[0, 0][outside].mean() + 0.2


def test_the_way_of_training_is_chosen_and_explained(records):
    linear = fit_pool(LogisticRegression(), records, batched="auto")
    assert (linear.backend_, linear.backend_reason_) == (
        "linear",
        "it trains many of these models at once",
    )
    forest = fit_pool(RandomForestClassifier(3), records, batched="auto")
    assert forest.backend_ == "joblib"
    assert "linear: RandomForestClassifier is none of" in forest.backend_reason_
    assert fit_pool(LogisticRegression(), records).backend_reason_ == "batched=False"
    with pytest.raises(ValueError, match="batched=True is not possible here; linear: RandomFor"):
        fit_pool(RandomForestClassifier(3), records, batched=True)


def test_models_solved_together_are_those_solved_one_by_one(records):
    # In float64: scikit-learn's own solver stops short of the optimum in single precision.
    records = Records(records.X.astype(np.float64), records.y)
    model = LogisticRegression(tol=1e-10, max_iter=1000)
    one_by_one = fit_pool(model, records)
    together = fit_pool(model, records, batched=True)
    np.testing.assert_array_equal(together.membership_, one_by_one.membership_)
    np.testing.assert_allclose(together.signals_, one_by_one.signals_, atol=1e-3)


def test_the_first_models_are_a_pool_that_copies_nothing(records):
    pool = fit_pool(LogisticRegression(), records, 8, store="models")
    for n in (0, -1, len(pool.membership_) + 1):
        with pytest.raises(ValueError, match="n_estimators must be an integer from 1 to"):
            pool.first(n)
    first = pool.first(4)
    assert len(first.estimators_) == first.n_estimators == 4
    np.testing.assert_array_equal(first.transform(records), pool.transform(records)[:, :4])
    assert np.shares_memory(first.signals_, pool.signals_)
    assert pool.n_estimators == 8


# Callbacks of scikit-learn 1.9


class Told:
    """A callback that notes what it is told."""

    def __init__(self):
        self.said = []

    def setup(self, estimator, context):
        self.said.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.said.append((context.task_name, context.max_subtasks, X is not None))

    def on_fit_task_end(self, estimator, context):
        self.said.append(f"end of {context.task_name}")
        return True  # a request to stop, which a pool does not follow

    def teardown(self, estimator, context):
        self.said.append("teardown")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_are_told_of_each_model(records, n_jobs):
    pytest.importorskip("sklearn.callback")
    told, alone = Told(), fit_pool(GaussianNB(), records)
    pool = ShadowPool(GaussianNB(), 4, random_state=0, batched=False, n_jobs=n_jobs)
    with joblib.parallel_config("threading"):
        pool.set_callbacks(told).fit(records)
    assert told.said == [
        "setup",
        ("fit", 4, True),
        *4 * [("shadow model", 0, False), "end of shadow model"],
        "end of fit",
        "teardown",
    ]
    np.testing.assert_array_equal(pool.signals_, alone.signals_)
    assert not hasattr(pickle.loads(pickle.dumps(pool)), "_callback_fit_ctx")


def test_callbacks_are_torn_down_after_an_error(records):
    pytest.importorskip("sklearn.callback")
    told = Told()
    with pytest.raises(TrainingError):
        ShadowPool(GaussianNB(priors=[0.5]), 4, batched=False).set_callbacks(told).fit(records)
    assert told.said[0] == "setup" and told.said[-1] == "teardown"
