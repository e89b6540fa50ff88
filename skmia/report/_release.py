"""What a policy recommends after an audit, and conditions of a release, each measured."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._core.copies import copy_unfitted
from .._core.kinds import is_regressor
from .._core.levels import CONCLUSIVE, LEAK, scale_interval
from .._core.metric_inputs import check_option
from .._core.numbers import show
from .._core.outputs import Outputs
from .._core.provenance import PartClock
from .._core.query import query, unwrap
from .._core.records import Records
from .._core.types import PathLike
from .._core.validation import check_records
from ..base import parts_of
from ..defenses import RoundingDefense, TopKDefense, strip_state
from ..disclosure import (
    REFUSE,
    TO_MEASURE,
    UNKNOWN,
    Condition,
    JudgedLimit,
    Measurement,
    Policy,
    Recommendation,
    check_decimals,
    check_predictor,
    check_provenance,
    judge_limits,
    list_failures,
    load_policy,
    name_rate,
    read_rate,
    recommend,
    structural_checks,
)
from ..metrics import Interval
from ..shadow import ShadowPool
from ..synthetic import TableReport, excess_risk
from ..victims import has_file, is_trainable
from ._audit import OF_DATA, audit
from ._case import LARGEST_OUTPUTS, check_pool_settings, open_case, replace_idle_attacks
from ._checks_of_release import list_warnings
from ._evidence import is_stopped, list_told, why_unlisted
from ._file import attack_file, examine_audited_file
from ._left_out import refuse_other_records, take_audited
from ._measure import OK, OVERALL, list_rows
from ._report import AuditReport
from ._surrogate import describe_stand_in, why_no_reference, why_not_undecided
from ._verdict import get_obstacle
from .checks import find_outcome
from .checks._base import RATES

# Names of the numbers in policies, and how the numbers begin that each is the largest of.
_NUMBERS = {
    "singling_out": "singling out",
    "linkability": "linkability",
    "inference": "inference of ",
    "privacy_loss": "privacy loss",
    "exact_rare_copies": "rare copies",
    "copies_but_one_cell": "copies but one cell",
    "copied_identifiers": "copied identifiers",
}


def recommend_table(report, policy, conditions, provenance):
    policy = policy if isinstance(policy, Policy) else load_policy(policy)
    origin = describe_audit_origin(report, *report.seeds) | provenance
    numbers = measure_table(report)
    found = recommend(policy, "table", numbers, conditions=conditions, provenance=origin)
    if report.evidence in CONCLUSIVE:
        return found
    return replace(found, result="cannot be said", reasons=(report.verdict,))


def describe_audit_origin(report, *seeds):
    """Return what a second person needs to repeat an audit, with the seeds of these names."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    given = {name: str(report.seeds[name]) for name in seeds}
    return {"created": report.created, "versions": versions, **given}


def measure_table(report):
    """Return numbers of an audit of a table that policies limit, each the largest of its kind."""
    measurements, bound = [], partial(_bound_excess, report.settings["confidence_level"])
    known = report.results[report.results["estimate"].notna()]
    for name, start in _NUMBERS.items():
        rows = known.loc[[number for number in known.index if number.startswith(start)]]
        if len(rows):
            n_rows = rows["n_attacks"] + rows["n_controls"]
            interval = partial(_bound_largest, bound, rows.to_dict("records"))
            measurements.append(Measurement(name, interval, n_records=int(n_rows.max())))
    return measurements


def _bound_largest(bound, numbers, level):
    """Return the interval of the largest number of several, by its level."""
    above = [bound(number, level) for number in numbers]
    # Any of the lower ends may be too high, so they share the error.
    below = [bound(number, 1 - (1 - level) / len(numbers)) for number in numbers]
    return Interval(
        max(found.estimate for found in above),
        max(found.low for found in below),
        max(found.high for found in above),
    )


def _bound(stated, number, level):
    """Return an interval of a stated level, widened or narrowed to another one."""
    factor, (estimate, low, high) = scale_interval(level, stated), number
    return Interval(
        estimate, estimate - factor * (estimate - low), estimate + factor * (high - estimate)
    )


