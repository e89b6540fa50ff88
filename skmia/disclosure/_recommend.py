"""The recommendation of a policy, from what was measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .._core.decisions import REQUEST, ROLES, list_decision
from .._core.escaping import SummaryMixin, join_names, visible
from .._core.levels import scale_interval
from .._core.metric_inputs import check_option
from .._core.numbers import check_number, show
from .._core.text import show_share, write_apart
from ..metrics import Interval
from ._policy import (
    LISTED,
    REFERENCE,
    RELEASES,
    STORED,
    Policy,
    is_own_number,
    list_required_attacks,
)
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
            return _check_measured_interval(self.interval(level), self.name)
        estimate, low, high = _check_measured_interval(self.interval, self.name)
        if not math.isfinite(estimate):
            return Interval(estimate, low, high)  # there is no wider one
        factor = scale_interval(level, stated)
        return Interval(
            estimate, estimate - factor * (estimate - low), estimate + factor * (high - estimate)
        )


def _check_measured_interval(interval, name):
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
_COPIES = {"exact_rare_copies", "copies_but_one_cell", "copied_identifiers"}
LOWER_ENDS = {"epsilon_lower"} | _COPIES


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
    """What a policy requires to have been able to find a leak, and whether it was able to.

    Attributes
    ----------
    name : {"reference models", "stored numbers", "all training rows"}
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
    LISTED: "all training rows among the members",
}
_UNTOLD = "Whether there was one is not said; say it by the parameter 'spoken' of recommend."


def judge_requirements(policy, release, spoken):
    """Compare what was able to find something with what a policy asks for."""
    judged = []
    for name in list_required_attacks(policy, release):
        # Nothing speaks against the members that are named, unless it is said.
        why = spoken.get(name, None if name == LISTED else _UNTOLD)
        text = "" if why is None else f"The policy asks for {_ASKED_FOR[name]}. {why}"
        judged.append(JudgedRequirement(name, why is None, text))
    return judged


def judge_limits(policy, release, measurements, n_tried=1):
    """Judge each number that a policy limits, and name those that are missing."""
    limits, chosen, small = policy.limits[release], [], []
    for number in measurements:
        scope = "all" if number.group == "all" else "each"
        if number.name in limits and scope in policy.groups:
            (small if _is_small(number, policy) else chosen).append(number)
    small = [JudgedLimit(one.name, one.group, limits[one.name], None, UNJUDGED) for one in small]
    failed = _reject(chosen, limits, policy.alpha)
    judged = [
        _judge_limit(number, limits[number.name], k in failed, policy, n_tried)
        for k, number in enumerate(chosen)
    ]
    known = {(limit.name, limit.group) for limit in judged}
    whole = ["all"] if "all" in policy.groups else []
    groups = dict.fromkeys([*whole, *(number.group for number in chosen)])
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


def _judge_limit(measurement, limit, has_failed, policy, n_tried):
    """Judge a number, with a wider interval if it is one of several tried.

    Trying many may not make it easier to pass, so a bound from below, of which the lower end is
    compared, stays at the level of the policy.
    """
    is_lower, stated = measurement.name in LOWER_ENDS, 1 - policy.alpha
    level = stated if is_lower else 1 - policy.alpha / n_tried
    interval, needed = measurement.at(level, stated), None
    end = interval.low if is_lower else interval.high
    status = FAIL if has_failed else PASS if end <= limit else OPEN
    if is_lower and status == OPEN:
        status = FAIL  # a bound has no other end, and its level is its own
    if status == OPEN:
        needed = _count_needed(measurement, interval, limit)
    return JudgedLimit(measurement.name, measurement.group, limit, interval, status, needed)


def _count_needed(measurement, interval, limit):
    """Return records with which the nearer end would reach the limit.

    Half the width for four times.
    """
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
    limits = policy.structure.get(release, {})
    made = {check.name: check for check in checks if check.release in (release, "both")}
    return [_judge_check(name, limit, made.get(name)) for name, limit in limits.items()]


def _judge_check(name, limit, check):
    """Compare a check with a policy: its number, as its own threshold can be another one."""
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


