import numpy as np
import pandas as pd
import pytest
from draws import most_by_chance
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skmia import Records
from skmia.attacks import ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.leakage import GeneralizationGapBound
from skmia.leakage.bounds import (
    bounded_loss_success_bound,
    subexponential_loss_success_bound,
    subgaussian_loss_success_bound,
)
from skmia.signals import Signals


def make_evidence(seed=0, n_members=30, n_others=50):
    """Evidence in [0, 1] in two columns, the first one higher for members."""
    rng = np.random.default_rng(seed)
    members = rng.beta([4, 2], 2, size=(n_members, 2))
    others = rng.beta([2, 2], 2, size=(n_others, 2))
    return np.concatenate([members, others]), np.repeat([1, 0], [n_members, n_others])


def test_numbers_known_by_hand():
    X, y = [[0.9], [0.7], [0.8], [0.2], [0.4]], [1, 1, 1, 0, 0]
    bound = GeneralizationGapBound(value_range=(0, 1), confidence_level=0.5).fit(X, y)
    np.testing.assert_allclose(bound.means_, [[0.3], [0.8]])
    np.testing.assert_array_equal(bound.n_samples_, [2, 3])
    assert bound.gap_[0] == pytest.approx(0.5)
    assert bound.success_bound_[0] == pytest.approx(0.75)
    low, _ = bound.gap_interval_[0]
    assert 0 < low < 0.5
    assert bound.success_bound_low_[0] == pytest.approx(0.5 + low / 2)
    printed = GeneralizationGapBound(value_range=(-1, 1)).fit(X, y)
    assert printed.success_bound_[0] == pytest.approx(bounded_loss_success_bound(0.5, 1.0))


