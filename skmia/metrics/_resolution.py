"""How small a false positive rate a number of non-members can show."""

import math
from numbers import Integral

from ._membership import MIN_FALSE_POSITIVES


def resolvable_fpr(n_nonmembers):
    """Smallest false positive rate at which `n_nonmembers` allow 10 false positives.

    The standard error of a rate that rests on 10 false positives is about a third of the rate. At
    smaller rates the functions of this module warn with
    :class:`~skmia.exceptions.ResolutionWarning`.

    Parameters
    ----------
    n_nonmembers : int
        Non-members among the records that an attack is measured on; 0 or more.

    Returns
    -------
    fpr : float
        A fraction in (0, 1]; infinity for fewer than 10 non-members, 0 included, because they
        resolve no rate.

    Raises
    ------
    ValueError
        If `n_nonmembers` is not a whole number from 0 on.

    See Also
    --------
    operating_point : The true positive rate at such a rate, with its interval.

    Examples
    --------
    >>> from skmia.metrics import resolvable_fpr
    >>> resolvable_fpr(5000), resolvable_fpr(9)
    (0.002, inf)
    """
    if not isinstance(n_nonmembers, Integral) or n_nonmembers < 0:
        raise ValueError(f"n_nonmembers must be a whole number from 0 on; got {n_nonmembers!r}.")
    if n_nonmembers < MIN_FALSE_POSITIVES:
        return math.inf
    return float(MIN_FALSE_POSITIVES / n_nonmembers)
