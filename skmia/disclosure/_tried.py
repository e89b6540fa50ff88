"""Conditions of a release, by what was measured under each."""

from dataclasses import dataclass, field

from ._judge import (
    FAIL,
    MISSING,
    OPEN,
    PASS,
    JudgedLimit,
    judge_checks,
    judge_limits,
    judge_requirements,
)


@dataclass(frozen=True)
class JudgedCondition:
    """A condition of a release with what a policy says of it.

    Attributes
    ----------
    name : str
        What is done, such as ``"answers rounded to 2 decimals"``.
    release : str
        Way of release under the condition.
    cost : float
        Price by which conditions are compared.
    helps : bool
        Whether the policy allows a release under it.
    reasons : tuple of str
        Why not, in sentences; empty if it helps.
    limits : tuple of JudgedLimit
        The numbers under the condition. With several conditions their intervals are wider, so that
        trying many does not raise the chance of a false release.
    """

    name: str
    release: str
    cost: float
    helps: bool
    reasons: tuple[str, ...] = ()
    limits: tuple[JudgedLimit, ...] = field(default=(), repr=False)


def judge_conditions(policy, release, conditions, limits, checks, spoken):
    """Compare the numbers under each condition with a policy.

    Parameters
    ----------
    policy : Policy
    release : {"file", "service", "table"}
        Way of release that was asked for.
    conditions : sequence of Condition
        Those that do not count are left out.
    limits : list of JudgedLimit
        The numbers without a condition.
    checks : sequence of StructuralCheck
    spoken : mapping of str to (str or None)
        See :func:`judge_requirements`.

    Returns
    -------
    judged : list of JudgedCondition, the cheapest first
    """
    counted = sorted((part for part in conditions if part.counts), key=lambda part: part.cost)
    given = limits, checks, spoken, len(counted)
    return [_judge(policy, release, part, *given) for part in counted]


def _judge(policy, release, condition, limits, checks, spoken, n_tried):
    way = condition.release or release
    under = judge_limits(policy, way, condition.measurements, n_tried)
    given = checks if condition.checks is None else condition.checks
    judged = judge_checks(policy, way, given)
    if way != release:  # another way of release has limits of its own, which are all judged
        limits = [limit for limit in limits if limit.name in policy.limits[way]]
    reasons = [
        *(f"To be measured: {text}" for text in list_missing(under, judged)),
        *list_failures(under, judged),
        *_list_open(policy, under),
        *_list_lost(under, limits),
        *list_unmet(judge_requirements(policy, way, spoken)),
    ]
    helps = not reasons and any(limit.status == PASS for limit in under)
    return JudgedCondition(
        condition.name, way, float(condition.cost), helps, tuple(reasons), tuple(under)
    )


def list_missing(limits, checks):
    """What has to be measured before anything can be said, in sentences."""
    numbers = [f"{limit.name} ({limit.group})." for limit in limits if limit.status == MISSING]
    blocks = [check for check in checks if check.level == "block" and check.status == MISSING]
    return numbers + [f"{check.name}. {check.text}" for check in blocks]


def list_failures(limits, checks):
    """Numbers above their limits and checks that forbid a release, in sentences."""
    numbers = [write(limit) for limit in limits if limit.status == FAIL]
    blocks = [check for check in checks if check.level == "block" and check.status == FAIL]
    return numbers + [f"{check.name}: {check.text}" for check in blocks]


def list_unmet(requirements):
    """What was not able to find anything though the policy asks for it, in sentences."""
    return [one.text for one in requirements if not one.is_met]


def write(judged):
    """A sentence on a number and its limit."""
    estimate, low, high = judged.interval
    return (
        f"{judged.name} ({judged.group}): {estimate:.3g} [{low:.3g}, {high:.3g}], and the limit is "
        f"{judged.limit:g}."
    )


def _list_open(policy, under):
    if policy.undecided == "conditions":
        return []
    return [write(limit) for limit in under if limit.status == OPEN]


def _list_lost(under, limits):
    """Numbers that were measured without the condition and are not below their limits under it."""
    passed = _name_all(under, {PASS})
    known = _name_all(under, {PASS, OPEN, FAIL})
    failed = sorted(_name_all(limits, {FAIL}) - passed)
    absent = sorted(_name_all(limits, {FAIL, PASS, OPEN}) - known)
    return [f"Not measured again: {name} ({group})." for name, group in absent] + [
        f"Not shown to be below its limit: {name} ({group})."
        for name, group in failed
        if (name, group) in known
    ]


def _name_all(limits, statuses):
    return {(limit.name, limit.group) for limit in limits if limit.status in statuses}
