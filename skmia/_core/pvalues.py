"""Formatting of p-values."""


def format_pvalue(pvalue, smallest, digits=2):
    """Format a p-value as ``p = 0.012``, or as ``p ≤ 0.002`` if it is the smallest possible one.

    Parameters
    ----------
    pvalue : float
        P-value; sums of p-values above 1 are shown as 1.
    smallest : float
        Smallest p-value that the permutations allow, ``1 / (1 + n_permutations)`` for one side.
    digits : int, default=2
        Number of significant digits.

    Returns
    -------
    text : str
    """
    if pvalue <= smallest * (1 + 1e-9):
        return f"p ≤ {smallest:.{digits}g}"
    return f"p = {min(1, pvalue):.{digits}g}"
