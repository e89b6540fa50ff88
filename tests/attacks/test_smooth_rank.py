"""P-values by rank, without steps, against the same computed for one record after the other."""

import numpy as np
import pytest
from scipy import stats

from skmia.attacks._vulnerable_records import estimate_pooled_variance, smooth_pvalues

POOLED = np.array([1.0])


def pvalues_of(target, values, pooled=POOLED):
    """P-values of several targets beside the same OUT models."""
    target, values = np.asarray(target, dtype=float), np.asarray(values, dtype=float)
    shadows = np.repeat(values[:, None], len(target), axis=1)[None]
    outside = np.ones(shadows.shape[1:], dtype=bool)
    return np.exp(smooth_pvalues(target[None], shadows, outside, pooled)[0])


def one_more(values, pooled=1.0, strength=4.0):
    n, mean = len(values), np.mean(values)
    dof = strength + n - 1
    variance = (strength * pooled + np.sum((values - mean) ** 2)) / dof
    return stats.t(dof, mean, np.sqrt(variance * (1 + 1 / n)))


def test_between_out_models_it_is_linear():
    got = pvalues_of([3.5, 3.0, 2.5, 1.1], [1.0, 2.0, 4.0])
    np.testing.assert_allclose(got, np.array([1.25, 1.5, 1.75, 2.9]) / 4)


def test_beyond_them_it_falls_as_the_tails_do():
    values = [1.0, 2.0, 4.0]
    law = one_more(values)
    high, low = np.array([4.1, 6.0, 30.0]), np.array([0.9, -3.0])
    np.testing.assert_allclose(pvalues_of(high, values), law.sf(high) / law.sf(4) / 4, rtol=1e-6)
    np.testing.assert_allclose(pvalues_of(low, values), 1 - law.cdf(low) / law.cdf(1) / 4)


def test_ties_count_for_the_other_side():
    got = pvalues_of([2.0, 4.0, 2.0 + 1e-9], [1.0, 2.0, 2.0, 4.0])
    np.testing.assert_allclose(got, np.array([4, 2, 4]) / 5)
    np.testing.assert_allclose(pvalues_of([3.0], [3.0, 3.0]), 1)


def test_one_model_and_extreme_evidence_give_finite_numbers():
    got = pvalues_of([1e6, -1e6, 0.5, 0.0], [0.0])
    assert ((got > 0) & (got <= 1)).all()
    assert got[0] < got[2] < got[3] <= got[1]


def test_models_that_were_trained_on_a_record_do_not_count():
    rng = np.random.default_rng(0)
    shadows, outside = rng.normal(size=(2, 10, 30)), rng.random((10, 30)) < 0.6
    outside[0] = True
    target = rng.normal(size=(2, 30))
    pooled = estimate_pooled_variance([(None, shadows, ~outside)])
    got = smooth_pvalues(target, shadows, outside, pooled)
    for q in range(2):
        groups = [shadows[q, outside[:, i], i] for i in range(30)]
        squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
        expected = squares / sum(len(group) - 1 for group in groups)
        assert pooled[q] == pytest.approx(expected)
        for i in range(30):
            alone = np.log(pvalues_of([target[q, i]], groups[i], pooled[q : q + 1]))
            np.testing.assert_allclose(got[q, i], alone[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("n_out", [4, 16])
@pytest.mark.parametrize("kind", ["normal", "skewed", "discrete"])
def test_levels_that_ranks_resolve_hold_for_any_distribution(n_out, kind):
    rng = np.random.default_rng(0)
    draw = {
        "normal": rng.normal,
        "skewed": lambda size: rng.exponential(size=size) ** 2,
        "discrete": lambda size: rng.integers(0, 3, size).astype(float),
    }[kind]
    n = 20_000
    values = draw(size=(n_out + 1, n))
    outside = np.ones((n_out, n), dtype=bool)
    pvalues = np.exp(smooth_pvalues(values[:1], values[None, 1:], outside, POOLED)[0])
    for i in range(1, n_out + 1):
        level = i / (n_out + 1)
        assert (pvalues <= level * (1 + 1e-9)).sum() <= stats.binom.isf(1e-4, n, level)
        if kind != "discrete":
            assert (pvalues <= level * (1 + 1e-9)).sum() >= stats.binom.ppf(1e-4, n, level)


def test_level_in_the_tail_holds_for_normal_evidence():
    rng = np.random.default_rng(0)
    n = 20_000
    values = rng.normal(size=(5, n))
    outside = np.ones((4, n), dtype=bool)
    pvalues = np.exp(smooth_pvalues(values[:1], values[None, 1:], outside, POOLED)[0])
    for level in (0.01, 0.05, 0.1):
        assert (pvalues <= level).sum() <= stats.binom.isf(1e-4, n, level)
