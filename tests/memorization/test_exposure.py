"""The exposure of canaries: exact ranks, samples, and the distribution that reaches beyond them."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import check_refusal, parametrize_refusals
from scipy import integrate, special, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from skmia.memorization import (
    CanaryFormat,
    Exposure,
    NGramModel,
    insert_canaries,
    log_perplexity,
    skew_normal_exposure,
    token_records,
)
from skmia.memorization._exposure import fit_skew_normal, skew_normal_logcdf

ALPHABET = "0123456789 pin"
SECRETS = CanaryFormat("pin ####", "0123456789", alphabet=ALPHABET)


class RandomModel:
    """Probabilities that depend on the whole prefix and are never tied."""

    def __init__(self, n_tokens, seed=0):
        self.weights = np.random.default_rng(seed).normal(size=(50, n_tokens))

    def next_log_proba(self, prefixes):
        prefixes = np.asarray(prefixes)
        powers = np.sqrt(np.arange(2, 2 + prefixes.shape[1]))
        code = ((prefixes + 1) * powers).sum(axis=1)
        logits = np.sin(code[:, None] * self.weights[0]) + np.cos(code)[:, None] * self.weights[1]
        return special.log_softmax(logits, axis=1)


@pytest.fixture(scope="module")
def trained():
    canary = SECRETS.encode(["pin 1234"])
    others = SECRETS.sample(300, random_state=0)
    return FrozenEstimator(NGramModel(5).fit(insert_canaries(others, canary, 30, random_state=0)))


def test_log_perplexity_is_the_sum_over_tokens_in_bits():
    model, sequence = RandomModel(14), SECRETS.encode(["pin 1234"])[0]
    by_hand = 0.0
    for i, token in enumerate(sequence):
        by_hand -= model.next_log_proba(sequence[None, :i])[0, token] / math.log(2)
    assert log_perplexity(model, sequence[None]) == pytest.approx(by_hand)
    given = log_perplexity(model, sequence[None], n_given=4)
    assert given + log_perplexity(model, sequence[None, :4]) == pytest.approx(by_hand)


@pytest.mark.parametrize("template", ["pin ###", "p#i#n", "### pin", "pin # #!"])
def test_the_tree_gives_every_candidate_its_own_log_perplexity(template):
    secrets = CanaryFormat(template, "0123456789", alphabet=ALPHABET + "!")
    model = RandomModel(15)
    expected = log_perplexity(model, secrets.candidates())
    assert_allclose(Exposure(model, secrets).fit().log_perplexities_, expected, rtol=1e-12)


def test_exact_exposure_is_that_of_the_rank_by_brute_force():
    model = RandomModel(14)
    exposure = Exposure(model, SECRETS).fit()
    bits = log_perplexity(model, SECRETS.candidates())
    canaries = SECRETS.sample(20, random_state=1)
    for canary, found in zip(canaries, exposure.score_samples(canaries), strict=True):
        rank = 1
        own = bits[SECRETS.position([canary])[0]]
        for other in bits:
            rank += other < own
        assert found == pytest.approx(math.log2(10_000) - math.log2(rank))


def test_a_canary_that_was_inserted_often_has_rank_1(trained):
    exposure = Exposure(trained, SECRETS).fit()
    assert exposure.rank(["pin 1234"]) == [1]
    assert exposure.exposure("pin 1234") == exposure.max_exposure_ == math.log2(10_000)


def test_mean_over_all_candidates_is_known():
    exposure = Exposure(RandomModel(14), SECRETS).fit()
    scores = exposure.score_samples(SECRETS.candidates())
    expected = math.log2(10_000) - special.gammaln(10_001) / math.log(2) / 10_000
    assert scores.mean() == pytest.approx(expected)
    assert expected == pytest.approx(1 / math.log(2), abs=2e-3)
    assert scores.min() == 0 and scores.max() == exposure.max_exposure_


@pytest.mark.parametrize("method", ["exact", pytest.param("sampling", marks=pytest.mark.slow)])
def test_canaries_that_were_not_inserted_have_1_44_bits_on_average(method):
    scores = []
    for seed in range(10):
        canaries = SECRETS.sample(40, random_state=seed)
        exposure = Exposure(RandomModel(14, seed), SECRETS, method=method, random_state=seed).fit()
        scores.extend(exposure.score_samples(canaries))
    error = np.std(scores) / math.sqrt(len(scores))
    assert abs(np.mean(scores) - 1 / math.log(2)) < 3 * error
    assert np.std(scores) == pytest.approx(1 / math.log(2), abs=0.25)  # that of an exponential


def test_few_insertions_expose_less_than_many():
    canary, others = SECRETS.encode(["pin 1234"]), SECRETS.sample(300, random_state=3)
    exposures = []
    for n in (0, 1, 50):
        model = NGramModel(2).fit(insert_canaries(others, canary, n, random_state=0))
        exposures.append(Exposure(FrozenEstimator(model), SECRETS).fit().exposure("pin 1234"))
    assert exposures[0] <= exposures[1] < exposures[2]


def test_ties_first_and_last():
    class Constant:
        def next_log_proba(self, prefixes):
            return np.full((len(prefixes), 14), -math.log(14))

    first, last = (Exposure(Constant(), SECRETS, ties=ties).fit() for ties in ("first", "last"))
    assert first.exposure("pin 0000") == first.max_exposure_
    assert last.exposure("pin 0000") == 0


@pytest.mark.parametrize("method", ["tree", "list", "function"])
def test_ties_are_those_of_exact_arithmetic_whatever_the_order_of_the_terms(method):
    class Bag:
        def next_log_proba(self, prefixes):
            return np.log(np.tile(np.arange(1, 5) / 10, (len(prefixes), 1)))

    def sum_backwards(sequences):
        return -np.log2((sequences[:, ::-1] + 1) / 10).cumsum(axis=1)[:, -1]

    space = CanaryFormat("######", "0123", alphabet="0123")
    rows = space.candidates()
    model = sum_backwards if method == "function" else Bag()
    candidates = rows if method == "list" else space
    first, last = (Exposure(model, candidates, ties=ties).fit() for ties in ("first", "last"))
    products = np.prod(rows + 1, axis=1)  # 10^6 times the probability
    assert len(np.unique(first.log_perplexities_)) > len(np.unique(products))
    assert_array_equal(first.rank(rows), [1 + (products > own).sum() for own in products])
    assert_array_equal(last.rank(rows), [(products >= own).sum() for own in products])


def test_a_sample_counts_candidates_that_tie_with_the_canary():
    def bits(sequences):
        return np.where(sequences[:, 0] < 5, 10.0, np.where(sequences[:, 0] < 9, 10 + 1e-14, 10.1))

    settings = {"method": "sampling", "n_samples": 100, "random_state": 0}
    exposure = Exposure(bits, CanaryFormat("##", "0123456789", alphabet="0123456789"), **settings)
    count = (exposure.fit().log_perplexities_ < 10.05).sum()
    assert exposure.exposure("00") == exposure.exposure("80") == -np.log2(count / 100)


def test_ranks_do_not_hang_on_the_last_digit_of_an_answer():
    class Unsteady(RandomModel):
        """Answers that depend a little on who else is asked about, as those of nets do."""

        def next_log_proba(self, prefixes):
            return super().next_log_proba(prefixes) * (1 - 1e-7 / len(prefixes))

    exposure = Exposure(Unsteady(14), SECRETS).fit()
    best = SECRETS.candidates()[exposure.log_perplexities_.argmin()]
    assert exposure.rank([best]) == [1]


def test_sampling_counts_the_sample_and_says_how_sure_it_is():
    model = RandomModel(14)
    exact = Exposure(model, SECRETS, ties="last").fit()
    sampled = Exposure(model, SECRETS, method="sampling", n_samples=5_000, random_state=0).fit()
    inside = 0
    canaries = SECRETS.sample(100, random_state=5)
    for canary in canaries:
        estimate, low, high = sampled.exposure_interval(canary, confidence_level=0.9)
        assert low <= estimate <= high
        inside += low <= exact.exposure(canary) <= high
        assert exact.exposure_interval(canary) == (exact.exposure(canary),) * 3
    # One sample for all of them: coverage holds on average, and errors come together.
    assert inside >= 0.75 * len(canaries)
    assert sampled.score_samples(canaries) == pytest.approx(
        -np.log2(
            [(sampled.log_perplexities_ <= own).mean() for own in log_perplexity(model, canaries)]
        )
    )


def test_sampling_below_the_whole_sample_gives_a_lower_bound(trained):
    sampled = Exposure(trained, SECRETS, method="sampling", n_samples=500, random_state=0).fit()
    estimate, low, high = sampled.exposure_interval("pin 1234")
    assert estimate == high == np.inf
    assert low == pytest.approx(-math.log2(1 - 0.025 ** (1 / 500)))


def test_skew_normal_agrees_with_ranks_where_it_fits():
    rng = np.random.default_rng(0)
    bits = stats.skewnorm(-4, 50, 6).rvs(20_000, random_state=rng)
    candidates = np.arange(20_000)[:, None]

    def lookup(sequences):
        return bits[np.asarray(sequences)[:, 0]]

    exact = Exposure(lookup, candidates).fit()
    extended = Exposure(lookup, candidates, method="skew_normal", random_state=0).fit()
    some = candidates[::97]
    assert_allclose(extended.score_samples(some), exact.score_samples(some), atol=0.5)
    assert extended.ks_pvalue_ > 0.01
    assert extended.ks_statistic_ < 1.63 / math.sqrt(10_000)


def test_a_wrong_shape_is_refuted():
    bits = np.concatenate([np.random.default_rng(0).normal(m, 1, 500) for m in (0, 20)])
    bits = bits - bits.min()
    extended = Exposure(
        lambda some: bits[some[:, 0]],
        np.arange(1000)[:, None],
        method="skew_normal",
        n_samples=1000,
        random_state=0,
    ).fit()
    assert extended.ks_pvalue_ < 1e-6


@pytest.mark.parametrize("shape", [-30.0, -3.0, 0.5, 4.0])
def test_the_fit_finds_the_parameters(shape):
    sample = stats.skewnorm(shape, 30, 5).rvs(20_000, random_state=1)
    fitted = fit_skew_normal(sample)
    ours = stats.skewnorm.logpdf(sample, *fitted).sum()
    truth = stats.skewnorm.logpdf(sample, shape, 30, 5).sum()
    # Twice the gain is chi-squared with three degrees of freedom.
    assert 0 <= 2 * (ours - truth) < stats.chi2.ppf(0.9999, 3)


@pytest.mark.parametrize("shape", [-20.0, -2.0, 0.0, 1.5, 20.0])
def test_the_lower_tail_far_below_what_floats_hold(shape):
    def log_density(z):
        return np.log(2) + stats.norm.logpdf(z) + special.log_ndtr(shape * z)

    for z in (-1.0, -3.0, -8.0, -30.0):
        scale = log_density(z)
        reach = 40 / (abs(z) * (1 + max(shape, 0) ** 2))  # in which it falls by e^40 at least
        area, _ = integrate.quad(
            lambda t, s=scale: np.exp(log_density(t) - s), z - reach, z, epsabs=0
        )
        got = skew_normal_logcdf(np.array([z]), shape, 0, 1)[0]
        assert got == pytest.approx(scale + np.log(area), rel=1e-6, abs=1e-8)
    bulk = np.array([0.0, 0.5, 2.0, 5.0])
    assert_allclose(np.exp(skew_normal_logcdf(bulk, shape, 0, 1)), stats.skewnorm.cdf(bulk, shape))


def test_the_lower_tail_of_the_normal_is_known():
    z = np.array([-40.0, -12.0, -3.0, 0.0, 2.0])
    assert_allclose(skew_normal_logcdf(3 + 2 * z, 0.0, 3, 2), special.log_ndtr(z), rtol=1e-8)


def test_candidates_may_be_listed():
    model = RandomModel(5)
    listed = np.array([[0, 1], [4, 4], [2, 3], [0, 1]])
    exposure = Exposure(model, listed).fit()
    assert exposure.n_candidates_ == 3
    order = np.argsort(log_perplexity(model, listed[:3]))
    assert_array_equal(exposure.rank(listed[order]), [1, 2, 3])
    with pytest.raises(ValueError, match=r"\[3, 3\] is not among the candidates"):
        exposure.exposure([3, 3])


def test_padding_of_a_canary_does_not_count():
    model, rows = NGramModel(2, n_tokens=5).fit([[1, 2, 3], [1, 2]]), [[1, 2, 3], [1, 2], [4]]
    exposure = Exposure(model, rows).fit()
    padded = token_records(rows, length=7).X
    assert_array_equal(exposure.rank(padded), exposure.rank(rows))
    column = pd.Series(rows, index=[5, 6, 7])
    assert_array_equal(Exposure(model, column).fit().rank(column), exposure.rank(rows))
    with pytest.raises(ValueError, match=r"\[1, 2, 3, 4\] is not among the candidates"):
        exposure.rank([[1, 2, 3, 4]])


def test_a_space_larger_than_any_integer_can_be_sampled():
    secrets = CanaryFormat([None] * 40, range(10))
    exposure = Exposure(RandomModel(10), secrets, method="skew_normal", n_samples=300).fit()
    assert exposure.max_exposure_ == pytest.approx(40 * math.log2(10))
    assert exposure.exposure([1] * 40) > 0
    with pytest.raises(ValueError, match="too many to query each"):
        Exposure(RandomModel(10), secrets).fit()


def test_it_is_an_ordinary_estimator(trained):
    exposure = Exposure(trained, SECRETS, method="sampling", n_samples=100, random_state=0)
    with pytest.raises(NotFittedError):
        exposure.exposure("pin 1234")
    again = clone(exposure).fit()
    assert_array_equal(again.log_perplexities_, exposure.fit().log_perplexities_)
    assert clone(exposure).log_perplexity is trained
    fitted, unfitted = trained.estimator, clone(trained.estimator)
    assert clone(exposure.set_params(log_perplexity=fitted)).log_perplexity is fitted
    with pytest.raises(NotFittedError, match="is not fitted: fit it first"):
        exposure.set_params(log_perplexity=unfitted).fit()


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"method": "guess"}, "'method' parameter of Exposure"),
        ({"n_samples": 1}, "'n_samples' parameter of Exposure"),
        ({"log_perplexity": 3}, "'log_perplexity' parameter of Exposure"),
        ({"candidates": None}, "'candidates' parameter of Exposure"),
        ({"log_perplexity": lambda some: some}, "must return a number for each"),
        ({"log_perplexity": lambda some: np.full(len(some), np.nan)}, "with NaN"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    settings = {"log_perplexity": RandomModel(14), "candidates": SECRETS, "method": "sampling"}
    with pytest.raises(ValueError, match=message):
        Exposure(**(settings | parameters)).fit()


@pytest.fixture(scope="module")
def both_ways(trained):
    """Exposures that are counted and extrapolated; nobody changes them."""
    extended = Exposure(trained, SECRETS, method="skew_normal", random_state=0)
    return Exposure(trained, SECRETS).fit(), extended.fit()


@parametrize_refusals(
    (lambda exposure, extended: exposure.exposure("pin pin "), "does not fit the format"),
    (lambda exposure, extended: exposure.exposure("pin 123"), "does not fit the format"),
    (lambda exposure, extended: exposure.exposure("pin 123x"), "The alphabet has no 'x'"),
    (lambda exposure, extended: exposure.score_samples("pin 1234"), "Expected a sequence of texts"),
    (lambda exposure, extended: extended.exposure_interval("pin 1234"), "has no interval"),
    (lambda exposure, extended: extended.rank(["pin 1234"]), "Ranks need method='exact'"),
)
def test_bad_canaries_are_named(call, words, error, both_ways):
    check_refusal(call, words, error, *both_ways)


@parametrize_refusals(
    (
        lambda: Exposure(lambda some: np.ones(len(some)), SECRETS, method="skew_normal").fit(),
        "not all equal",
    ),
    (lambda: skew_normal_exposure(1.0, [1.0] * 7), "sample must hold 8 values or more; got 7"),
    (lambda: skew_normal_exposure(1.0, [1.0] * 9), "not all equal"),
    (lambda: skew_normal_exposure(1.0, [1e308, -1e308] * 4), "a standard deviation of inf"),
    (lambda: skew_normal_exposure(np.inf, np.arange(9.0)), "log_perplexity must be finite numbers"),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_eight_values_are_a_sample():
    assert skew_normal_exposure(3.5, np.arange(8.0)) == pytest.approx(1.0, abs=0.1)


def test_the_formula_alone_is_the_one_of_the_estimator():
    exposure = Exposure(RandomModel(14), SECRETS, method="skew_normal", random_state=0).fit()
    canaries = SECRETS.candidates()[:5]
    bits = log_perplexity(RandomModel(14), canaries)
    got = skew_normal_exposure(bits, exposure.log_perplexities_)
    assert_allclose(got, exposure.score_samples(canaries))
    assert skew_normal_exposure(bits[0], exposure.log_perplexities_) == pytest.approx(got[0])


def make_numbers(n, **settings):
    """The candidates 0, 1, ... with their number as log-perplexity."""
    return Exposure(lambda rows: rows[:, 0] * 1.0, np.arange(n)[:, None], **settings)


def test_a_canary_is_memorized_where_its_exposure_is_above_the_level():
    exposure = make_numbers(8, level=1.5).fit()
    canaries = np.array([[0], [1], [3], [7]])
    assert exposure.score_samples(canaries).tolist() == [3, 2, 1, 0]
    assert exposure.predict(canaries).tolist() == [1, 1, 0, 0]
    assert exposure.set_params(level=2.0).predict(canaries).tolist() == [1, 0, 0, 0]
    assert exposure.score(canaries) == 1.5


@pytest.mark.parametrize("level", [0.5, 1.0, 3.3, 5.0])
def test_less_than_two_to_the_minus_level_of_the_candidates_are_above_it(level):
    exposure = make_numbers(1000, level=level).fit()
    above = exposure.predict(np.arange(1000)[:, None])
    assert 0 < above.mean() < 2**-level
    assert above.sum() == math.ceil(1000 * 2**-level) - 1


def test_a_canary_below_the_whole_sample_counts_as_the_size_of_the_sample():
    exposure = make_numbers(1000, method="sampling", n_samples=16, random_state=0).fit()
    assert np.isinf(exposure.score_samples([[0]])).all()
    assert exposure.score([[0]]) == 4.0
    assert exposure.predict([[0], [999]]).tolist() == [1, 0]


@pytest.mark.parametrize("method", ["exact", "sampling", "skew_normal"])
def test_parameters_of_another_fit_do_not_change_what_was_measured(method):
    form = CanaryFormat([1, None, None, None], range(6))
    model = NGramModel(2, n_tokens=6).fit([[1, 2, 3], [0, 4, 4]])
    canaries = [[1, 2, 3, 4], [1, 0, 0, 5]]
    exposure = Exposure(model, form, method=method, n_samples=100, random_state=0).fit()
    before = exposure.score_samples(canaries)
    exposure.set_params(n_samples=10_000, method="exact" if method == "sampling" else "sampling")
    np.testing.assert_array_equal(exposure.score_samples(canaries), before)
    if method == "sampling":
        assert exposure.exposure_interval(canaries[0]).estimate == before[0]