@dataclass(frozen=True)
class JudgedCondition:
    """A condition of a release with the result of a policy under this condition.

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
        trying many does not raise the chance of a false release. Those of bounds from below, of
        which the lower end is compared, are not: wider ones would pass more easily.
    """

    name: str
    release: str
    cost: float
    helps: bool
    reasons: tuple[str, ...] = ()
    limits: tuple[JudgedLimit, ...] = field(default=(), repr=False)


def _judge_condition(policy, release, condition, limits, checks, spoken, n_tried):
    way = condition.release or release
    under = judge_limits(policy, way, condition.measurements, n_tried)
    given = checks if condition.checks is None else condition.checks
    judged = judge_checks(policy, way, given)
    if way != release:  # another way of release has limits of its own, which are all judged
        limits = [limit for limit in limits if limit.name in policy.limits[way]]
    is_strict = policy.undecided != "conditions"
    reasons = [
        *(f"{TO_MEASURE}{text}" for text in list_missing(under, judged)),
        *list_failures(under, judged),
        *(write(limit) for limit in under if limit.status == OPEN and is_strict),
        *_list_lost(under, limits),
        *list_unmet(judge_requirements(policy, way, spoken)),
    ]
    helps = not reasons and any(limit.status == PASS for limit in under)
    return JudgedCondition(
        condition.name, way, float(condition.cost), helps, tuple(reasons), tuple(under)
    )


def list_missing(limits, checks):
    """Return what has to be measured before anything can be said, in sentences."""
    numbers = [f"{limit.name} ({limit.group})." for limit in limits if limit.status == MISSING]
    blocks = [check for check in checks if check.level == "block" and check.status == MISSING]
    return numbers + [f"{check.name}. {check.text}" for check in blocks]


def list_failures(limits, checks):
    """Return numbers above their limits and checks that forbid a release, in sentences."""
    numbers = [write(limit) for limit in limits if limit.status == FAIL]
    blocks = [check for check in checks if check.level == "block" and check.status == FAIL]
    return numbers + [f"{check.name}: {check.text}" for check in blocks]


def list_unmet(requirements):
    """Return, in sentences, the required attacks that could not have found anything."""
    return [one.text for one in requirements if not one.is_met]


def write(judged):
    """Return a sentence on a number and its limit."""
    estimate, low, high = write_apart(show_share, judged.interval, judged.limit)
    return (
        f"{judged.name} ({judged.group}): {estimate} [{low}, {high}], and the limit is "
        f"{judged.limit:g}."
    )


def _list_lost(under, limits):
    """Numbers that were measured without the condition and are not within their limits under it."""
    passed = _name_all(under, {PASS})
    known = _name_all(under, {PASS, OPEN, FAIL})
    failed = sorted(_name_all(limits, {FAIL}) - passed)
    absent = sorted(_name_all(limits, {FAIL, PASS, OPEN}) - known)
    return [f"Not measured again: {name} ({group})." for name, group in absent] + [
        f"Not shown to be within its limit: {name} ({group})."
        for name, group in failed
        if (name, group) in known
    ]


def _name_all(limits, statuses):
    return {(limit.name, limit.group) for limit in limits if limit.status in statuses}


RELEASE, CONDITIONS = "release", "release with conditions"
REFUSE, UNKNOWN = "do not release", "cannot be said"
TO_MEASURE = "To be measured: "
_ACCESS = "access under agreement, reviewed when more records are known"


