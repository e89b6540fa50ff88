"""p-values in words: a permutation p-value at its floor is a bound."""

import pytest

from skmia._core.pvalues import format_pvalue


@pytest.mark.parametrize(
    ("pvalue", "smallest", "text"),
    [
        (0.002, 2 / 1000, "p ≤ 0.002"),
        (2 * 0.001, 2 / 1000, "p ≤ 0.002"),
        (0.003, 2 / 1000, "p = 0.003"),
        (0.01234, 1 / 1000, "p = 0.012"),
        (1.3, 1 / 1000, "p = 1"),
        (1 / 101, 1 / 101, "p ≤ 0.0099"),
    ],
)
def test_pvalues(pvalue, smallest, text):
    assert format_pvalue(pvalue, smallest) == text