def _bound_excess(stated, row, level):
    estimate = row["estimate"]
    if np.isnan(row["attack"]):
        return _bound(stated, (estimate, row["low"], row["high"]), level)
    counts = []
    for rate, n in (("attack", "n_attacks"), ("control", "n_controls")):
        counts += [min(row[rate] * row[n], row[n]), int(row[n])]
    found = excess_risk(*counts, confidence_level=level)
    # The ends of an interval without limit are replaced by what a share cannot exceed.
    high = found.high if np.isfinite(found.high) else 1.0
    low = found.low if np.isfinite(found.low) else -np.inf
    return Interval(estimate, min(low, estimate), max(high, estimate))


WAYS = ("service", "file")
# Confidence level of the gap of the structural checks.
_GAP_LEVEL = 0.95
_NO_FILE = (
    "The model has no file at hand, or its file was not attacked. Audit the file of the model, or "
    "ask for a release as a service (--release service)."
)
_LIES = {
    "release": "it lies within every limit of this policy",
    "release with conditions": "under the conditions it lies within every limit of this policy",
}


def recommend_release(
    report: AuditReport | TableReport,
    model: Any = None,
    records: Records | None = None,
    *,
    policy: Policy | PathLike = "cautious",
    release: Literal["service", "file", "table"] | None = None,
    decimals: int | None = None,
    conditions: Sequence[Condition] = (),
    provenance: Mapping[str, str] | None = None,
) -> Recommendation:
    """Recommend whether a model, or a synthetic table, that was audited may be released.

    The numbers of the audit and the structural checks of the model are compared with a policy. The
    number of a group of records is the one of the reported attack, which was chosen without these
    records unless another one is above it without doubt; if none was chosen, all attacks count. As
    a file, a model also gives the answers of a service, so the reported attacks on both count. Of
    several attacks, the upper end of the interval is the highest, and the lower end is corrected
    for their number. Of a classifier, the generalization gap of the structural checks counts as
    well, and the checks use the thresholds of the policy. For a table, the limits apply to the
    largest number of each kind, and there are no structural checks.

    Parameters
    ----------
    report : AuditReport or TableReport
        Audit of the model, or of the table.
    model : fitted estimator, default=None
        The model, for the structural checks.
    records : Records of n records, default=None
        The records of the audit of a model.
    policy : str, path-like or Policy, default="cautious"
        See :func:`skmia.disclosure.load_policy`.
    release : {"service", "file", "table"}, default=None
        How the model would be released. If None, as a service, or a table as a table.
    decimals : int, default=None
        Number of decimals of the answers of a service.
    conditions : sequence of Condition, default=()
        Conditions of a release, with what was measured under each.
    provenance : mapping of str to str, default=None
        What a second person needs to repeat the audit, in addition to its versions and seeds, and
        what the decision sheet names, see :func:`skmia.disclosure.recommend`. A text under the name
        ``"recipe of the model"`` states that ``estimator`` of the audit, or the unfitted victim
        with stored predictions, is the recipe of the model; one under the name ``"training rows
        outside the audit"``, where training rows are that the members lack. Both are shown on the
        decision sheet.

    Returns
    -------
    recommendation : Recommendation
        "cannot be said" if the audit is inconclusive, and in place of a release if something that
        the policy names in ``requires_attacks`` could not have been found. ``not_run`` lists the
        attacks that did not run and why.

    Raises
    ------
    ValueError
        If the policy has no limits for the way of release, or the records are not those of the
        audit, in their order.

    See Also
    --------
    skmia.disclosure.recommend : Compares any numbers with a policy.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import recommend_release
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> settings = {"attacks": {"loss": ThresholdAttack()}, "file": False}
    >>> report = audit(tree, records, membership, fprs=[0.1], random_state=0, **settings)
    >>> recommendation = recommend_release(report, tree, records, policy="research")
    >>> recommendation.result
    'do not release'
    >>> "To be measured: tpr_at_fpr_01 (all)." in recommendation.reasons
    True
    """
    provenance = check_provenance(provenance)
    if isinstance(report, TableReport):
        check_option("table" if release is None else release, "release", ("table",))
        return recommend_table(report, policy, conditions, provenance)
    release = "service" if release is None else release
    policy = check_request(report, model, records, policy, release, decimals)
    records = take_audited(report, records)
    structure = check_structure(report, model, records, policy, release, decimals)
    stopped = is_stopped(report.checks)
    checks = withdraw_passes(structure.checks) if stopped else structure.checks
    gap = measure_gap(structure)
    numbers = [*list_measurements(report, release), *([] if stopped else gap)]
    origin = describe_audit_origin(report, "random_state") | provenance
    settings = {"conditions": conditions, "provenance": origin}
    ask = partial(recommend, policy, release, numbers, checks, **settings)
    spoken = tell_spoken(report, policy.stand_in, provenance)
    found, why = ask(spoken=spoken), why_not_undecided(report.reference, provenance)
    # A release with conditions may have numbers that are not shown to be below a limit.
    limits = found.under_conditions or found.limits
    is_open = any(limit.status == "undecided" for limit in limits)
    if why is not None and is_open and found.result == "release with conditions":
        found = ask(spoken=spoken | {"reference models": why})
    found = _withhold(found, report, policy, release, provenance)
    if stopped and gap and "gap" in policy.limits[release]:
        untold = JudgedLimit("gap", "all", policy.limits[release]["gap"], None, "missing")
        found = replace(found, limits=(*found.limits, untold))
    remarks = (
        *describe_stand_in(report.reference, provenance),
        *_tell_people(report, found),
        *_connect(report, found),
    )
    left_out = _list_attacks_left_out(report, release)
    return replace(found, remarks=found.remarks + remarks, not_run=left_out)


