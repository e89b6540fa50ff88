"""Scores on the scale of each record: known answers, and rates that are alike."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import LiRA, StackedAttack, ThresholdAttack
from skmia.attacks.equal_rates import EqualRateAttack, _ScoresOutside, _VarianceTrend
from skmia.base import TooFewModelsError
from skmia.datasets import make_membership_problem


@pytest.fixture(scope="module")
def problem():
    return make_membership_problem(200, random_state=0)


def make_outside(seed=0, n_models=12, n=30):
    rng = np.random.default_rng(seed)
    scale = np.linspace(0.5, 3, n)
    scores = np.linspace(-4, 4, n) + scale * rng.normal(size=(n_models, n))
    return scores, rng.random((n_models, n)) < 0.6


def test_moments_without_a_model_are_those_of_the_others():
    scores, is_out = make_outside()
    count, mean, squares = _ScoresOutside(scores, is_out).leave_out(scores, is_out)
    for k, i in [(0, 0), (3, 7), (11, 29), (5, 12)]:
        others = is_out[:, i] & (np.arange(len(scores)) != k)
        values = scores[others, i]
        assert count[k, i] == len(values)
        np.testing.assert_allclose(mean[k, i], values.mean())
        np.testing.assert_allclose(squares[k, i], ((values - values.mean()) ** 2).sum())


def test_a_standard_score_by_hand():
    scores = np.array([[1.0], [2.0], [3.0], [6.0]])
    outside = _ScoresOutside(scores, np.ones((4, 1), dtype=bool))
    trend = _VarianceTrend(outside)
    # The only record is its own bin: (4 * 14 / 3 + 14) / (4 + 3) = 14 / 3.
    np.testing.assert_allclose(trend.variances, 14 / 3)
    found = trend.standardize(5.0, outside.count, outside.mean, outside.squares)
    np.testing.assert_allclose(found, (5 - 3) / np.sqrt(14 / 3 * 5 / 4))


def test_scores_on_which_all_models_agree_are_no_deviation_and_others_stay_finite():
    scores = np.full((3, 8), 0.1)  # whose mean is not 0.1, by rounding
    outside = _ScoresOutside(scores, np.ones(scores.shape, dtype=bool))
    assert (outside.mean != 0.1).all()
    trend = _VarianceTrend(outside)
    given = outside.count, outside.mean, outside.squares
    assert (trend.standardize(scores, *given) == 0).all()
    np.testing.assert_allclose(trend.standardize(0.3, *given), 0.2 / (1e-9 * 0.1))


def count_alarms(n_rounds=10, n=150, n_models=12, rate=0.05):
    """How often each record is flagged when it is out, in independent audits."""
    rng = np.random.default_rng(0)
    # Members of one half are far from non-members, those of the other half hardly.
    width = np.where(np.arange(n) % 2, 3.0, 0.3)
    records = Records.from_ids(np.arange(n), np.zeros(n, dtype=int))
    found, n_out = {"equal": np.zeros(n), "together": np.zeros(n)}, np.zeros(n)
    for _ in range(n_rounds):
        ranks = rng.permuted(np.tile(np.arange(n_models), (n, 1)), axis=1).T
        inside = ranks < n_models // 2
        log_odds = 1 + width * rng.normal(size=(n_models, n)) + inside
        pool = ShadowPool.from_outputs(log_odds, inside, records, kind="log_odds")
        is_member = rng.permutation(n) < n // 2  # as in the shadow models
        answers = Outputs(1 + width * rng.normal(size=n) + is_member, kind="log_odds")
        asked = records.with_fields(outputs=answers)
        attack = EqualRateAttack(None, LiRA(), pool, target_fpr=rate).fit(asked)
        found["equal"] += attack.predict(asked) & ~is_member
        found["together"] += attack.attack_.predict(asked) & ~is_member
        n_out += ~is_member
    return {name: alarms / n_out for name, alarms in found.items()}, width


def test_records_of_every_width_are_mistaken_at_the_same_rate():
    rates, width = count_alarms()
    wide, narrow = width > 1, width < 1
    # Of 375 answers on each side, .05 with a standard error of .0113.
    assert abs(rates["equal"][wide].mean() - rates["equal"][narrow].mean()) < 0.048
    assert abs(rates["equal"].mean() - 0.05) < 0.025
    assert abs(rates["together"][wide].mean() - rates["together"][narrow].mean()) > 0.04


def test_the_threshold_for_all_records_together_is_kept(problem):
    records, membership = problem
    members = records[membership == 1]
    model = LogisticRegression().fit(members.X, members.y)
    attack = EqualRateAttack(model, LiRA(), 8, target_fpr=0.1).fit(records)
    alone = LiRA(model, attack.pool_, target_fpr=0.1).fit(records)
    assert attack.attack_.offset_ == alone.offset_
    np.testing.assert_array_equal(attack.attack_.predict(records), alone.predict(records))
    assert attack.fit(records, membership).score(records, membership) >= 0


def test_what_does_not_compare_with_shadow_models_is_refused(problem):
    records, membership = problem
    members = records[membership == 1]
    model = LogisticRegression().fit(members.X, members.y)
    with pytest.raises(ValueError, match=r"ThresholdAttack does not give; use LiRA"):
        EqualRateAttack(model, ThresholdAttack(), 8).fit(records)
    with pytest.raises(TooFewModelsError, match="at least 8 models; this pool has 4"):
        EqualRateAttack(model, LiRA(), 4).fit(records)


def test_a_stack_is_measured_as_well(problem):
    records, membership = problem
    members = records[membership == 1]
    model = LogisticRegression().fit(members.X, members.y)
    attack = EqualRateAttack(model, StackedAttack(boosted=False), 8).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()
