"""The positive control: a model that has memorized its training records."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.tree import ExtraTreeClassifier

from ..._core.checks import check_confidence_level
from ..._core.features import as_matrix
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.types import Seed
from ..._core.validation import check_membership, check_records
from .._plan import check_pool_settings
from ..measure import FEWEST
from ..victim import train_victim
from ._control import BaseControlCheck, ControlResult, attack_control, make_control

# Enough to detect a gap of one half, in about a second.
_MOST_RECORDS = 5000


def positive_control(
    records: Records,
    membership: ArrayLike,
    *,
    shadows: int = 16,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> ControlResult:
    """Attack a model that has memorized its training records, which must be detected.

    The victim is a tree with random splits and unlimited depth. It is trained on the members with
    random labels, so it is right about members, and about non-members half of the time. If not even
    this is detected, there are too few records, and an audit that finds nothing is not evidence of
    anything.

    Parameters
    ----------
    records : Records of n records
        Labeled records, members and non-members mixed. If there are more than 5,000, a random
        sample of this size is used. The values of other than numeric columns are replaced by
        numbers.
    membership : array-like of shape (n,)
        1 for members, 0 for others.
    shadows : int, default=16
        Number of shadow models, which are also trees.
    confidence_level : float, default=0.95
        Confidence level of the intervals; the control fails if the p-value is above one minus this
        level.
    n_jobs : int, default=None
        Number of trees trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls the labels and the trees. Pass an int for reproducible results.

    Returns
    -------
    control : ControlResult
        Result of the default attacks of :func:`audit`.

    Raises
    ------
    ValueError
        If there are fewer than 2 members or non-members.

    See Also
    --------
    negative_control : Attacks a model in which nothing must be found.

    Examples
    --------
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import positive_control
    >>> records, membership = make_membership_problem(random_state=0)
    >>> control = positive_control(records, membership, random_state=0)
    >>> control.passed
    True
    """
    check_records(records)
    check_pool_settings("positive_control", n_jobs=n_jobs)
    membership = check_membership(membership, len(records))
    level = check_confidence_level(confidence_level)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    if len(records) > _MOST_RECORDS:
        rows = rng.choice(len(records), _MOST_RECORDS, replace=False)
        records, membership = records[rows], membership[rows]
    labels = _draw_labels(membership, rng)
    fields = {name: records[name] for name in ("group_by",) if name in records.fields}
    renamed = Records(as_matrix(records), labels, **fields)
    tree = ExtraTreeClassifier(max_features=1, random_state=seed)
    victim = train_victim(tree, renamed, membership, seed)
    pooling = {"shadows": shadows, "n_jobs": n_jobs}
    case = make_control(victim, renamed, membership, "default", level, seed, **pooling)
    frame, null = attack_control(case, seed)
    passed = bool(null.pvalue <= 1 - level)
    return ControlResult("positive", passed, null.pvalue, frame, null.n_permutations)


def _draw_labels(membership, rng):
    """Draw labels that are balanced on each side, so that labels alone do not reveal the side."""
    labels = np.empty(len(membership), dtype=int)
    for side in (membership, ~membership):
        if side.sum() < FEWEST:
            raise ValueError(
                f"The control needs {FEWEST} members and {FEWEST} non-members; got "
                f"{membership.sum()} and {(~membership).sum()}."
            )
        labels[side] = rng.permutation(np.arange(side.sum()) % 2)
    return labels


class PositiveControlCheck(BaseControlCheck):
    """Whether the attacks detect a model that has memorized its training records.

    If an audit finds nothing, its result is only worth as much as this control, which therefore
    runs even if it was not requested.
    """

    name = "positive control"
    reads = ("permuted membership",)
    where = "On a model that memorized its training records"
    failure = "they could not have found anything here"

    def _is_wanted(self, case, findings):
        found = findings.permutation.pvalue <= (1 - case.level) / 2
        return case.controls or not found

    def _attack(self, case, run):
        return positive_control(
            case.records,
            case.membership,
            confidence_level=case.level,
            n_jobs=case.request.n_jobs,
            random_state=case.seeds["checks"],
        )