# Structural checks that query the model for the records, or look for these in its file.
_OF_RECORDS = {
    *("k", "class_disclosure", "small_cells"),
    *("smallest_leaf", "residual_dof", "keeps_rows"),
}


def withdraw_passes(checks):
    """Return the checks, of which none passes for records that the model does not know."""
    text = "The audit ended because model and table do not agree, so nothing was measured on them."
    return tuple(
        replace(check, status="cannot be said", text=text)
        if check.name in _OF_RECORDS and check.status == "passed"
        else check
        for check in checks
    )


def tell_spoken(report, stand_in, provenance):
    """By requirement of a policy, why nothing could be found, or None if something could."""
    unread = None if report.file is None else get_obstacle(report.file.facts)
    return {
        "reference models": why_no_reference(report.reference, report.checks, stand_in, provenance),
        "stored numbers": _NO_FILE if report.file is None else unread,
        "all training rows": why_unlisted(report.checks, provenance),
    }


def _list_attacks_left_out(report, release):
    """Return attacks that did not run and why, of the file as well where it would be released."""
    left_out = [] if report.reference is None else list(report.reference["left_out"])
    if release == "file" and report.file is not None:
        reason = report.file.facts["reason"]
        left_out += [] if reason is None else [f"The file was not attacked: {reason}"]
        left_out += [note for note in report.file.notes if " were not read: " in note]
    return tuple(left_out)


def _tell_people(report, found):
    """Return a sentence on people who have the non-members, where a rate was not measured."""
    check = find_outcome(report.checks, RATES)
    rates = check and check.finding
    names = [one.name for one in found.limits if one.status == "missing" and one.group == "all"]
    if rates is None or rates.n_people is None or not any(map(read_rate, names)):
        return []
    n = report.data["n_nonmembers"]
    return [
        f"The {n:,} non-members are records of {rates.n_people:,} people. If the records of a "
        "person are alike, a rate takes as many people as it takes non-members."
    ]


def _connect(report, found):
    """Return a sentence on leakage that was found and is no reason against the release."""
    ways = {"the audit": report}
    if found.release == "file" and report.file is not None:
        ways["the attack on the file"] = report.file
    where = " and ".join(name for name, way in ways.items() if way.evidence == LEAK)
    lies = _LIES.get(found.result)
    if not where or lies is None:
        return []
    if found.result == "release with conditions" and not found.under_conditions:
        lies = "it is not shown to lie above a limit of this policy"
    return [f"{where[0].upper()}{where[1:]} found leakage; {lies}."]


