"""Conformal p-values hold for non-members, whatever the scores are."""

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy.stats import binom, false_discovery_control
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from skmia import Records
from skmia.attacks import NodeEquationsAttack
from skmia.metrics import conformal_pvalues


def test_pvalue_counts_known_non_members_that_score_as_high():
    known = [3.0, 1.0, 2.0, 2.0]
    expected = [5 / 5, 5 / 5, 4 / 5, 4 / 5, 2 / 5, 1 / 5]
    np.testing.assert_allclose(conformal_pvalues([-1, 1, 1.5, 2, 3, 4], known), expected)


@pytest.mark.parametrize("decimals", [0, 8], ids=["many ties", "no ties"])
def test_a_non_member_is_listed_as_rarely_as_promised(decimals):
    rng = np.random.default_rng(0)
    n_trials, hits = 1500, 0
    for _ in range(n_trials):
        scores = rng.normal(size=40).round(decimals)
        hits += conformal_pvalues(scores[:1], scores[1:])[0] <= 0.1
    assert hits <= binom.ppf(0.9999, n_trials, 0.1)
    if decimals:
        assert hits >= binom.ppf(0.0001, n_trials, 0.1)  # 4 of 40 ranks, exactly


@pytest.mark.slow  # p-values of drawn scores are as rare as promised
def test_lists_of_a_file_attack_hold_few_non_members():
    X, y = load_breast_cancer(return_X_y=True)
    records, shares, sizes = Records(X, y), [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        member = np.zeros(len(y), dtype=bool)
        member[order[:280]] = True
        # A tenth of the members is not among the candidates, so that scores are not calibrated.
        missing, known = order[:28], order[280:400]
        model = HistGradientBoostingClassifier(max_iter=20).fit(X[member], y[member])
        candidates = np.setdiff1d(order, missing)
        attack = NodeEquationsAttack(FrozenEstimator(model), outsiders=0.1, random_state=0)
        scores = np.full(len(y), -np.inf)
        scores[candidates] = attack.fit(records[candidates]).score_samples(records[candidates])
        asked = np.setdiff1d(candidates, known)
        pvalues = conformal_pvalues(scores[asked], scores[known])
        listed = false_discovery_control(pvalues) <= 0.2
        sizes.append(listed.sum())
        shares.append((~member[asked])[listed].mean() if listed.any() else 0.0)
    assert np.mean(sizes) > 10
    # On average at most 0.2, with the standard error of 6 lists.
    assert np.mean(shares) < 0.2 + 3 * np.std(shares) / np.sqrt(6)


@parametrize_refusals(
    (lambda: conformal_pvalues([1.0], []), "at least one known non-member"),
    (lambda: conformal_pvalues([np.nan], [1.0]), "y_score must be finite"),
    (lambda: conformal_pvalues([1.0], [np.inf]), "nonmember_score must be finite"),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)