@dataclass(frozen=True)
class Recommendation(SummaryMixin):
    """What a policy recommends for one way of release, as returned by :func:`recommend`.

    Attributes
    ----------
    result : str
        ``"release"``, ``"release with conditions"``, ``"do not release"`` or ``"cannot be said"``.
    release : {"file", "service", "table"}
        The way of release that was asked for; nothing is said of the others.
    policy : Policy
    reasons : tuple of str
        Why, in sentences.
    limits : tuple of JudgedLimit
    checks : tuple of JudgedCheck
    conditions : tuple of str
        Conditions of the release.
    under_conditions : tuple of JudgedLimit
        The numbers under these conditions.
    tried : tuple of JudgedCondition
        All conditions under which the model was measured, the cheapest first, if it may not be
        released without one.
    to_review : tuple of str
        Checks that need a typed reason each.
    provenance : dict of str to str
        What a second person needs to repeat the measurement, as it was given: command, versions,
        seeds, hashes of model and table; and what a request for the release names.
    requirements : tuple of JudgedRequirement
        What the policy asks to have been able to find something; empty if it asks for nothing.
    not_run : tuple of str
        Attacks that did not run and why, in sentences.
    remarks : tuple of str
        What connects the result with what was found otherwise, in sentences.
    """

    result: str
    release: str
    policy: Policy
    reasons: tuple[str, ...]
    limits: tuple[JudgedLimit, ...] = ()
    checks: tuple[JudgedCheck, ...] = ()
    conditions: tuple[str, ...] = ()
    under_conditions: tuple[JudgedLimit, ...] = ()
    tried: tuple[JudgedCondition, ...] = ()
    to_review: tuple[str, ...] = ()
    provenance: dict[str, str] = field(default_factory=dict)
    requirements: tuple[JudgedRequirement, ...] = ()
    not_run: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        head, lines = list_decision(self.to_dict())
        return "\n".join([visible(head), *(f"  {visible(line)}" for line in lines)])

    def list_tried(self) -> list[str]:
        """Return a sentence on each condition under which the model was measured.

        Returns
        -------
        sentences : list of str
            The name of the condition with the number nearest to its limit, or why it does not
            suffice.
        """
        return [f"{condition.name}: {_write_tried(condition)}" for condition in self.tried]

    def to_dict(self) -> dict:
        """Return a form in plain numbers, texts and lists, with empty fields to be filled in.

        Returns
        -------
        document : dict
        """
        tried = [
            vars(condition)
            | {"text": _write_tried(condition), "reasons": list(condition.reasons)}
            | {"limits": [*map(_list_judged_fields, condition.limits)]}
            for condition in self.tried
        ]
        return {
            "result": self.result,
            "release": self.release,
            "not_asked": [way for way in RELEASES if way != self.release],
            "reasons": list(self.reasons),
            "conditions": list(self.conditions),
            "limits": [*map(_list_judged_fields, self.limits)],
            "under_conditions": [*map(_list_judged_fields, self.under_conditions)],
            "tried": tried,
            "checks": [vars(check).copy() for check in self.checks],
            "requirements": [vars(one).copy() for one in self.requirements],
            "not_run": list(self.not_run),
            "remarks": list(self.remarks),
            "decision": {"decision": "", "conditions": "", "because": ""},
            "reviews": [{"check": name, "reason": ""} for name in self.to_review],
            "policy": {
                name: getattr(self.policy, name) for name in ("name", "sha256", "text", "alpha")
            },
            "provenance": dict.fromkeys(REQUEST, "") | self.provenance,
            "signatures": [
                {"role": role, "name": "", "signature": "", "date": ""} for role in ROLES
            ],
        }


def _write_tried(condition):
    """Return why a condition does not suffice, or the number that is nearest to its limit."""
    if not condition.helps:
        return f"does not suffice. {condition.reasons[0]}"
    judged = [limit for limit in condition.limits if limit.interval is not None]
    return f"suffices. {write(max(judged, key=lambda limit: limit.interval[2] - limit.limit))}"


def _list_judged_fields(judged):
    interval = judged.interval
    return vars(judged) | {"interval": None if interval is None else list(interval)}


