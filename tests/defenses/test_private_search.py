"""A search over private estimators: its laws, its cost, and that it can stand in for others."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skmia import Records
from skmia._core.accountant import (
    ORDERS,
    compute_divergences,
    convert_divergences,
    spent_epsilon,
)
from skmia.defenses import DPSGDClassifier, PrivacyLedger, PrivateSearchCV
from skmia.defenses._trial_laws import NegativeBinomialTrials, PoissonTrials
from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn

pytest.importorskip("opacus")


class NoisyCentroids(ClassifierMixin, BaseEstimator):
    """Nearest of the sums of clipped rows of two classes or more, with normal noise."""

    def __init__(self, norm=1.0, noise=3.0, keep_labels=True):
        self.norm = norm
        self.noise = noise
        self.keep_labels = keep_labels

    def plan_steps(self, X, y):
        return [(self.noise, 1.0, 1)]

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        X = X * np.minimum(1, self.norm / np.maximum(norms, 1e-12))
        sums = np.stack([X[codes == k].sum(axis=0) for k in range(len(self.classes_))])
        scale = self.noise * self.norm
        self.centers_ = sums + np.random.default_rng().normal(0, scale, sums.shape)
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.classes_[(X @ self.centers_.T).argmax(axis=1)]


QUANTILES = (1e-12, 1e-3, 0.1, 0.5, 0.7, 0.99, 1 - 1e-9)
GRID = {"norm": [0.5, 1.0, 2.0, 4.0]}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, (X[:, 0] > 0).astype(int)


# The laws, against scipy's and against tables of the paper


@pytest.mark.parametrize("eta", [-0.5, 0.0, 1e-9, 0.5, 1.0, 3.0])
def test_trials_have_their_law(eta):
    law = NegativeBinomialTrials(16.0, eta)
    uniform = (np.arange(1001) + 0.5) / 1001
    gamma = np.exp(law.log_gamma)
    drawn = np.array([law.draw(u) for u in uniform])
    assert drawn.min() == 1
    if eta <= 1e-9 and eta >= 0:
        expected = stats.logser(1 - gamma).cdf
    elif eta > 0:
        whole = stats.nbinom(eta, gamma)

        def expected(k):
            return (whole.cdf(k) - whole.pmf(0)) / (1 - whole.pmf(0))

    else:  # no law of scipy's: ratios of neighboring probabilities as the paper has them
        k = np.arange(1, 200_000)
        ratios = (1 - gamma) * (k + eta) / (k + 1)
        shares = np.r_[1.0, np.cumprod(ratios)]
        shares /= shares.sum()

        def expected(k):
            return shares[:k].sum()

    for k in (1, 2, 5, 20, 60):
        assert np.mean(drawn <= k) == pytest.approx(expected(k), abs=5e-4)


# exp(-mean) is subnormal from 709 on, and 0 from 746.
@pytest.mark.parametrize("mean", [1.5, 16.0, 700.0, 745.0, 746.0, 1000.0, 5000.0])
def test_poisson_trials_are_scipys_quantiles_of_their_law(mean):
    law = PoissonTrials(mean)
    for level in QUANTILES:
        assert law.draw(1 - level) == stats.poisson(mean).ppf(level)


@pytest.mark.parametrize(
    ("mean", "eta"), [(16.0, 1.0), (1000.0, 3.0), (1000.0, 10.0), (64.0, 100.0), (1.1, 100.0)]
)
def test_trials_of_a_law_that_rises_first_are_scipys_quantiles(mean, eta):
    law = NegativeBinomialTrials(mean, eta)
    whole = stats.nbinom(eta, np.exp(law.log_gamma))
    for level in QUANTILES:
        assert law.draw(1 - level) == whole.ppf(whole.pmf(0) + level * whole.sf(0))


def test_drawn_numbers_of_trials_have_the_probabilities_of_the_law():
    uniforms = np.random.default_rng(0).random((300, 2))
    drawn = np.array([PoissonTrials(800.0).draw(*pair) for pair in uniforms])
    edges = stats.poisson(800).ppf(np.linspace(0, 1, 21)[1:-1])
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=20)
    shares = np.diff(stats.poisson(800).cdf(np.r_[-1, edges, np.inf]))
    assert stats.chisquare(seen, 300 * shares).pvalue > 1e-3


def test_the_second_half_of_the_bits_decides_in_the_tail():
    law = NegativeBinomialTrials(2.0, 1.0)  # geometric: log2(1 / uniform) trials, of halves
    numbers = [(0.5, 0.0), (2.0**-53, 0.0), (0.0, 0.5), (0.0, 2.0**-53), (0.0, 0.0)]
    assert [law.draw(*pair) for pair in numbers] == [1, 53, 54, 106, 107]


def test_trials_of_every_allowed_mean_and_shape_have_a_law():
    # A shape next to -1 has a gamma below every float, and one next to 0 is nearly logarithmic.
    for eta in (0.0, 5e-324):
        law = NegativeBinomialTrials(1000.0, eta)
        assert law.draw(0.3) == stats.logser(-np.expm1(law.log_gamma)).ppf(0.7)
    assert NegativeBinomialTrials(1e6, -1 + 2.0**-53).draw(0.3) == 1
    for eta in (-1 + 2.0**-53, 0.0, 100.0):
        assert NegativeBinomialTrials(1 + 2.0**-52, eta).draw(0.3) == 1
    assert NegativeBinomialTrials(1000.0, -0.999).log_gamma == pytest.approx(
        (np.log(0.999) - np.log(1000)) / 0.001
    )


@pytest.mark.parametrize("eta", [-0.9, -0.5, 0.0, 1.0, 5.0])
@pytest.mark.parametrize("mean", [1.01, 2.0, 16.0, 1e4])
def test_the_mean_is_what_was_asked_for(mean, eta):
    gamma = np.exp(NegativeBinomialTrials(mean, eta).log_gamma)
    assert 0 < gamma < 1
    if eta == 0:
        assert (1 / gamma - 1) / np.log(1 / gamma) == pytest.approx(mean)
    else:
        assert eta * (1 - gamma) / gamma / (1 - gamma**eta) == pytest.approx(mean)


@pytest.mark.parametrize(
    ("noise", "costs"),
    [(4.9699, (1.17, 0.95, 0.82)), (2.7140, (2.23, 1.82, 1.59)), (1.0364, (7.71, 6.62, 5.96))],
)
def test_the_best_of_sixteen_costs_little_more_than_two(noise, costs):
    # One fit of 1,000 steps at a sampling rate of .02 costs .5, 1 and 4 at a delta of 1e-5.
    divergences = compute_divergences([(noise, 0.02, 1000)])
    for eta, cost in zip((1.0, 0.0, -0.5), costs, strict=True):
        whole = NegativeBinomialTrials(16.0, eta).spend(divergences)
        assert convert_divergences(whole, 1e-5) == pytest.approx(cost, rel=0.02)


@pytest.mark.parametrize("law", [NegativeBinomialTrials(8.0, e) for e in (-0.5, 0.0, 1.0)])
@pytest.mark.parametrize("noise", [1.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_the_exact_divergence_of_the_best_of_normal_numbers_is_below_the_bound(law, noise):
    # The largest of K normal numbers, with the mean 0 or 1, by its law in full.
    k = np.arange(1, 2000)
    log_ratio = np.log(-np.expm1(law.log_gamma) * (k[:-1] + law.eta) / (k[:-1] + 1))
    shares = np.exp(np.r_[0.0, np.cumsum(log_ratio)])
    shares /= shares.sum()
    x = np.linspace(-20 * noise, 20 * noise + 1, 501)

    def log_density(mean):
        below, at = stats.norm.logcdf(x, mean, noise), stats.norm.logpdf(x, mean, noise)
        logs = np.log(shares * k)[:, None] + (k[:, None] - 1) * below
        return at + logsumexp(logs, axis=0)

    p, q = log_density(1.0), log_density(0.0)
    bound = law.spend(compute_divergences([(noise, 1.0, 1)]))
    for order in (2.0, 4.0, 8.0):
        place = int(np.flatnonzero(np.isclose(ORDERS, order))[0])
        for one, other in ((p, q), (q, p)):
            integral = logsumexp(order * one + (1 - order) * other) + np.log(x[1] - x[0])
            assert integral / (order - 1) <= bound[place] * 1.0001


# The search


def test_a_search_costs_a_third_of_what_its_fits_would(table):
    search = PrivateSearchCV(NoisyCentroids(noise=4.0), GRID).fit(*table)
    one = spent_epsilon([(4.0, 1.0, 1)], search.delta_, "rdp")
    fits = spent_epsilon([(4.0, 1.0, 49)], search.delta_, "rdp")
    assert one < search.epsilon_ < fits / 3
    assert search.best_params_["norm"] in GRID["norm"]
    assert search.score(*table) > 0.8
    # Nothing of the other trials, and not how many there were.
    assert len(search.cv_results_["params"]) == 1
    assert search.cv_results_["params"][search.best_index_] == search.best_params_
    assert not any("trials" in name for name in vars(search) if name.endswith("_"))


class WithLedger(NoisyCentroids):
    """The same with a ledger, into which it would write each of its fits."""

    def __init__(self, norm=1.0, noise=3.0, keep_labels=True, ledger=None):
        super().__init__(norm, noise, keep_labels)
        self.ledger = ledger

    def fit(self, X, y):
        if self.ledger is not None:
            self.ledger.record(
                noise_multiplier=self.noise, sample_rate=1.0, n_steps=1, n_rows=len(X)
            )
        return super().fit(X, y)


def test_a_ledger_counts_a_search_once(table, tmp_path):
    ledger = PrivacyLedger(tmp_path / "rows.jsonl")
    search = PrivateSearchCV(WithLedger(ledger=ledger), GRID, target_delta=1e-4).fit(*table)
    again = PrivacyLedger(tmp_path / "rows.jsonl")
    assert again.read()["kind"].tolist() == ["search"]
    assert again.epsilon(1e-4) == pytest.approx(search.epsilon_)
    # Together with another fit it costs more than each, and less than their sum.
    WithLedger(ledger=ledger).fit(*table)
    one = spent_epsilon([(3.0, 1.0, 1)], 1e-4, "rdp")
    assert search.epsilon_ < again.epsilon(1e-4) < search.epsilon_ + one
    assert again.epsilon(1e-4, accountant="prv") == again.epsilon(1e-4)
    search.set_params(noise_seed=0).fit(*table)
    assert again.epsilon(1e-4) == np.inf


def test_a_limit_of_a_ledger_refuses_a_search(table, tmp_path):
    ledger = PrivacyLedger(tmp_path / "rows.jsonl", max_epsilon=0.5, delta=1e-4)
    search = PrivateSearchCV(WithLedger(ledger=ledger), GRID, target_delta=1e-4)
    with pytest.raises(ValueError, match="max_epsilon"):
        search.fit(*table)
    assert not hasattr(search, "best_estimator_")


def test_candidates_that_cost_most_decide_what_is_claimed(table):
    one = PrivateSearchCV(NoisyCentroids(), {"noise": [2.0]}).fit(*table)
    both = PrivateSearchCV(NoisyCentroids(), {"noise": [2.0, 50.0]}).fit(*table)
    assert both.epsilon_ == one.epsilon_


def test_the_score_on_public_rows_is_free_and_that_on_others_has_noise(table):
    X, y = table
    public = Records(X[200:], y[200:])
    of_public = PrivateSearchCV(NoisyCentroids(), GRID, public=public).fit(X[:200], y[:200])
    assert (of_public.best_score_ * 200) % 1 == pytest.approx(0, abs=1e-9)
    held_out = [PrivateSearchCV(NoisyCentroids(), GRID).fit(X, y) for _ in range(5)]
    assert any((one.best_score_ * 80) % 1 > 1e-6 for one in held_out)


def test_the_best_trial_is_released():
    # Scores on public rows: the norm decides which candidate is right.
    X, y = np.r_[np.ones((50, 1)), -np.ones((50, 1))], np.repeat([1, 0], 50)

    class Known(NoisyCentroids):
        def predict(self, X):
            return np.where(X[:, 0] > 0, 1, 0) if self.norm == 2.0 else np.zeros(len(X), int)

    # No trial has this norm with a probability of exp(-60 / 4); the draw has no seed.
    law = {"law": "poisson", "mean_trials": 60}
    search = PrivateSearchCV(Known(), GRID, **law, public=Records(X, y))
    assert search.fit(X, y).best_params_ == {"norm": 2.0}
    assert search.best_score_ == 1.0


def test_a_seed_repeats_a_search_and_voids_its_guarantee(table):
    settings = {"noise_seed": 3, "public": Records(*table)}

    class Quiet(NoisyCentroids):
        def fit(self, X, y):
            super().fit(X, y)
            self.centers_ = np.zeros_like(self.centers_)
            return self

    found = [PrivateSearchCV(Quiet(), GRID, **settings).fit(*table) for _ in range(2)]
    assert found[0].best_params_ == found[1].best_params_
    assert found[0].epsilon_ == np.inf


def test_trials_at_once_are_the_same(table):
    settings = {"noise_seed": 5, "mean_trials": 6, "public": Records(*table)}
    search = PrivateSearchCV(DummyTrials(), {"constant": [0, 1]}, **settings)
    one = clone(search).fit(*table)
    with joblib.parallel_config("threading"):
        two = clone(search).set_params(n_jobs=2).fit(*table)
    assert one.best_params_ == two.best_params_
    assert one.best_score_ == two.best_score_


class DummyTrials(ClassifierMixin, BaseEstimator):
    """A classifier that learns nothing."""

    def __init__(self, constant=0):
        self.constant = constant

    def plan_steps(self, X, y):
        return [(1.0, 1.0, 1)]

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.full(len(X), self.constant)


def test_what_all_candidates_would_warn_of_is_said_once(table):
    class WarningCentroids(NoisyCentroids):
        def plan_steps(self, X, y):
            warnings.warn("the plan depends on the rows", UserWarning, stacklevel=2)
            return super().plan_steps(X, y)

    search = PrivateSearchCV(WarningCentroids(), {"noise": [3.0, 4.0, 5.0]}, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        search.fit(*table)
    assert [str(one.message) for one in said] == ["the plan depends on the rows"]


def test_warnings_of_trials_do_not_tell_their_number(table):
    class Warns(NoisyCentroids):
        def fit(self, X, y):
            warnings.warn("once a trial", UserWarning, stacklevel=1)
            return super().fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateSearchCV(Warns(), GRID).fit(*table)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scoring": "roc_auc"}, "public=Records"),
        ({"mean_trials": 1}, "mean_trials"),
        ({"eta": -1}, "eta"),
        ({"law": "geometric"}, "law"),
        ({"validation_fraction": 0.999}, "no row to train on"),
    ],
)
def test_wrong_settings_are_named_before_a_trial(table, settings, words):
    search = PrivateSearchCV(NoisyCentroids(), GRID, **settings)
    with pytest.raises(ValueError, match=words):
        search.fit(*table)


def test_the_accuracy_of_what_is_no_classifier_is_refused(table):
    class NoClassifier(NoisyCentroids):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.estimator_type = "transformer"
            return tags

    with pytest.raises(ValueError, match="trials are compared by accuracy.* got a NoClassifier. G"):
        PrivateSearchCV(NoClassifier(), GRID).fit(*table)


def test_an_estimator_that_is_not_private_is_refused(table):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ValueError, match=r"plan_steps.*LogisticRegression.*GridSearchCV"):
        PrivateSearchCV(LogisticRegression(), {"C": [1.0]}).fit(*table)


def test_a_search_over_no_candidates_is_refused(table):
    with pytest.raises(ValueError, match="param_distributions must hold at least one dict"):
        PrivateSearchCV(NoisyCentroids(), []).fit(*table)
    assert PrivateSearchCV(NoisyCentroids(), [{}], mean_trials=2).fit(*table).n_candidates_ == 1


def test_more_than_a_thousand_combinations_are_drawn_from(table):
    for n, wanted in ((1000, 1000), (1001, 3)):
        search = PrivateSearchCV(NoisyCentroids(), {"norm": [1.0] * n}, n_candidates=3)
        assert len(search._list_candidates()) == wanted


def test_no_trial_of_the_poisson_law_is_said(table):
    seeds = (
        PrivateSearchCV(NoisyCentroids(), GRID, law="poisson", mean_trials=1.01, noise_seed=s)
        for s in range(30)
    )
    errors = 0
    for search in seeds:
        try:
            search.fit(*table)
        except ValueError as error:
            assert "no trial" in str(error)
            errors += 1
    assert 3 <= errors <= 20  # exp(-1.01) of 30 is 11


def test_distributions_are_drawn_without_the_data(table):
    search = PrivateSearchCV(
        NoisyCentroids(), {"norm": stats.loguniform(0.1, 10)}, n_candidates=9, random_state=0
    ).fit(*table)
    assert search.n_candidates_ == 9


@parametrize_with_checks(
    [PrivateSearchCV(NoisyCentroids(noise=1e-9), {"norm": [100.0]}, mean_trials=2, noise_seed=0)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_nets_are_searched(table):
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    X, y = table

    def make_net(n_features, n_classes):
        return skorch.NeuralNetClassifier(
            torch.nn.Linear(n_features, n_classes),
            criterion=torch.nn.CrossEntropyLoss,
            batch_size=40,
            max_epochs=1,
            lr=0.5,
            train_split=None,
            verbose=0,
        )

    net = DPSGDClassifier(make_net, target_epsilon=1.0, target_delta=1e-4, classes=[0, 1])
    assert net.plan_steps(X, y)[0][2] == 10
    search = PrivateSearchCV(net, {"max_grad_norm": [0.3, 3.0]}, target_delta=1e-4, mean_trials=3)
    assert 1.0 < search.fit(X, y).epsilon_ < 2.6
    assert search.best_estimator_.epsilon_ <= 1.0
    assert search.predict_proba(X).shape == (400, 2)


def test_tables_under_a_schema_are_searched():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 200), "job": rng.choice(["a", "b"], 200)})
    ill = np.where(frame["age"] > 50, "yes", "no")
    schema = DeclaredSchema(
        {"age": NumberColumn(18, 90, whole=True), "job": ValuesColumn(["a", "b"])},
        classes=["no", "yes"],
    )

    def make_net(n_features, n_classes):
        return skorch.NeuralNetClassifier(
            torch.nn.Linear(n_features, n_classes),
            criterion=torch.nn.CrossEntropyLoss,
            batch_size=40,
            max_epochs=1,
            train_split=None,
            verbose=0,
        )

    net = DPSGDClassifier(make_net, noise_multiplier=3.0, schema=schema)
    search = PrivateSearchCV(net, {"max_grad_norm": [0.3, 3.0]}, mean_trials=2).fit(frame, ill)
    assert set(search.predict(frame)) <= {"no", "yes"}
    assert search.feature_names_in_.tolist() == ["age", "job"]
