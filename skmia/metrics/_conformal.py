"""How rarely a non-member scores as high."""

import numpy as np
from numpy.typing import ArrayLike

from .._core.checks import check_finite_vector


def conformal_pvalues(y_score: ArrayLike, nonmember_score: ArrayLike) -> np.ndarray:
    """P-values of membership from the scores of known non-members.

    Scores of file attacks and of many others rank records, but are not calibrated probabilities. If
    some non-members are known that are exchangeable with the other non-members, and the attack
    scored them together with all records without being told which they are, then the share of them
    that scores at least as high as a record is a valid p-value of the record, whatever the attack
    is worth: a non-member has one of at most ``alpha`` with a probability of at most ``alpha``.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Finite scores of records, higher means more likely a member.
    nonmember_score : array-like of shape (m,)
        Finite scores of known non-members by the same attack.

    Returns
    -------
    pvalues : ndarray of shape (n,)
        ``(1 + k) / (1 + m)``, where k known non-members score at least as high; in (0, 1].

    Raises
    ------
    ValueError
        If no non-members are known, or a score is not finite.

    See Also
    --------
    list_members : List of records with a bounded share of non-members on average.

    Notes
    -----
    The smallest p-value is ``1 / (1 + m)``. P-values of several records share the non-members, so
    they depend on each other; the Benjamini-Hochberg list of conformal p-values keeps its false
    discovery rate nevertheless [1]_.

    References
    ----------
    .. [1] Bates, S., Candès, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers
       with conformal p-values. Annals of Statistics 51.

    Examples
    --------
    >>> from skmia.metrics import conformal_pvalues
    >>> conformal_pvalues([0.1, 2.5, 9.0], nonmember_score=[0.0, 1.0, 2.0, 3.0])
    array([0.8, 0.4, 0.2])
    """
    scores = check_finite_vector(y_score, "y_score")
    known = np.sort(check_finite_vector(nonmember_score, "nonmember_score"))
    if not len(known):
        raise ValueError("nonmember_score must hold at least one known non-member; got none.")
    n_as_high = len(known) - np.searchsorted(known, scores, side="left")
    return (1 + n_as_high) / (1 + len(known))