def recommend(
    policy: Policy,
    release: Literal["file", "service", "table"],
    measurements: Sequence[Measurement],
    checks: Sequence[StructuralCheck] = (),
    *,
    conditions: Sequence[Condition] = (),
    provenance: Mapping[str, str] | None = None,
    spoken: Mapping[str, str | None] | None = None,
) -> Recommendation:
    """Recommend by a policy whether to release a model.

    A number passes if the upper end of its interval is at most its limit, and fails if its lower
    end, corrected over all numbers and groups by Holm's procedure, is above it. All have to pass
    for a release, and a single failure is enough against it, whatever is still to be measured. A
    release also needs what the policy names in ``requires_attacks``: low numbers are not
    informative if the attack could not have found a leak.

    Parameters
    ----------
    policy : Policy
        As :func:`load_policy` reads it.
    release : {"file", "service", "table"}
        Way of release.
    measurements : sequence of Measurement
        What was measured, of all records and of groups.
    checks : sequence of StructuralCheck, default=()
        ``checks`` of a :class:`StructuralReport`.
    conditions : sequence of Condition, default=()
        Conditions with what was measured under each. Only those count that were measured on the
        same records with an adapted attack.
    provenance : mapping of str to str, default=None
        What a second person needs to repeat all of it; copied to the result. Some of its names
        are lines of the decision sheet, which stay empty if they are not given:

        - ``"what is released"``;
        - ``"recipients"``;
        - ``"purpose"``;
        - ``"subsets of the data used elsewhere"``;
        - ``"public columns"``.
    spoken : mapping of str to (str or None), default=None
        What was able to find something, by the names of ``requires_attacks``: None for ``"reference
        models"`` if an attack compared the model with at least 8 models that were trained like it,
        and for ``"stored numbers"`` if every stored number that depends on the data was read;
        otherwise why not, in a sentence. What is not named was not able to. ``"all training rows"``
        is different: a sentence says that the model was trained on rows that are not among the
        members; without a sentence, the members are assumed to be complete.

    Returns
    -------
    recommendation : Recommendation

    Raises
    ------
    ValueError
        If the policy has no limits for a way of release, an interval is not one, or the cost of a
        condition is not a finite number.

    See Also
    --------
    load_policy : Loads a policy.
    structural_checks : Makes the structural checks.
    skmia.report.recommend_release : Finds out after an audit what was able to find something.

    Notes
    -----
    :ref:`The guide <what-is-recommended>` has the order in which missing numbers, failures, checks,
    conditions and requirements decide. A failed structural check can prevent a release, but passed
    checks alone do not lead to one. With m conditions, each must pass with intervals of the level
    ``1 - alpha / m``.

    If the intervals hold, a model with a number above its limit is released with a probability of
    at most ``alpha / 2``, and a model without such a number is refused for its numbers with a
    probability of at most ``alpha / 2``, regardless of how many numbers are judged.

    Examples
    --------
    >>> from skmia.disclosure import Measurement, load_policy, recommend
    >>> from skmia.metrics import Interval
    >>> policy = load_policy("cautious")
    >>> auc = Measurement("auc", Interval(0.71, 0.66, 0.76))
    >>> tpr = Measurement("tpr_at_fpr_01", Interval(0.02, 0.01, 0.04))
    >>> found = recommend(policy, "file", [auc, tpr])
    >>> found.result, found.reasons[0]
    ('do not release', 'auc (all): 0.71 [0.66, 0.76], and the limit is 0.6.')
    >>> found.reasons[1]
    'To be measured: smallest_leaf. The check was not made.'
    >>> from dataclasses import replace
    >>> policy = replace(policy, structure={})
    >>> lower = Measurement("auc", Interval(0.52, 0.49, 0.55))
    >>> recommend(policy, "service", [lower, tpr]).result
    'cannot be said'
    >>> recommend(policy, "service", [lower, tpr], spoken={"reference models": None}).result
    'release'
    """
    check_option(release, "release", tuple(policy.limits))
    policy = replace(policy)  # its limits may have been changed in place
    provenance = check_provenance(provenance)
    spoken = _check_spoken(spoken)
    _check_unique(measurements)
    _check_conditions(conditions, tuple(policy.limits))
    limits = judge_limits(policy, release, measurements)
    judged = judge_checks(policy, release, checks)
    required = judge_requirements(policy, release, spoken)
    result, reasons = _decide(policy, limits, judged, list_unmet(required))
    tried = []
    if result == REFUSE:
        counted = sorted((part for part in conditions if part.counts), key=lambda part: part.cost)
        given = limits, checks, spoken, len(counted)
        tried = [_judge_condition(policy, release, part, *given) for part in counted]
    chosen = next((condition for condition in tried if condition.helps), None)
    return Recommendation(
        result if chosen is None else CONDITIONS,
        release,
        policy,
        tuple(reasons),
        tuple(limits),
        tuple(judged),
        _name_conditions(result, chosen),
        () if chosen is None else chosen.limits,
        tuple(tried),
        tuple(check.name for check in judged if check.level == "review" and check.status != PASS),
        provenance,
        tuple(required),
        remarks=(
            *(() if required or release == "table" else (_WAIVED,)),
            *_list_not_given(policy, release, limits),
        ),
    )


