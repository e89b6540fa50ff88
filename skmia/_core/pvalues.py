"""Correction of p-values for their number, and their format."""

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

# Relative difference up to which a p-value is at its bound. P-values of ranks and permutations are
# fractions, which may lie on a bound, and both are rounded some times, by 1.1e-16 each. A bound of
# one minus a confidence level is off by as much as the level itself.
_ROUNDED, _ROUNDED_LEVEL = 1e-12, 2.0**-53


def is_significant(pvalue, alpha):
    """Return whether a p-value is at most alpha; rounding does not decide if they are equal."""
    return pvalue <= alpha * (1 + _ROUNDED) + _ROUNDED_LEVEL


def adjust_pvalues(pvalues, method, alpha):
    """Decide which hypotheses are rejected, and adjust p-values for their number."""
    if method != "holm":
        from statsmodels.stats.multitest import multipletests

        return multipletests(pvalues, alpha=alpha * (1 + _ROUNDED), method=method)[:2]
    # For Holm alone statsmodels calls gc.collect, a tenth of a second in a process with skmia.
    order = np.argsort(pvalues, kind="stable")
    steps = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(steps, 1)
    return is_significant(adjusted, alpha), adjusted


def count_least_rejected(n_hypotheses, smallest, alpha):
    """Return the least number that a list of Benjamini and Hochberg has, if it has any.

    The p-values are at least the smallest one.
    """
    return max(1, int(np.ceil(n_hypotheses * smallest / alpha * (1 - _ROUNDED))))


def format_pvalue(pvalue, smallest, digits=2):
    """Format a p-value as ``p = 0.012``, or as ``p ≤ 0.002`` if it is the smallest possible one."""
    if pvalue <= 0:
        return "p < 1e-300"
    if pvalue <= smallest * (1 + 1e-9):
        return f"p ≤ {smallest:.{digits}g}"
    return f"p = {min(1, pvalue):.{digits}g}"


def limit_rates(successes, trials, alpha):
    """Return the limits of the rates that a beta mixture of bets has not rejected."""
    k, n = successes, trials
    inside = k / np.maximum(n, 1)
    least = np.log(alpha) + betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)

    def is_in(rates):
        return xlogy(k, rates) + xlog1py(n - k, -rates) > least

    def search(end):
        """Return where the likelihood falls to the least, between the estimate and an end."""
        near, far = inside, np.full(len(k), end)
        reaches_end = is_in(far)
        for _ in range(60):
            middle = (near + far) / 2
            keeps = is_in(middle)
            near, far = np.where(keeps, middle, near), np.where(keeps, far, middle)
        return np.where(reaches_end, end, far)

    return search(0.0), search(1.0)
