"""Smallest false positive rate that a number of non-members can resolve."""

import math
import warnings

from .._core.checks import RATE_TOLERANCE, check_option
from .._core.numbers import check_number
from ..exceptions import ResolutionWarning

# The standard error of a rate that is based on ten false positives is a third of the rate.
MIN_FALSE_POSITIVES = 10
UNRESOLVABLE_POLICIES = ("warn", "ignore", "raise")


def resolvable_fpr(n_nonmembers: int) -> float:
    """Return the smallest false positive rate at which `n_nonmembers` allow 10 false positives.

    The standard error of a rate that is based on 10 false positives is about a third of the rate.
    At smaller rates the functions of this module warn with
    :class:`~skmia.exceptions.ResolutionWarning`.

    Parameters
    ----------
    n_nonmembers : int
        Number of non-members among the evaluated records; 0 or more.

    Returns
    -------
    fpr : float
        A fraction in (0, 1]; infinity for fewer than 10 non-members, which cannot resolve any rate.

    Raises
    ------
    ValueError
        If `n_nonmembers` is not a whole number of at least 0.

    See Also
    --------
    operating_point : The true positive rate at such a rate, with its interval.

    Examples
    --------
    >>> from skmia.metrics import resolvable_fpr
    >>> resolvable_fpr(5000), resolvable_fpr(9)
    (0.002, inf)
    """
    check_number(n_nonmembers, "n_nonmembers", "a whole number from 0 on", 0, whole=True)
    if n_nonmembers < MIN_FALSE_POSITIVES:
        return math.inf
    return float(MIN_FALSE_POSITIVES / n_nonmembers)


def check_resolution(n_nonmembers, max_fpr, on_unresolvable):
    """Return whether `n_nonmembers` resolve the rate `max_fpr`; warn or raise if requested."""
    check_option(on_unresolvable, "on_unresolvable", UNRESOLVABLE_POLICIES)
    expected = n_nonmembers * max_fpr
    if expected >= MIN_FALSE_POSITIVES * (1 - RATE_TOLERANCE):
        return True
    message = (
        f"max_fpr={max_fpr:g} cannot be resolved with {n_nonmembers} non-members: it allows "
        f"{expected:.3g} false positives, and at least {MIN_FALSE_POSITIVES} are needed."
    )
    if on_unresolvable == "raise":
        raise ValueError(message)
    if on_unresolvable == "warn":
        warnings.warn(message, ResolutionWarning, stacklevel=3)
    return False
