"""The smallest false positive rate that can be told."""

import math

import numpy as np
import pytest

from skmia.metrics import operating_point, resolvable_fpr


@pytest.mark.parametrize(
    "n, fpr", [(10, 1.0), (1000, 0.01), (10_000, 0.001), (9, math.inf), (0, math.inf)]
)
def test_known_rates(n, fpr):
    assert resolvable_fpr(n) == fpr
    assert type(resolvable_fpr(np.int64(n))) is float


@pytest.mark.parametrize("n", [10, 13, 77, 300, 999])
def test_it_is_where_the_warning_of_the_metrics_begins(n):
    membership, scores = np.repeat([1, 0], n), np.arange(2 * n)
    at, below = resolvable_fpr(n), 0.99 * resolvable_fpr(n)
    assert operating_point(membership, scores, at, on_unresolvable="ignore").resolvable
    assert not operating_point(membership, scores, below, on_unresolvable="ignore").resolvable


@pytest.mark.parametrize("n", [-1, 2.5, "10", None])
def test_numbers_that_count_nothing_are_refused(n):
    with pytest.raises(ValueError, match="n_nonmembers must be a whole number"):
        resolvable_fpr(n)