def check_structure(report, model, records, policy, release, decimals):
    """Make the structural checks with the thresholds of a policy, so that their texts name these.

    ``_judge_check`` of ``disclosure/_recommend.py`` compares again, because other users of
    ``recommend`` bring checks that were made with other thresholds.
    """
    settings = {"thresholds": policy.thresholds(release), "rules": policy.rules(release)}
    return structural_checks(model, records, report.membership, decimals=decimals, **settings)


def measure_gap(structure):
    """Return the generalization gap of all records, in a list that is empty if there is none."""
    found = structure.membership
    if found is None or found.gap is None:
        return []
    interval = partial(_bound, _GAP_LEVEL, found.gap)
    return [Measurement("gap", interval, n_records=found.n_members + found.n_nonmembers)]


def check_request(report, model, records, policy, release, decimals):
    """Check what is asked about the release of a model, before anything is measured."""
    _check_report(report)
    check_option(release, "release", WAYS)
    if records is None:
        raise ValueError("records must be the records of the audit; got None.")
    check_records(records, targets=True)
    audited = take_audited(report, records)
    if len(audited) != len(report.membership):
        raise ValueError(
            f"records must be the {len(report.membership)} of the audit; got {len(audited)}."
        )
    refuse_other_records(report, audited)
    if model is not None:
        check_predictor(model)
    elif "outputs" not in records.fields:
        raise ValueError(
            "model is None and the records hold no outputs; pass the model that was audited, or "
            "records.with_outputs(model)."
        )
    check_decimals(decimals)
    return policy if isinstance(policy, Policy) else load_policy(policy)


def _check_report(report):
    if not isinstance(report, AuditReport):
        raise TypeError(f"report must be an AuditReport, as audit returns it; got {show(report)}.")


def list_measurements(
    report: AuditReport | TableReport, release: Literal["service", "file"] = "service"
) -> list[Measurement]:
    """List the numbers of an audit that policies limit, each of the reported attack.

    With two ways of release, or if no attack was chosen to be reported, each is the largest of the
    attacks that count, with an interval that is corrected for their number. Of a table, it is the
    largest number of its kind.

    Parameters
    ----------
    report : AuditReport or TableReport
    release : {"service", "file"}, default="service"
        Way of release of a model.

    Returns
    -------
    measurements : list of Measurement
        "auc" and, for each rate below 1, "tpr_at_fpr_01" and so on, of all records and of each
        group. Of a table, "singling_out", "linkability", "inference", "privacy_loss",
        "exact_rare_copies", and where they are measured "copies_but_one_cell" and
        "copied_identifiers".

    See Also
    --------
    recommend_release : Compares them with a policy.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import list_measurements
    >>> records, membership = make_membership_problem(600, random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> settings = {"attacks": {"loss": ThresholdAttack()}, "file": False}
    >>> report = audit(tree, records, membership, fprs=[0.1], random_state=0, **settings)
    >>> [(found.name, found.group) for found in list_measurements(report)][:3]
    [('auc', 'all'), ('tpr_at_fpr_1', 'all'), ('auc', 'class=0')]
    """
    if isinstance(report, TableReport):
        return measure_table(report)
    _check_report(report)
    check_option(release, "release", WAYS)
    frames = [report.results]
    if release == "file" and report.file is not None:
        frames.append(report.file.results)
    return _measure_largest(report, frames)


def _measure_largest(report, frames):
    """Return the numbers that are told of some attacks; of several ways of release the largest."""
    bound, found = partial(_bound, report.settings["confidence_level"]), {}
    for frame in frames:
        rows = list_rows(frame)
        rows = [row for row in rows if row["status"] == OK and row["metric"] != "advantage"]
        for row in list_told(rows):
            if row["max_fpr"] == 1:  # which everyone reaches
                continue
            name = "auc" if row["metric"] == "auc" else name_rate(row["max_fpr"])
            group = "all" if row["scope"] == OVERALL else f"{row['scope']}={row['group']}"
            found.setdefault((name, group), []).append(row)
    measurements = []
    for (name, group), rows in found.items():
        numbers = [(row["estimate"], row["low"], row["high"]) for row in rows]
        n_records = int(rows[0]["n_members"] + rows[0]["n_nonmembers"])
        interval = partial(_bound_largest, bound, numbers)
        measurements.append(Measurement(name, interval, group, n_records))
    return measurements