ALL_WITHIN = "All numbers are within their limits."
_WAIVED = "The policy waives the rule on attacks (requires_attacks is empty)."


def _list_not_given(policy, release, limits):
    """Return a sentence on limits of numbers that only the user can give, and has not given.

    Their names are not known, so that one that is spelled otherwise would count for every model.
    """
    known = {limit.name for limit in limits}
    names = [
        name
        for name in policy.limits[release]
        if is_own_number(name, release) and name not in known
    ]
    if not names:
        return []
    limit = "limit" if len(names) == 1 else "limits"
    return [f"Nothing was compared with the policy's {limit} of {join_names(names)}."]


def _decide(policy, limits, checks, unmet):
    """Return the result without conditions, and why.

    Prevent a release if an attack could not have found a leak.
    """
    result, reasons = _compare_policy(policy, limits, checks)
    if result == REFUSE or not unmet:
        return result, reasons
    return UNKNOWN, unmet if result == RELEASE else [*reasons, *unmet]


def _compare_policy(policy, limits, checks):
    """Return the result by the numbers and the checks alone, and why."""
    missing = [f"{TO_MEASURE}{text}" for text in list_missing(limits, checks)]
    failures = list_failures(limits, checks)
    if failures:  # which no number that is still to be measured can mend
        return REFUSE, [*failures, *missing]
    if missing:
        return UNKNOWN, missing
    undecided = [_write_open(limit) for limit in limits if limit.status == OPEN]
    if undecided:
        return CONDITIONS if policy.undecided == "conditions" else UNKNOWN, undecided
    if not any(limit.status == PASS for limit in limits):
        return UNKNOWN, ["No number was measured, and structural checks alone do not suffice."]
    return RELEASE, [ALL_WITHIN]


def check_provenance(provenance):
    """Return what a second person needs as a dictionary."""
    if provenance is not None and not isinstance(provenance, Mapping):
        raise TypeError(f"provenance must be a mapping of texts; got {show(provenance)}.")
    provenance = dict(provenance or {})
    for name, value in provenance.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"provenance must be a mapping of texts; got {show(value)} for {show(name)}."
            )
    return provenance


def _check_spoken(spoken):
    if spoken is not None and not isinstance(spoken, Mapping):
        raise TypeError(f"spoken must be a mapping of texts or None; got {show(spoken)}.")
    spoken = dict(spoken or {})
    for name, why in spoken.items():
        check_option(name, "each name in spoken", (REFERENCE, STORED, LISTED))
        if why is not None and not (isinstance(why, str) and why):
            raise TypeError(f"spoken[{name!r}] must be None or a sentence; got {show(why)}.")
    return spoken


def _check_unique(measurements):
    for measurement in measurements:
        if not isinstance(measurement, Measurement):
            raise TypeError(f"measurements must hold Measurement; got {show(measurement)}.")
    names = [(measurement.name, measurement.group) for measurement in measurements]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"measurements must hold {twice[0]} of {show(twice[1])} once.")


def _check_conditions(conditions, ways):
    if not isinstance(conditions, Sequence):
        raise TypeError(f"conditions must be a sequence of Condition; got {show(conditions)}.")
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise TypeError(f"conditions must hold Condition; got {show(condition)}.")
        _check_unique(condition.measurements)
        name = f"of the condition {show(condition.name)}"
        check_number(condition.cost, f"cost {name}", "a finite number")
        if condition.release is not None:
            check_option(condition.release, f"release {name}", ways)


def _write_open(judged):
    needed = judged.n_needed
    return write(judged) + ("" if needed is None else f" About {needed:,} records would decide.")


def _name_conditions(result, chosen):
    if chosen is not None:
        is_open = any(limit.status == OPEN for limit in chosen.limits)
        return (chosen.name, _ACCESS) if is_open else (chosen.name,)
    return (_ACCESS,) if result == CONDITIONS else ()
