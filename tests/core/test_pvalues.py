"""p-values: corrected for their number, and in words, where one at its floor is a bound."""

import gc

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from skmia._core.pvalues import adjust_pvalues, format_pvalue, is_significant


@pytest.mark.parametrize(
    ("pvalue", "smallest", "text"),
    [
        (0.002, 2 / 1000, "p ≤ 0.002"),
        (2 * 0.001, 2 / 1000, "p ≤ 0.002"),
        (0.003, 2 / 1000, "p = 0.003"),
        (0.01234, 1 / 1000, "p = 0.012"),
        (1.3, 1 / 1000, "p = 1"),
        (1 / 101, 1 / 101, "p ≤ 0.0099"),
        (1e-200, 0, "p = 1e-200"),
        (0.0, 0, "p < 1e-300"),
    ],
)
def test_pvalues(pvalue, smallest, text):
    assert format_pvalue(pvalue, smallest) == text


@pytest.mark.parametrize("method", ["holm", "bonferroni", "fdr_bh"])
@pytest.mark.parametrize("n_values", [1, 2, 7, 40])
def test_adjusted_pvalues_are_those_of_statsmodels(method, n_values):
    rng = np.random.default_rng(n_values)
    pvalues = np.round(rng.uniform(size=n_values) ** 3, 2)  # with ties, zeros and large ones
    reject, adjusted = adjust_pvalues(pvalues, method, 0.05)
    expected = multipletests(pvalues, alpha=0.05, method=method)
    np.testing.assert_array_equal(reject, expected[0])
    np.testing.assert_allclose(adjusted, expected[1], rtol=1e-12)


@pytest.mark.parametrize(
    "pvalues, method, alpha, n_rejected",
    [
        ([1 / 150] * 10 + [1.0] * 5, "fdr_bh", 0.01, 10),
        ([1 / 150] * 9 + [1.0] * 6, "fdr_bh", 0.01, 0),
        ([0.7 / 7] * 7, "bonferroni", 0.7, 7),
        ([0.7 / 7] * 7, "holm", 0.7, 7),
        ([0.0501 / 3] * 3, "holm", 0.05, 0),
    ],
)
def test_rounding_does_not_decide_at_the_bound(pvalues, method, alpha, n_rejected):
    assert adjust_pvalues(np.array(pvalues), method, alpha)[0].sum() == n_rejected


def test_pvalue_of_a_tenth_is_significant_at_the_level_of_nine_tenths():
    assert 0.1 > 1 - 0.9
    assert is_significant(0.1, 1 - 0.9) and not is_significant(0.1 + 1e-9, 1 - 0.9)


def test_a_pvalue_at_the_level_is_significant_whatever_the_floats():
    levels = np.array([0.8, 0.9, 0.95, 0.99, 1 - 1e-9])
    assert is_significant(np.array([0.2, 0.1, 0.05, 0.01, 1e-9]), 1 - levels).all()
    assert not is_significant(np.array([0.201, 0.101, 0.0501, 0.0101, 1.1e-9]), 1 - levels).any()
    assert not is_significant(np.nan, 0.1)
    assert adjust_pvalues(np.array([0.05, 0.5]), "holm", 1 - 0.9)[0].tolist() == [True, False]


def test_holm_does_not_search_for_garbage(monkeypatch):
    monkeypatch.setattr(gc, "collect", lambda *generation: pytest.fail("a tenth of a second"))
    adjust_pvalues(np.array([0.01, 0.2, 0.04]), "holm", 0.05)
