"""Correction of p-values for their number, and their format."""

import numpy as np


def adjust_pvalues(pvalues, method, alpha):
    """Decide which hypotheses are rejected, and adjust p-values for their number.

    Parameters
    ----------
    pvalues : ndarray of shape (n,)
        Without NaN.
    method : str
        Method of :func:`statsmodels.stats.multitest.multipletests`.
    alpha : float
        Level of all tests together.

    Returns
    -------
    reject : ndarray of shape (n,), dtype bool
    adjusted : ndarray of shape (n,)
    """
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
    """Format a p-value as ``p = 0.012``, or as ``p ≤ 0.002`` if it is the smallest possible one.

    Parameters
    ----------
    pvalue : float
        P-value; sums of p-values above 1 are shown as 1.
    smallest : float
        Smallest p-value that the permutations allow, ``1 / (1 + n_permutations)`` for one side; 0
        for other tests, whose p-value is 0 only where it is too small for a float.
    digits : int, default=2
        Number of significant digits.

    Returns
    -------
    text : str
    """
    if pvalue <= 0:
        return "p < 1e-300"
    if pvalue <= smallest * (1 + 1e-9):
        return f"p ≤ {smallest:.{digits}g}"
    return f"p = {min(1, pvalue):.{digits}g}"