def _withhold(found, report, policy, release, provenance):
    """Keep a release from an inconclusive audit, and from low numbers that a check warns of."""
    doubts = _list_release_doubts(report, release)
    if doubts:
        # A number above its limit decides, of the service too where the file was to be released.
        failed = _list_failed(report, policy, release)
        if failed:
            reasons = (*failed, *(f"{TO_MEASURE}{doubt}" for doubt in doubts))
            return replace(found, result=REFUSE, reasons=reasons)
        return replace(found, result=UNKNOWN, reasons=doubts)
    if found.result not in _LIES:
        return found
    warnings = list_warnings(report.checks, report.reference, provenance)
    if not warnings:
        return found
    failed = tuple(list_failures(found.limits, found.checks))
    result = REFUSE if failed else UNKNOWN
    return replace(
        found, result=result, reasons=failed + warnings, conditions=(), under_conditions=()
    )


def _list_release_doubts(report, release):
    """Return why nothing can be said, whatever the numbers are."""
    ways = [report] if release == "service" else [report, report.file]
    doubts = [way.verdict for way in ways if way is not None and way.evidence not in CONCLUSIVE]
    if None in ways:
        doubts.append(_NO_FILE)
    return tuple(doubts)


def _list_failed(report, policy, release):
    """Return numbers above their limits by what is conclusive, in sentences."""
    ways = {"service": report} | ({"file": report.file} if release == "file" else {})
    frames = [way.results for way in ways.values() if way is not None and way.evidence == LEAK]
    limits = judge_limits(policy, release, _measure_largest(report, frames))
    return tuple(list_failures(limits, []))


_PROBABILITIES = ("proba", "logits")
_DECIMALS = (2, 1)
_AS_A_SERVICE = "a service in place of the file"
# A model that is not handed over costs more than any change of its answers.
_COST_OF_NO_FILE = 1.0


def measure_conditions(
    report: AuditReport,
    model: Any,
    records: Records,
    *,
    policy: Policy | PathLike = "cautious",
    release: Literal["service", "file"] = "service",
    decimals: int | None = None,
    estimator: BaseEstimator | None = None,
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    batched: Literal["auto"] | bool = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Condition]:
    """Measure a model under each condition of a release that leaves its training as it is.

    For a service: probabilities rounded to 2 decimals and to 1, the largest probability alone
    (of more than two classes), and labels alone. For a file: the file without the state that
    predictions do not use (:func:`~skmia.defenses.strip_state`), and a service in place of the
    file, as it is and with each change of the answers.

    Parameters
    ----------
    report : AuditReport
        Audit of the model.
    model : fitted estimator or None
        The model that was audited. None if the records hold its answers, in a field ``outputs``.
    records : Records of n records
        The records of the audit.
    policy : str, path-like or Policy, default="cautious"
        Policy, which also sets the thresholds of the structural checks.
    release : {"service", "file"}, default="service"
        How the model would be released.
    decimals : int, default=None
        Number of decimals of the answers of the service as it is.
    estimator : estimator, default=None
        Estimator that is cloned for each shadow model. If None, the model is cloned.
    fit_params, batched, n_jobs, verbose : object, default=None, "auto", None and 0
        As for :func:`skmia.audit`.

    Returns
    -------
    conditions : list of Condition
        For :func:`recommend_release`. The cost is the mean share of the probability that a change
        moves between classes, and 1 more without the file. A condition under which the audit is
        inconclusive is left out. ``adapted`` is false if an attack of the audit holds a victim, a
        pool or stored answers of its own, which do not change with the answers.

    Raises
    ------
    TypeError, ValueError
        If an argument is not what it must be, before anything is trained, or if the records are
        not those of the audit, in their order.

    See Also
    --------
    recommend_release : Names the cheapest condition under which a policy allows a release.

    Notes
    -----
    The shadow models of the audit are trained once more, and their answers are changed in the same
    way as the answers of the model: the attacker knows the condition. One training of shadow models
    serves for all changes. Each condition is measured by the attacks of the audit; if one of them
    cannot use the changed answers, such as RMIA labels, the default attacks on these join the
    others. Models without shadow models, or whose outputs for all shadow models
    take more than a gigabyte, are only measured under conditions on the file.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.attacks import LiRA
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import measure_conditions
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "file": False}
    >>> report = audit(tree, records, membership, random_state=0, **settings)
    >>> [condition.name for condition in measure_conditions(report, tree, records)]
    ['answers rounded to 2 decimals', 'answers rounded to 1 decimal', 'labels alone']
    """
    policy = check_request(report, model, records, policy, release, decimals)
    if report.attacks is None:
        raise ValueError(
            "report was read from a pickle without its attacks, which cannot be pickled. Audit the "
            "model again, and measure the conditions in the same program."
        )
    records = take_audited(report, records)
    settings = {"batched": batched, "n_jobs": n_jobs, "verbose": verbose, "fit_params": fit_params}
    check_pool_settings("measure_conditions", estimator=estimator, **settings)
    case = _ReleaseCase(report, model, records, policy, decimals)
    recipe = unwrap(model if estimator is None else estimator)
    found = [] if release == "service" else [_measure_stripped(case), _measure_service(case)]
    found += _measure_changes(case, recipe, release, settings)
    return [condition for condition in found if condition is not None]


