"""Simulations with few of their draws in each run of the suite, and with all in slow tests."""

import pytest
from scipy.stats import binom


def few_and_many(n_draws):
    """Return a mark that gives a test ``n_draws``: a tenth of them, at most 50, and slowly all."""
    many = pytest.param(n_draws, marks=pytest.mark.slow, id=f"{n_draws} draws")
    few = pytest.param(max(2, min(n_draws // 10, 50)), id="few draws")
    return pytest.mark.parametrize("n_draws", [few, many])


def most_by_chance(n_draws, rate, once_in=1000):
    """Return the number of successes that so many draws exceed once in 1,000 simulations at most.

    It is that of the binomial law, so a test that counts fewer draws has the limit that belongs to
    them.
    """
    return int(binom.isf(1 / once_in, n_draws, rate))
