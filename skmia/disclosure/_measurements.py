"""Measured numbers that a policy limits, and conditions under which they were measured again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from .._core.numbers import show
from ..metrics import Interval
from ._result import StructuralCheck


@dataclass(frozen=True)
class Measurement:
    """A number with its uncertainty.

    Attributes
    ----------
    name : str
        Name of the number in the limits of a policy, such as ``"auc"``.
    interval : callable or Interval
        ``interval(level)`` returns the two-sided :class:`~skmia.metrics.Interval` of a confidence
        level, such as ``lambda level: auc_interval(membership, scores, confidence_level=level)``.
        An Interval is one of the level of the policy, and its distances to the estimate are those
        of a normal distribution at other levels. A number without uncertainty has three equal
        parts.
    group : str, default="all"
        ``"all"``, or the group of records that it is about, such as ``"race=Black"``.
    n_records : int, default=None
        Number of records, of members and non-members together. If None, it is not known.
    """

    name: str
    interval: Callable[[float], Interval] | Interval
    group: str = "all"
    n_records: int | None = None

    def at(self, level: float, stated: float) -> Interval:
        """Return the interval of a confidence level.

        Parameters
        ----------
        level : float
            Confidence level.
        stated : float
            Confidence level of an interval that was given as one.

        Returns
        -------
        interval : Interval

        Raises
        ------
        ValueError
            If there is no interval with ordered ends.
        """
        if callable(self.interval):
            return _check_interval(self.interval(level), self.name)
        estimate, low, high = _check_interval(self.interval, self.name)
        factor = ndtri((1 + level) / 2) / ndtri((1 + stated) / 2)
        return Interval(
            estimate, estimate - factor * (estimate - low), estimate + factor * (high - estimate)
        )


def _check_interval(interval, name):
    try:
        estimate, low, high = map(float, interval)
    except (TypeError, ValueError):
        estimate, low, high = 0.0, 1.0, 0.0
    if not low <= estimate <= high:
        raise ValueError(
            f"The interval of {name} must be (estimate, low, high) with low <= estimate <= high; "
            f"got {show(interval)}."
        )
    return Interval(estimate, low, high)


@dataclass(frozen=True)
class Condition:
    """A set of conditions of a release, with what was measured under it.

    Attributes
    ----------
    name : str
        What is done, such as ``"answers rounded to 2 digits"``.
    measurements : sequence of Measurement
        Numbers measured under the condition.
    checks : sequence of StructuralCheck, default=None
        Structural checks under the condition; None if they are the same as without it.
    cost : float, default=0.0
        Price by which conditions are compared, such as the loss of accuracy.
    same_records : bool, default=False
        Whether the numbers were measured on the same records.
    adapted : bool, default=False
        Whether the attack knew of the condition and was adapted to it.
    release : str, default=None
        Way of release under the condition, such as ``"service"`` for a model that is to be released
        as a file; its limits and checks then count. If None, it is the way that was asked for.
    """

    name: str
    measurements: Sequence[Measurement]
    checks: Sequence[StructuralCheck] | None = None
    cost: float = 0.0
    same_records: bool = False
    adapted: bool = False
    release: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the numbers may count: same records, adapted attack."""
        return self.same_records and self.adapted
