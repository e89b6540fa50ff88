"""Lists of members by the file of a model: how many of them are wrong, over many relabelings."""

import numpy as np
import pytest
from scipy.stats import binom, false_discovery_control
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from skmia import Records
from skmia.attacks import ReleasedModelAttack
from skmia.metrics import conformal_pvalues

N_DRAWS, N_KNOWN = 150, 120


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["complete", "a fifth missing"])
def scored(request):
    """Scores of candidates and their membership; the equations are solved once."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    member = rng.permutation(len(y)) < len(y) // 2
    model = HistGradientBoostingClassifier(max_iter=10, min_samples_leaf=40, random_state=0)
    victim = FrozenEstimator(model.fit(X[member], y[member]))
    known = ~member | (rng.random(len(y)) >= request.param)
    records = Records(X[known], y[known])
    attack = ReleasedModelAttack(victim, outsiders=request.param, random_state=0).fit(records)
    return attack.score_samples(records), member[known]


def draw_pvalues(scores, member, rng):
    """P-values of all candidates but some known non-members, and the membership of the others."""
    known = rng.choice(np.flatnonzero(~member), N_KNOWN, replace=False)
    others = np.setdiff1d(np.arange(len(member)), known)
    return conformal_pvalues(scores[others], scores[known]), member[others]


@pytest.fixture(scope="module")
def drawn(scored):
    """P-values and membership, each time with other known non-members."""
    rng = np.random.default_rng(1)
    return [draw_pvalues(*scored, rng) for _ in range(N_DRAWS)]


@pytest.fixture(scope="module")
def permuted(scored):
    """P-values where the membership is another one each time."""
    rng, (scores, member) = np.random.default_rng(3), scored
    return [draw_pvalues(scores, rng.permutation(member), rng)[0] for _ in range(N_DRAWS)]


@pytest.mark.parametrize("level", [0.01, 0.05, 0.2])
def test_non_members_have_small_pvalues_as_rarely_as_stated(drawn, level):
    rates = [np.mean(pvalues[~member] <= level) for pvalues, member in drawn]
    pvalues, member = drawn[-1]
    assert np.mean(rates) <= level + 3 * np.std(rates) / np.sqrt(N_DRAWS)
    assert np.mean(pvalues[member] <= level) > level  # members have them more often


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_the_share_of_non_members_in_lists_is_bounded(drawn, rate):
    shares, sizes = [], []
    for pvalues, member in drawn:
        listed = false_discovery_control(pvalues) <= rate
        shares.append(np.mean(~member[listed]) if listed.any() else 0.0)
        sizes.append(listed.sum())
    assert np.mean(shares) <= rate + 3 * np.std(shares) / np.sqrt(N_DRAWS)
    assert np.mean(sizes) > 0


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_nobody_is_listed_by_bits_that_the_file_does_not_know(permuted, rate):
    n_lists = sum((false_discovery_control(pvalues) <= rate).any() for pvalues in permuted)
    # Each list is a false discovery as a whole.
    assert n_lists <= binom.ppf(1 - 1e-4, N_DRAWS, rate)
