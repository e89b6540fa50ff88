"""Conditions of a release, each measured on the model that was audited."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone, is_regressor

from .._core.asking import unwrap
from .._core.circumstances import Clock
from .._core.outputs import Outputs
from .._core.pages import CONCLUSIVE
from .._core.records import Records
from .._core.types import PathLike
from .._core.validation import query
from ..defenses import RoundingDefense, TopKDefense, strip_state
from ..disclosure import Condition, Policy
from ..shadow import ShadowPool
from ..victims import has_file, is_trainable
from ._audit import OF_DATA, audit
from ._case import LARGEST_OUTPUTS, check_pool_settings, open_case
from ._file import attack_file, examine_file
from ._release import check_request, check_structure, list_measurements, measure_gap
from ._report import AuditReport

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
        inconclusive is left out.

    Raises
    ------
    TypeError, ValueError
        If an argument is not what it must be, before anything is trained, or there are more or
        fewer records than in the audit.

    See Also
    --------
    recommend_release : Names the cheapest condition under which a policy allows a release.

    Notes
    -----
    The shadow models of the audit are trained once more, and their answers are changed in the same
    way as the answers of the model: the attacker knows the condition. One training of shadow models
    serves for all changes. Models without shadow models, or whose outputs for all shadow models
    take more than a gigabyte, are only measured under conditions on the file.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import measure_conditions
    >>> records, membership = make_membership_problem(n_samples=400, random_state=0)
    >>> members = records[membership == 1]
    >>> tree = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> report = audit(tree, records, membership, shadows=4, file=False, random_state=0)
    >>> [condition.name for condition in measure_conditions(report, tree, records)]
    ['answers rounded to 2 decimals', 'answers rounded to 1 decimal', 'labels alone']
    """
    policy = check_request(report, model, records, policy, release, decimals)
    settings = {"batched": batched, "n_jobs": n_jobs, "verbose": verbose, "fit_params": fit_params}
    check_pool_settings("measure_conditions", estimator=estimator, **settings)
    case = _Case(report, model, records, policy, decimals)
    recipe = unwrap(model if estimator is None else estimator)
    found = [] if release == "service" else [_measure_stripped(case), _measure_service(case)]
    found += _measure_changes(case, recipe, release, settings)
    return [condition for condition in found if condition is not None]


class _Case(NamedTuple):
    """The model that was audited and how it is checked."""

    report: AuditReport
    model: Any
    records: Records
    policy: Policy
    decimals: int | None

    def describe(self, name, way="service", **settings):
        """A condition with the numbers of the audit and the structural checks under it."""
        report, model, records, policy, decimals = self
        structure = check_structure(report, model, records, policy, way, decimals)
        numbers = [*list_measurements(report, way), *measure_gap(structure)]
        settings |= {"same_records": True, "adapted": True}
        return Condition(name, numbers, structure.checks, **settings)


def _measure_stripped(case):
    """The file without the state that predictions do not use; its answers are the same."""
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
    report, clock = case.report, Clock()
    # Those of an audit; no shadow model is trained.
    settings = {name: one.default for name, one in signature(audit).parameters.items()}
    settings = {name: settings[name] for name in settings if name not in OF_DATA}
    settings |= _repeat_settings(report)
    opened = open_case(model, case.records, report.membership, clock, **settings)
    return examine_file(opened, attack_file(opened, clock), report.findings)


def _repeat_settings(report):
    """Settings of the audit by which its numbers are measured again."""
    kept = {name: report.settings[name] for name in ("group", "fprs", "confidence_level")}
    return kept | {"random_state": report.seeds["shadows"]}


def _measure_service(case):
    """The answers of the model as they are, without its file, as the audit has measured them."""
    if case.report.evidence not in CONCLUSIVE or "service" not in case.policy.limits:
        return None
    return case.describe(_AS_A_SERVICE, cost=_COST_OF_NO_FILE, release="service")


def _measure_changes(case, recipe, release, settings):
    """A condition for each change of the answers, with shadow models that change theirs."""
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
    recipe = clone(recipe)
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
    membership = case.report.membership
    found = audit(recipe, records, membership, shadows=theirs, file=False, **settings)
    if found.evidence not in CONCLUSIVE:
        return None
    cost = _measure_cost(outputs, changed)
    if release == "file":
        cost, name = cost + _COST_OF_NO_FILE, f"{_AS_A_SERVICE}, {name}"
    under = case._replace(report=found, records=records, decimals=decimals)
    return under.describe(name, cost=cost, release="service")


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
                changes.append((name, partial(_change, defense), digits))
        if len(outputs.classes) > 2:
            defense = TopKDefense(recipe, k=1)
            changes.append(("the largest probability alone", partial(_change, defense), None))
    return [*changes, ("labels alone", Outputs.as_labels, None)]


def _change(defense, outputs):
    return Outputs(defense.change_proba(_compute_proba(outputs)), outputs.classes, "proba")


def _compute_proba(outputs):
    return np.exp(outputs.log_proba()) if outputs.kind == "logits" else outputs.values


def _measure_cost(outputs, changed):
    """Mean share of the probability that moves; all of it where there were decision values."""
    if outputs.kind not in _PROBABILITIES:
        return 1.0
    proba = _compute_proba(outputs).astype(np.float64)
    told = changed.values
    if changed.kind == "label":
        told = changed.values[:, None] == outputs.classes[None]
    return float(np.abs(proba - told).sum(axis=1).mean() / 2)