def test_welch_interval_is_that_of_scipy():
    X, y = make_evidence()
    bound = GeneralizationGapBound(confidence_level=0.9).fit(X, y)
    expected = stats.ttest_ind(X[y == 1], X[y == 0], equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose(bound.gap_interval_, np.transpose(expected))


def test_bernstein_interval_is_the_published_inequality():
    X, y = make_evidence()
    bound = GeneralizationGapBound(value_range=(-1, 2), interval="bernstein").fit(X, y)
    for column in range(2):
        half_width = 0
        for group in (X[y == 1, column], X[y == 0, column]):
            n, log_term = len(group), np.log(2 / (0.05 / 4))  # each of four sides
            half_width += np.sqrt(2 * group.var(ddof=1) * log_term / n)
            half_width += 3 * 7 * log_term / (3 * (n - 1))
        low, high = bound.gap_interval_[column]
        assert low == pytest.approx(bound.gap_[column] - half_width)
        assert high == pytest.approx(min(bound.gap_[column] + half_width, 3))


@pytest.mark.parametrize("interval", ["welch", "bernstein"])
def test_intervals_cover_the_gap_and_the_bound_holds(interval):
    # A member is right with probability .9, another record with .7: advantage .2 at most.
    rng, n_runs = np.random.default_rng(1), 200
    membership = np.repeat([1, 0], [150, 250])
    missed = exceeded = 0
    for _ in range(n_runs):
        correct = rng.random(400) < np.where(membership == 1, 0.9, 0.7)
        bound = GeneralizationGapBound(value_range=(0, 1), interval=interval)
        bound.fit(correct[:, None].astype(float), membership)
        low, high = bound.gap_interval_[0]
        missed += not low <= 0.2 <= high
        exceeded += bound.success_bound_low_[0] > 0.6
    assert max(missed, exceeded) <= most_by_chance(n_runs, 0.05)


def test_no_gap_is_rarely_taken_for_one():
    rng, n_runs = np.random.default_rng(2), 200
    membership = np.repeat([1, 0], 100)
    low = [
        GeneralizationGapBound().fit(rng.exponential(size=(200, 1)), membership).success_bound_low_
        for _ in range(n_runs)
    ]
    assert np.sum(np.array(low) > 0.5) <= most_by_chance(n_runs, 0.05)
    assert np.min(low) == 0.5


def test_what_the_sign_of_the_evidence_does():
    X, y = make_evidence()
    bound = GeneralizationGapBound(value_range=(0, 1)).fit(X, y)
    turned = GeneralizationGapBound(value_range=(-1, 0)).fit(-X, y)
    swapped = GeneralizationGapBound(value_range=(0, 1)).fit(X, 1 - y)
    for other in (turned, swapped):
        np.testing.assert_allclose(other.gap_, -bound.gap_)
        np.testing.assert_allclose(other.gap_interval_, -bound.gap_interval_[:, ::-1])
        np.testing.assert_allclose(other.success_bound_, bound.success_bound_)
        np.testing.assert_allclose(other.success_bound_low_, bound.success_bound_low_)


def test_columns_are_independent():
    X, y = make_evidence()
    both = GeneralizationGapBound(value_range=(0, 1), interval="bernstein").fit(X, y)
    for column in range(2):
        one = GeneralizationGapBound(value_range=(0, 1), interval="bernstein")
        one.fit(X[:, [column]], y)
        pd.testing.assert_series_equal(
            one.summary().iloc[0], both.summary().iloc[column], check_names=False
        )


@pytest.mark.parametrize(
    "assumption, function",
    [
        ("subgaussian", subgaussian_loss_success_bound),
        ("subexponential", subexponential_loss_success_bound),
    ],
)
def test_tailed_assumptions_use_their_bound(assumption, function):
    X, y = make_evidence()
    bound = GeneralizationGapBound(assumption=assumption, proxy_variance=0.1, baseline=0.6)
    bound.fit(X, y)
    np.testing.assert_allclose(bound.success_bound_, function(bound.gap_, 0.1, baseline=0.6))
    low, high = bound.gap_interval_[0]
    assert 0 < low < high
    assert bound.success_bound_low_[0] == pytest.approx(function(low, 0.1, baseline=0.6))


def test_observed_range_is_the_tightest_one():
    X, y = make_evidence()
    observed = GeneralizationGapBound().fit(X, y)
    expected = bounded_loss_success_bound(observed.gap_, np.ptp(X, axis=0), nonnegative=True)
    np.testing.assert_allclose(observed.success_bound_, expected)
    given = GeneralizationGapBound(value_range=(0, 1)).fit(X, y)
    assert (observed.success_bound_ > given.success_bound_).all()


def test_a_constant_column_says_nothing():
    bound = GeneralizationGapBound().fit(np.full((10, 1), 3.0), np.arange(10) % 2)
    assert bound.gap_[0] == 0
    assert bound.success_bound_[0] == bound.success_bound_low_[0] == 0.5


@pytest.mark.parametrize("interval", ["welch", "bernstein"])
def test_a_single_member_gives_no_interval(interval):
    X, y = np.linspace(0, 1, 9)[:, None], np.arange(9) == 8
    bound = GeneralizationGapBound(value_range=(0, 1), interval=interval).fit(X, y)
    np.testing.assert_array_equal(bound.gap_interval_, [[-1, 1]])
    assert bound.success_bound_[0] > bound.success_bound_low_[0] == 0.5


def test_summary_names_the_columns():
    X, y = make_evidence()
    bound = GeneralizationGapBound(value_range=(0, 1))
    assert bound.fit(X, y).summary().index.tolist() == ["x0", "x1"]
    summary = bound.fit(pd.DataFrame(X, columns=["confidence", "noise"]), y).summary()
    assert summary.index.tolist() == ["confidence", "noise"]
    expected = summary["member_mean"] - summary["nonmember_mean"]
    np.testing.assert_allclose(summary["gap"], expected)
    assert (summary["gap_low"] < summary["gap"]).all()
    assert (summary["success_bound_low"] <= summary["success_bound"]).all()


def test_bound_of_a_victim_lies_below_what_an_attack_reaches():
    records, membership = make_membership_problem(400, random_state=0)
    members = records[membership == 1]
    victim = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(members.X, members.y))
    for signal in ("confidence", "correctness"):
        gap = make_pipeline(Signals(victim, [signal]), GeneralizationGapBound(value_range=(0, 1)))
        bound = gap.fit(records, membership)[-1]
        # The best threshold is one of the attackers meant.
        best = ThresholdAttack(victim, signal=signal).fit(records, membership)
        success = (1 + best.score(records, membership)) / 2
        assert 0.5 < bound.success_bound_low_[0] < bound.success_bound_[0] <= success + 1e-12


class Memorizer(RegressorMixin, BaseEstimator):
    """Knows the responses of its training records by heart and is off by a shift elsewhere."""

    def __init__(self, shift=0.3, spread=0.1, seed=1):
        self.shift = shift
        self.spread = spread
        self.seed = seed

    def fit(self, X, y):
        self.known_ = dict(zip(X[:, 0], y, strict=True))
        return self

    def predict(self, X):
        rng = np.random.default_rng(self.seed)
        guesses = self.shift + self.spread * rng.random(len(X))
        return np.array([self.known_.get(x, guess) for x, guess in zip(X[:, 0], guesses)])


