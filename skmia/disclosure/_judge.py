"""What a policy says of each number and of each structural check."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._core.numbers import show
from .._core.pages import scale
from ..metrics import Interval
from ._policy import REFERENCE, STORED, list_required_attacks
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
        factor = scale(level, stated)
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


PASS, FAIL, OPEN, MISSING, UNJUDGED = "pass", "fail", "undecided", "missing", "not judged"
# Numbers that are bounds from below: only their lower end is compared.
LOWER_ENDS = {"epsilon_lower", "exact_rare_copies"}


@dataclass(frozen=True)
class JudgedLimit:
    """A limit of a policy with the number that was measured.

    Attributes
    ----------
    name, group : str
        Name of the number, and group of records.
    limit : float
    interval : Interval or None
        Number with the ends of its interval at the level of the policy; None if it is missing.
    status : {"pass", "fail", "undecided", "missing", "not judged"}
        ``"not judged"`` is a group that is too small, for this number or for any.
    n_needed : int or None
        For an undecided number, of about how many records the interval would be narrow enough if
        the estimate stayed as it is.
    """

    name: str
    group: str
    limit: float
    interval: Interval | None
    status: str
    n_needed: int | None = None


@dataclass(frozen=True)
class JudgedCheck:
    """A structural check with the level that a policy gives it.

    Attributes
    ----------
    name : str
    level : {"block", "review", "note"}
    status : {"pass", "fail", "missing"}
        A check that cannot be said, or was not made, is missing.
    text : str
        What was found.
    """

    name: str
    level: str
    status: str
    text: str


@dataclass(frozen=True)
class JudgedRequirement:
    """What a policy asks to have been able to find something, and whether it was.

    Attributes
    ----------
    name : {"reference models", "stored numbers"}
    is_met : bool
    text : str
        Why not, and what would change it; empty if it is met.
    """

    name: str
    is_met: bool
    text: str = ""


_ASKED_FOR = {
    REFERENCE: "an attack that compares with reference models",
    STORED: "an attack on every stored number",
}
_UNTOLD = "Whether there was one is not said; recommend takes it as spoken."


def judge_requirements(policy, release, spoken):
    """Compare what was able to find something with what a policy asks for."""
    judged = []
    for name in list_required_attacks(policy, release):
        why = spoken.get(name, _UNTOLD)
        text = "" if why is None else f"The policy asks for {_ASKED_FOR[name]}. {why}"
        judged.append(JudgedRequirement(name, why is None, text))
    return judged


def judge_limits(policy, release, measurements, n_tried=1):
    """Compare numbers with the limits of a policy."""
    limits, chosen, small = policy.limits[release], [], []
    for number in measurements:
        scope = "all" if number.group == "all" else "each"
        if number.name in limits and scope in policy.groups:
            (small if _is_small(number, policy) else chosen).append(number)
    small = [JudgedLimit(one.name, one.group, limits[one.name], None, UNJUDGED) for one in small]
    failed = _reject(chosen, limits, policy.alpha)
    judged = [
        _judge(number, limits[number.name], k in failed, policy, n_tried)
        for k, number in enumerate(chosen)
    ]
    known = {(limit.name, limit.group) for limit in judged}
    groups = dict.fromkeys(["all", *(number.group for number in chosen)])
    # A group can be too small for a number that all records together have to resolve.
    missing = [
        JudgedLimit(name, group, limits[name], None, MISSING if group == "all" else UNJUDGED)
        for group in groups
        for name in policy.required.get(release, ())
        if (name, group) not in known
    ]
    return judged + small + missing


def _is_small(measurement, policy):
    n_records = measurement.n_records
    return measurement.group != "all" and n_records is not None and n_records < policy.min_group


def _reject(measurements, limits, alpha):
    """Numbers of the measurements whose lower end is above its limit, by Holm's procedure."""
    left, above = dict(enumerate(measurements)), [None]
    while left and above:
        level = 1 - alpha / len(left)
        above = [k for k, one in left.items() if one.at(level, 1 - alpha).low > limits[one.name]]
        left = {k: number for k, number in left.items() if k not in above}
    return set(range(len(measurements))) - set(left)


def _judge(measurement, limit, has_failed, policy, n_tried):
    stated = 1 - policy.alpha
    interval, needed = measurement.at(1 - policy.alpha / n_tried, stated), None
    end = interval.low if measurement.name in LOWER_ENDS else interval.high
    status = FAIL if has_failed else PASS if end <= limit else OPEN
    if measurement.name in LOWER_ENDS and status == OPEN:
        status = FAIL  # a bound has no other end, and its level is its own
    if status == OPEN:
        needed = _count_needed(measurement, interval, limit)
    return JudgedLimit(measurement.name, measurement.group, limit, interval, status, needed)


def _count_needed(measurement, interval, limit):
    """Records with which the nearer end would reach the limit: half the width for four times."""
    distance = abs(limit - interval.estimate)
    below = interval.estimate < limit
    half = interval.high - interval.estimate if below else interval.estimate - interval.low
    if not measurement.n_records or not distance:
        return None
    needed = measurement.n_records * max(half / distance, 1) ** 2
    if not needed < 2**53:
        return None
    # Two digits are more than an extrapolation knows; the rounding is of the float's own error.
    unit = 10 ** max(math.floor(math.log10(needed)) - 1, 0)
    return math.ceil(round(needed / unit, 6)) * unit


def judge_checks(policy, release, checks: Sequence):
    """Compare structural checks with a policy."""
    limits = policy.structure.get(release, {})
    made = {check.name: check for check in checks if check.release in (release, "both")}
    return [_judge_check(name, limit, made.get(name)) for name, limit in limits.items()]


def _judge_check(name, limit, check):
    if check is None:
        return JudgedCheck(name, limit.level, MISSING, "The check was not made.")
    if check.status == "cannot be said":
        return JudgedCheck(name, limit.level, MISSING, check.text)
    flagged = check.status == "flagged"
    if limit.least is not None and check.status != "not applicable":
        if not isinstance(check.value, int | float):
            raise ValueError(f"The check {name} must have a number; got {show(check.value)}.")
        flagged = check.value < limit.least
    return JudgedCheck(name, limit.level, FAIL if flagged else PASS, check.text)
