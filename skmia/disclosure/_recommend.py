"""The recommendation of a policy, from what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .._core.checks import check_option
from .._core.numbers import check_number, show
from .._core.pages import REQUEST, ROLES
from .._core.visible import Shown, visible
from ._case import check_provenance
from ._judge import (
    FAIL,
    MISSING,
    OPEN,
    PASS,
    Condition,
    JudgedCheck,
    JudgedLimit,
    JudgedRequirement,
    Measurement,
    judge_checks,
    judge_limits,
    judge_requirements,
)
from ._policy import REFERENCE, RELEASES, STORED, Policy
from ._result import StructuralCheck


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
    """Compare the numbers under each condition with a policy."""
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
    is_strict = policy.undecided != "conditions"
    reasons = [
        *(f"To be measured: {text}" for text in list_missing(under, judged)),
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


RELEASE, CONDITIONS = "release", "release with conditions"
REFUSE, UNKNOWN = "do not release", "cannot be said"
_ACCESS = "access under agreement, reviewed when more records are known"


@dataclass(frozen=True)
class Recommendation(Shown):
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
        return "\n".join(
            [
                f"As a {self.release}, by the policy {visible(self.policy.name)}: {self.result}",
                *(f"  {visible(reason)}" for reason in self.reasons),
                *(f"  {visible(remark)}" for remark in self.remarks),
                *(f"  Not run: {visible(text)}" for text in self.not_run),
                *(f"  Condition: {visible(condition)}" for condition in self.conditions),
                *(f"  Measured under conditions: {visible(text)}" for text in self.list_tried()),
                *(f"  Needs a reason: {name}" for name in self.to_review),
            ]
        )

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
            | {"limits": [*map(_as_plain, condition.limits)]}
            for condition in self.tried
        ]
        return {
            "result": self.result,
            "release": self.release,
            "not_asked": [way for way in RELEASES if way != self.release],
            "reasons": list(self.reasons),
            "conditions": list(self.conditions),
            "limits": [*map(_as_plain, self.limits)],
            "under_conditions": [*map(_as_plain, self.under_conditions)],
            "tried": tried,
            "checks": [vars(check).copy() for check in self.checks],
            "requirements": [vars(one).copy() for one in self.requirements],
            "not_run": list(self.not_run),
            "remarks": list(self.remarks),
            "decision": {"decision": "", "conditions": "", "because": ""},
            "reviews": [{"check": name, "reason": ""} for name in self.to_review],
            "policy": {name: getattr(self.policy, name) for name in ("name", "sha256", "text")},
            "provenance": dict.fromkeys(REQUEST, "") | self.provenance,
            "signatures": [
                {"role": role, "name": "", "signature": "", "date": ""} for role in ROLES
            ],
        }


def _write_tried(condition):
    """Why a condition does not suffice, or the number that is nearest to its limit."""
    if not condition.helps:
        return f"does not suffice. {condition.reasons[0]}"
    judged = [limit for limit in condition.limits if limit.interval is not None]
    return f"suffices. {write(max(judged, key=lambda limit: limit.interval[2] - limit.limit))}"


def _as_plain(judged):
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
    """Recommend a release, or not, by a policy.

    A number passes if the upper end of its interval is at most its limit, and fails if its lower
    end, corrected over all numbers and groups by Holm's procedure, is above it. All have to pass
    for a release, and a single failure is enough against it. A release also needs what the policy
    names in ``requires_attacks``: low numbers of attacks that could not have found anything say
    nothing.

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
        What was able to find something, by the names of ``requires_attacks``: None for
        ``"reference models"`` if an attack compared the model with at least 8 models that were
        trained like it, and for ``"stored numbers"`` if every stored number that depends on the
        data was read; otherwise why not, in a sentence. What is not named was not able to.

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
    In this order: a required number, or a check that blocks, that is missing gives "cannot be
    said"; a failure, or a check that blocks, gives "release with conditions" if the numbers pass
    under some conditions, the cheapest of which are named, and "do not release" otherwise; an
    undecided number gives what the policy says; the rest is a release. Where something that the
    policy requires was not able to find anything, a release, also one with conditions, becomes
    "cannot be said", and "do not release" stays. Structural checks can forbid a release and never
    lead to one. Under m conditions, each has to pass with intervals of the level
    ``1 - alpha / m``.

    With intervals that hold, a model with some number above its limit is released with a
    probability of at most ``alpha / 2``, and one with no number above its limit is refused
    for its numbers with a probability of at most ``alpha / 2``, however many are looked at.

    Examples
    --------
    >>> from skmia.disclosure import Measurement, load_policy, recommend
    >>> from skmia.metrics import Interval
    >>> policy = load_policy("cautious")
    >>> auc = Measurement("auc", Interval(0.71, 0.66, 0.76))
    >>> tpr = Measurement("tpr_at_fpr_01", Interval(0.02, 0.01, 0.04))
    >>> recommend(policy, "file", [auc, tpr]).result
    'cannot be said'
    >>> from dataclasses import replace
    >>> policy = replace(policy, structure={})
    >>> recommend(policy, "file", [auc, tpr]).reasons
    ('auc (all): 0.71 [0.66, 0.76], and the limit is 0.6.',)
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
        tried = judge_conditions(policy, release, conditions, limits, checks, spoken)
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
        remarks=() if required or release == "table" else (_WAIVED,),
    )


_WAIVED = "The policy waives the rule on attacks (requires_attacks is empty)."


def _decide(policy, limits, checks, unmet):
    """The result without conditions, and why: no release where an attack was not able to speak."""
    result, reasons = _compare(policy, limits, checks)
    if result == REFUSE or not unmet:
        return result, reasons
    return UNKNOWN, unmet if result == RELEASE else [*reasons, *unmet]


def _compare(policy, limits, checks):
    """The result by the numbers and the checks alone, and why."""
    missing = list_missing(limits, checks)
    if missing:
        return UNKNOWN, [f"To be measured: {text}" for text in missing]
    failures = list_failures(limits, checks)
    if failures:
        return REFUSE, failures
    undecided = [_write_open(limit) for limit in limits if limit.status == OPEN]
    if undecided:
        return CONDITIONS if policy.undecided == "conditions" else UNKNOWN, undecided
    if not any(limit.status == PASS for limit in limits):
        return UNKNOWN, ["No number was measured, and structural checks alone do not suffice."]
    return RELEASE, ["All numbers are below their limits."]


def _check_spoken(spoken):
    if spoken is not None and not isinstance(spoken, Mapping):
        raise TypeError(f"spoken must be a mapping of texts or None; got {show(spoken)}.")
    spoken = dict(spoken or {})
    for name, why in spoken.items():
        check_option(name, "each name in spoken", (REFERENCE, STORED))
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
