"""Correction of p-values for their number, and their format."""

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

# 1 - 0.9 is below 10 / 100 by rounding, and a p-value at most the level is significant.
_ROUNDING = 1e-15


def is_significant(pvalues, confidence_level):
    """Return whether p-values are at most one minus a confidence level."""
    return pvalues <= 1 - confidence_level + _ROUNDING


def adjust_pvalues(pvalues, method, alpha):
    """Decide which hypotheses are rejected, and adjust p-values for their number."""
    alpha = alpha + _ROUNDING
    if method != "holm":
        from statsmodels.stats.multitest import multipletests

        return multipletests(pvalues, alpha=alpha, method=method)[:2]
    # For Holm alone statsmodels calls gc.collect, a tenth of a second in a process with skmia.
    order = np.argsort(pvalues, kind="stable")
    steps = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(steps, 1)
    return adjusted <= alpha, adjusted


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