@pytest.mark.parametrize("shift", [0.1, 0.5, 0.9])
def test_a_small_gap_does_not_protect(shift):
    # The response is uniform on [0, .1]. The loss of members is 0, that of others a triangle
    # around the shift, so that the gap is the shift, however small, and the attack is perfect.
    rng, n, spread = np.random.default_rng(0), 2000, 0.1
    membership = np.repeat([1, 0], n)
    records = Records(np.arange(2.0 * n)[:, None], spread * rng.random(2 * n))
    members = records[membership == 1]
    victim = FrozenEstimator(Memorizer(shift, spread).fit(members.X, members.y))
    attack = ThresholdAttack(victim, signal="squared_error").fit(records, membership)
    assert attack.score(records, membership) == 1.0
    absolute = FunctionTransformer(lambda squared: -np.sqrt(-squared))
    signals = make_pipeline(Signals(victim, ["squared_error"]), absolute)
    bound = GeneralizationGapBound(value_range=(-1, 0), confidence_level=0.999)
    bound = make_pipeline(signals, bound).fit(records, membership)[-1]
    low, high = bound.gap_interval_[0]
    assert low <= shift <= high
    assert high - low < 0.02
    expected = bounded_loss_success_bound(shift, 1.0, nonnegative=True)
    assert bound.success_bound_[0] == pytest.approx(expected, abs=0.01)
    # The losses of non-members: their density is triangular on shift +- spread.
    losses = -signals.fit(records).transform(records)[n:, 0]
    triangle = stats.triang(0.5, loc=shift - spread, scale=2 * spread)
    assert stats.kstest(losses, triangle.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"value_range": (1, 0)},
            r"two finite numbers \(low, high\) with low < high; got \(1, 0\)",
        ),
        ({"value_range": (0,)}, "value_range must be two finite numbers"),
        ({"value_range": ("a", "b")}, "value_range must be two finite numbers"),
        ({"value_range": (0, np.inf)}, "value_range must be two finite numbers"),
        ({"value_range": (0, 0.5)}, r"lie in value_range = \(0, 0.5\); got .* in row"),
        ({"interval": "bernstein"}, "needs assumption='bounded' and the value_range"),
        (
            {"interval": "bernstein", "assumption": "subgaussian", "proxy_variance": 1}
            | {"value_range": (0, 1)},
            "needs assumption='bounded' and the value_range; got assumption='subgaussian'",
        ),
        ({"assumption": "subgaussian"}, "assumption='subgaussian' needs proxy_variance; got None"),
        (
            {"assumption": "subexponential", "proxy_variance": 1e-3},
            "a loss with such tails can have; the assumption does not hold",
        ),
        ({"baseline": 0.3}, "The 'baseline' parameter"),
        ({"confidence_level": 95}, "The 'confidence_level' parameter"),
        ({"assumption": "gaussian"}, "The 'assumption' parameter"),
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings, message):
    X, y = make_evidence()
    with pytest.raises(ValueError, match=message):
        GeneralizationGapBound(**settings).fit(X, y)


def test_membership_has_two_values():
    X, _ = make_evidence()
    for y, n_classes in ((np.ones(80), 1), (np.arange(80) % 3, 3)):
        with pytest.raises(ValueError, match=f"for non-members; got {n_classes}"):
            GeneralizationGapBound().fit(X, y)


def test_the_nearer_mean_decides_in_the_column_of_the_largest_bound():
    X = np.array([[0.4, 0.9], [0.6, 0.9], [0.5, 0.1], [0.5, 0.1]])
    bound = GeneralizationGapBound(value_range=(0, 1)).fit(X, ["in", "in", "a", "a"])
    assert bound.column_ == 1
    assert bound.predict([[0.0, 0.7], [0.9, 0.3], [0.9, 0.51]]).tolist() == ["in", "a", "in"]
    # Values without spread have a gap without an interval: .5 + .8 / 2.
    assert bound.score() == bound.score(X, ["in", "in", "a", "a"]) == pytest.approx(0.9)


def test_the_attack_reaches_the_bound_of_a_signal_with_two_values():
    X = np.repeat([[1.0], [1.0], [0.0]], [10, 4, 6], axis=0)  # members, and non-members
    y = np.repeat([1, 0], 10)
    bound = GeneralizationGapBound(value_range=(0, 1)).fit(X, y)
    assert bound.success_bound_[0] == pytest.approx(0.8)
    assert (bound.predict(X) == y).mean() == pytest.approx(0.8)


def test_the_score_of_other_records_is_the_bound_of_the_chosen_column():
    X, y = make_evidence()
    bound = GeneralizationGapBound(value_range=(0, 1)).fit(X, y)
    assert bound.column_ == 0
    assert bound.score() == bound.success_bound_low_.max()
    others, sides = make_evidence(seed=1)
    alone = GeneralizationGapBound(value_range=(0, 1)).fit(others[:, :1], sides)
    assert bound.score(others, sides) == alone.success_bound_low_[0]
    # What does not differ at all has the baseline.
    assert bound.score(np.tile(others, (2, 1)), np.repeat([1, 0], 80)) == 0.5
