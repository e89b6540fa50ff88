"""Three thresholds, found as by trying all."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier

from skmia.attacks import MorganAttack, ThresholdAttack
from skmia.attacks._morgan import _choose_window, _compute_edges
from skmia.datasets import make_membership_problem
from skmia.signals import Merlin

RNG = np.random.default_rng(0)


def find_rates(loss, share, membership, window):
    lower, upper, least = window
    flagged = (lower <= loss) & (loss < upper) & (share >= least)
    return flagged[membership].mean(), flagged[~membership].mean()


def make_evidence(n=30, n_changes=5):
    membership = RNG.uniform(size=n) < 0.5
    loss = RNG.uniform(size=n) + 0.2 * ~membership
    share = RNG.integers(n_changes + 1, size=n) / n_changes
    return loss, np.minimum(share + 0.2 * membership, 1), membership


@pytest.mark.parametrize("target_fpr, allowed", [(1 - 0.9, 0.1), (0.1 + 0.2, 0.3), (0.1, 0.1)])
def test_rounding_of_the_rate_excludes_no_record(target_fpr, allowed):
    # Members have the smallest losses with those of the first non-members between them.
    membership = np.repeat([True, False], 10)
    loss = np.concatenate([np.linspace(0.05, 0.95, 10), np.linspace(0.1, 1, 10)])
    window = _choose_window(loss, np.ones(20), 0 * loss, membership, 5, target_fpr)
    tpr, fpr = find_rates(loss, np.ones(20), membership, window)
    assert fpr == allowed and tpr > allowed


@pytest.mark.parametrize("target_fpr", [None, 0.1])
def test_no_other_window_is_better(target_fpr):
    # No more losses than bounds: all windows are among the candidates.
    loss, share, membership = make_evidence()
    tpr, fpr = find_rates(
        loss, share, membership, _choose_window(loss, share, 0 * loss, membership, 5, target_fpr)
    )
    edges, best = [*np.unique(loss), np.inf], -1
    for lower, upper, least in product(edges, edges, np.arange(6) / 5):
        rates = find_rates(loss, share, membership, (lower, upper, least - 1e-9))
        if target_fpr is None:
            best = max(best, rates[0] - rates[1])
        elif rates[1] <= target_fpr:
            best = max(best, rates[0])
    if target_fpr is None:
        assert tpr - fpr == pytest.approx(best)
    else:
        assert fpr <= target_fpr and tpr == pytest.approx(best)


class LastBit(ClassifierMixin, BaseEstimator):
    """A classifier with a rounding error in its probabilities."""

    def __init__(self, model, seed):
        self.model = model
        self.seed = seed
        self.classes_ = model.classes_

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        p = self.model.predict_proba(X)
        steps = np.random.default_rng(self.seed).integers(-1, 2, size=p.shape)
        return np.clip(p * (1 + steps * np.finfo(float).eps), 0, 1)


@pytest.mark.parametrize("target_fpr", [None, 0.1])
def test_rounding_errors_do_not_move_a_score(target_fpr):
    # The answers of a forest have few values, so that bounds meet losses and losses each other.
    records, membership = make_membership_problem(random_state=0)
    members = records[membership == 1]
    forest = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    attack = MorganAttack(n_changes=10, target_fpr=target_fpr, random_state=0)
    scores = [
        clone(attack)
        .set_params(victim=FrozenEstimator(victim))
        .fit(records, membership)
        .decision_function(records)
        for victim in (forest, LastBit(forest, 0), LastBit(forest, 1))
    ]
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2, atol=1e-12)


def test_bounds_lie_in_gaps_that_are_wider_than_rounding():
    loss = np.array([0.3, 0.1, 0.1 + 1e-15, 0.2, 0.2])
    edges = _compute_edges(loss, np.full(5, 1e-14))
    np.testing.assert_allclose(edges, [-np.inf, 0.15, 0.25, np.inf])
    many = _compute_edges(RNG.permutation(1000) / 1000, np.zeros(1000))
    assert len(many) == 64 + 2
    assert np.diff(many[1:-1]).max() < 0.02


@pytest.fixture(scope="module")
def audit():
    records, membership = make_membership_problem(random_state=0)
    members = records[membership == 1]
    model = MLPClassifier((100,), solver="lbfgs", max_iter=2000, random_state=0).fit(
        members.X, members.y
    )
    return FrozenEstimator(model), records, membership


def test_the_score_is_the_share_inside_the_window(audit):
    victim, records, membership = audit
    attack = MorganAttack(victim, n_changes=10, random_state=0).fit(records[::2], membership[::2])
    rest = records[1::2]
    share = ThresholdAttack(victim, signal=Merlin(n_changes=10)).fit(rest).score_samples(rest)
    loss = -ThresholdAttack(victim).fit(rest).score_samples(rest)
    inside = (attack.loss_window_[0] <= loss) & (loss < attack.loss_window_[1])
    np.testing.assert_array_equal(attack.score_samples(rest), np.where(inside, share, -1))


def test_the_target_is_kept_on_the_known_records(audit):
    victim, records, membership = audit
    attack = MorganAttack(victim, n_changes=10, target_fpr=0.05, cross_fit=False, random_state=0)
    attack.fit(records[::2], membership[::2])
    known = attack._judge(attack._model, attack._collect(records[::2])) >= attack.offset_
    assert known[membership[::2] == 0].mean() <= 0.05


def test_it_beats_the_share_alone_on_an_overfit_victim(audit):
    victim, records, membership = audit
    attack = MorganAttack(victim, n_changes=20, random_state=0)
    share = ThresholdAttack(victim, signal=Merlin(n_changes=10))
    advantages = [
        one.fit(records, membership).score(records, membership) for one in (attack, share)
    ]
    assert advantages[0] > 0.2
    assert advantages[0] > advantages[1]
