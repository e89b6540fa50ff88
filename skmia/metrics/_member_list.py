"""Lists of members with a bounded share of false entries."""

from dataclasses import dataclass

import numpy as np

from .._core.metric_inputs import check_finite_vector
from .._core.numbers import SMALLEST, check_number
from .._core.pvalues import adjust_pvalues, count_least_rejected
from .._core.types import ArrayLike


def conformal_pvalues(y_score: ArrayLike, nonmember_score: ArrayLike) -> np.ndarray:
    """Return p-values of membership from the scores of known non-members.

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


@dataclass(frozen=True)
class MemberList:
    """Records listed as members, and the evidence.

    Attributes
    ----------
    positions : ndarray of shape (k,)
        Positions of the listed records, those with the smallest p-values first, and of these the
        ones with the highest scores.
    pvalues : ndarray of shape (n,)
        P-value of each record, listed or not.
    false_share : float
        Promised share of entries that are non-members, on average.
    n_known : int
        Number of scores of non-members that calibrated the p-values.
    from_shadows : bool
        Whether they are scores of shadow models, and not of known non-members of the victim.
    """

    positions: np.ndarray
    pvalues: np.ndarray
    false_share: float
    n_known: int
    from_shadows: bool = False

    @property
    def least_entries(self) -> int:
        """Smallest number of entries that a list of so many records can have."""
        return count_least_rejected(len(self.pvalues), 1 / (self.n_known + 1), self.false_share)

    def summary(self) -> str:
        """State how many records are listed and what is promised.

        Returns
        -------
        text : str
        """
        text = (
            f"{len(self.positions)} of {len(self.pvalues)} records are listed as members; on "
            f"average over repetitions at most {self.false_share:.3g} of a list are non-members. "
            f"Calibrated on {self.n_known} {self._source}, with which a list has "
        )
        if self.least_entries > len(self.pvalues):
            return text + f"no entries: more {self._source.split(',')[0]} are needed."
        return text + f"{self.least_entries} entries or more, or none."

    @property
    def _source(self):
        if self.from_shadows:
            return "scores of non-members by shadow models, if the victim behaves like them"
        return "known non-members"


def list_members(
    y_score: ArrayLike,
    nonmember_score: ArrayLike,
    *,
    false_share: float = 0.1,
    from_shadows: bool = False,
) -> MemberList:
    """List records as members, with a bounded share of false entries.

    The p-values come from :func:`conformal_pvalues`, and the Benjamini-Hochberg procedure chooses
    the list. The share of non-members among its entries, 0 for an empty list, is on average over
    repetitions at most `false_share` times the share of non-members among the records. If none of
    them is a member, the list has an entry with a probability of at most `false_share`.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Finite scores of records of unknown membership, higher means more likely a member.
    nonmember_score : array-like of shape (m,)
        Finite scores of known non-members by the same attack on the same model. They must be
        exchangeable with the non-members among the records, and the attack must not be told which
        they are.
    false_share : float, default=0.1
        Allowed share of false entries, in (0, 1).
    from_shadows : bool, default=False
        Whether the scores of non-members come from
        :func:`skmia.attacks.shadow_nonmember_scores`. It changes only what the summary states.

    Returns
    -------
    members : MemberList
        The list, its p-values and a summary.

    Raises
    ------
    ValueError
        If no non-members are known, a score is not finite, or `false_share` is out of range.

    See Also
    --------
    conformal_pvalues : The p-values.
    skmia.attacks.shadow_nonmember_scores : Scores of non-members if none are known.

    Notes
    -----
    Choose scores that compare each record with its own shadow models, such as those of
    :class:`~skmia.attacks.LiRA`: with a raw loss the promise holds as well, but non-members that
    are hard to predict keep the list short, often empty. All records share one calibration set:
    p-values of each record from a few dozen of its shadow models are too large for a list, or
    assume normal signals.

    If no non-members are known, shadow models that are treated as the victim give the scores of
    non-members. The promise then holds only if the victim was trained like the shadow models, on as
    many records from the same population.

    With n records and m known non-members a list has at least ``n / (m + 1) / false_share``
    entries. The promise is about the average over repetitions, not about this list. For people with
    several records, use one score per person and known non-members who are people.

    References
    ----------
    Bates, S., Candès, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with
    conformal p-values. Annals of Statistics 51.

    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. JRSS-B 57.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import list_members
    >>> rng = np.random.default_rng(0)
    >>> scores = np.append(rng.normal(4, 1, size=20), rng.normal(size=80))
    >>> members = list_members(scores, rng.normal(size=500))
    >>> members.summary()
    '20 of 100 records are listed as members; on average over repetitions at most 0.1 of a list are
    non-members. Calibrated on 500 known non-members, with which a list has 2 entries or more, or
    none.'
    """
    check_number(false_share, "false_share", "above 0 and below 1", SMALLEST, 1 - 1e-16)
    scores = check_finite_vector(y_score, "y_score")
    known = check_finite_vector(nonmember_score, "nonmember_score")
    pvalues = conformal_pvalues(scores, known)
    listed, _ = adjust_pvalues(pvalues, "fdr_bh", false_share)
    order = np.lexsort((-scores, pvalues))
    positions = order[listed[order]]
    return MemberList(positions, pvalues, float(false_share), len(known), bool(from_shadows))
