"""p-values in words."""


def format_pvalue(pvalue, smallest, digits=2):
    """``p = 0.012``, or ``p ≤ 0.002`` where it is the smallest that there can be.

    Parameters
    ----------
    pvalue : float
        Sums of p-values above 1 are shown as 1.
    smallest : float
        What the number of permutations allows, ``1 / (1 + n_permutations)`` for one side.
    digits : int, default=2
        Significant digits.

    Returns
    -------
    text : str
    """
    if pvalue <= smallest * (1 + 1e-9):
        return f"p ≤ {smallest:.{digits}g}"
    return f"p = {min(1, pvalue):.{digits}g}"