class _ReleaseCase(NamedTuple):
    """The model that was audited and how it is checked."""

    report: AuditReport
    model: Any
    records: Records
    policy: Policy
    decimals: int | None

    def describe(self, name, way="service", adapted=True, **settings):
        """Return a condition with the numbers of the audit and the structural checks under it."""
        report, model, records, policy, decimals = self
        structure = check_structure(report, model, records, policy, way, decimals)
        numbers = [*list_measurements(report, way), *measure_gap(structure)]
        settings |= {"same_records": True, "adapted": adapted}
        return Condition(name, numbers, structure.checks, **settings)


def _measure_stripped(case):
    """Return the file without the state that predictions do not use; its answers are the same."""
    report, model = case.report, case.model
    if model is None or report.file is None or not has_file(model):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is left in the file is attacked below
            stripped = strip_state(unwrap(model))
    except (TypeError, ValueError, AttributeError):
        return None  # a model of a kind that cannot be stripped
    found = _attack_file(case, stripped)
    if found is None or found.evidence not in CONCLUSIVE:
        return None
    under = case._replace(report=replace(report, file=found), model=stripped)
    return under.describe("a file without the state that predictions do not use", "file")


def _attack_file(case, model):
    clock = PartClock()
    opened = _open_again(case.report, model, case.records, clock)
    return examine_audited_file(opened, attack_file(opened, clock), case.report.findings)


def _open_again(report, model, records, clock, **changes):
    """Open the case of an audit with default attacks, for another model or other answers."""
    settings = {name: one.default for name, one in signature(audit).parameters.items()}
    settings = {name: settings[name] for name in settings if name not in OF_DATA}
    settings |= _repeat_settings(report) | changes
    return open_case(model, records, report.membership, clock, **settings)


def _repeat_settings(report):
    """Return the settings of the audit by which its numbers are measured again."""
    kept = {name: report.settings[name] for name in ("group", "fprs", "confidence_level")}
    return kept | {"random_state": report.seeds["shadows"]}


def _measure_service(case):
    """Return answers of the model as they are, without its file, as the audit has measured them."""
    if case.report.evidence not in CONCLUSIVE or "service" not in case.policy.limits:
        return None
    return case.describe(_AS_A_SERVICE, cost=_COST_OF_NO_FILE, release="service")


def _measure_changes(case, recipe, release, settings):
    """Return a condition for each change of the answers, with shadow models that change theirs."""
    outputs = query(case.model, case.records)
    changes = _list_changes(outputs, recipe, case.decimals)
    n_models = case.report.settings["n_shadows"]
    too_large = 4 * n_models * outputs.values.size > LARGEST_OUTPUTS
    can_train = n_models > 0 and recipe is not None and is_trainable(recipe) and not too_large
    if not changes or not can_train or "service" not in case.policy.limits:
        return []
    if is_regressor(recipe):
        raise ValueError(
            f"estimator must be a classifier, as the model is; got {type(recipe).__name__}."
        )
    recipe = copy_unfitted(recipe)
    settings |= {"store": "outputs", "random_state": case.report.seeds["shadows"]}
    pool = ShadowPool(recipe, n_estimators=n_models, **settings).fit(case.records)
    if pool.output_kind_ != outputs.kind and pool.output_kind_ not in _PROBABILITIES:
        return []
    return [_measure_change(case, recipe, *change, outputs, pool, release) for change in changes]


def _measure_change(case, recipe, name, apply, decimals, outputs, pool, release):
    changed = apply(outputs)
    given = [
        apply(Outputs(values, pool.classes_, pool.output_kind_)).values for values in pool.outputs_
    ]
    theirs = ShadowPool.from_outputs(
        np.stack(given),
        pool.membership_,
        case.records,
        classes=pool.classes_,
        kind=changed.kind,
        estimator=recipe,
        store="signals" if changed.kind == "label" else "outputs",
    )
    records, settings = case.records.with_fields(outputs=changed), _repeat_settings(case.report)
    settings |= {"shadows": theirs, "file": False}
    attacks = _choose_attacks_again(case.report, recipe, records, **settings)
    settings["attacks"] = attacks
    found = audit(recipe, records, case.report.membership, **settings)
    if found.evidence not in CONCLUSIVE:
        return None
    cost = _measure_cost(outputs, changed)
    if release == "file":
        cost, name = cost + _COST_OF_NO_FILE, f"{_AS_A_SERVICE}, {name}"
    under = case._replace(report=found, records=records, decimals=decimals)
    adapted = isinstance(attacks, str) or not any(map(_holds_answers, attacks.values()))
    return under.describe(name, cost=cost, release="service", adapted=adapted)


def _choose_attacks_again(report, recipe, records, **settings):
    """Return the attacks of an audit on changed answers, which some may not be able to use."""
    if isinstance(report.attacks, str):
        return report.attacks
    ran = {name: attack for name, attack in report.attacks.items() if name in report.scores}
    case = _open_again(report, recipe, records, PartClock(), **settings)
    return replace_idle_attacks(ran, case) if ran else "default"


def _holds_answers(attack):
    """Whether an attack brings answers that were not changed."""
    for part in parts_of(attack):
        held = part.get_params(deep=False)
        if held.get("victim") is not None or held.get("shadows") is not None:
            return True
        tables = [value for value in held.values() if isinstance(value, Records)]
        if any("outputs" in table.fields for table in tables):
            return True
    return False


def _list_changes(outputs, recipe, decimals):
    """Name, function and decimals of changes of answers of a kind, from the smallest."""
    if getattr(outputs, "classes", None) is None or outputs.kind == "label":
        return []
    changes = []
    if outputs.kind in _PROBABILITIES:
        for digits in _DECIMALS:
            if decimals is None or digits < decimals:
                name = f"answers rounded to {digits} decimal{'s' if digits > 1 else ''}"
                defense = RoundingDefense(recipe, decimals=digits, renormalize=False)
                changes.append((name, partial(_defend_outputs, defense), digits))
        if len(outputs.classes) > 2:
            defense = TopKDefense(recipe, k=1)
            changes.append(
                ("the largest probability alone", partial(_defend_outputs, defense), None)
            )
    return [*changes, ("labels alone", Outputs.as_labels, None)]


def _defend_outputs(defense, outputs):
    return Outputs(defense.change_proba(_compute_proba(outputs)), outputs.classes, "proba")


def _compute_proba(outputs):
    return np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values


def _measure_cost(outputs, changed):
    """Return the mean share of the probability that moves.

    All of it where there were decision values.
    """
    if outputs.kind not in _PROBABILITIES:
        return 1.0
    proba = _compute_proba(outputs).astype(np.float64)
    told = changed.values
    if changed.kind == "label":
        told = changed.values[:, None] == outputs.classes[None]
    return float(np.abs(proba - told).sum(axis=1).mean() / 2)
