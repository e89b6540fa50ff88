"""Structural checks of a fitted model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._core.records import Records
from .._core.types import PathLike
from ._answers import round_answers
from ._as_published import count_as_published
from ._case import open_case
from ._checks import check_freedom, check_groups, check_rounding, check_rules, name_no_file
from ._effective import measure_effective_dof
from ._file import examine_file
from ._findings import Findings
from ._groups import count_groups, number_rows
from ._membership import measure_membership
from ._parameters import ParameterCount, count_parameters
from ._result import StructuralReport
from ._rules import RuleBook


def structural_checks(
    model: Any,
    records: Records,
    membership: ArrayLike | None = None,
    *,
    decimals: int | None = None,
    thresholds: Mapping[str, float] | None = None,
    rules: PathLike | RuleBook = "skmia",
    sample_weight: ArrayLike | None = None,
) -> StructuralReport:
    """Check groups, leaves, parameters and settings of a model before its release.

    Checks of statistical disclosure control, as research environments make them, for every kind of
    model. They count people: those with the same answer (for a service), those in the same leaves
    (for a file), and those of a class among them. They are rules of thumb about the shape of a
    model and not evidence that it leaks, so the membership measurement stands beside each of them,
    and passing all of them does not say that a model can be released.

    Parameters
    ----------
    model : fitted estimator or None
        Classifier or regressor, Pipeline, search or service. None if only the answers are known,
        which the records then hold.
    records : Records of n records
        Training records, with labels, and non-members if `membership` says which they are. A field
        ``group_by`` names the person of each record; people are counted instead of records then.
        A field ``outputs`` holds the answers of the model, which is not queried then.
    membership : array-like of shape (n,), default=None
        1 for the training records, 0 for others. If None, all are training records, and
        membership is not measured.
    decimals : int, default=None
        Number of decimals of the answers that a service releases, from 0 to 17. If None, answers
        are compared as they are.
    thresholds : mapping of str to float, default=None
        Thresholds by the name of the check, instead of those in ``THRESHOLDS``: ``"k"`` (10),
        ``"small_cells"`` (10), ``"smallest_leaf"`` (5) and ``"residual_dof"`` (10).
    rules : str, path-like or RuleBook, default="skmia"
        Rules about hyper-parameters, see :func:`load_rules`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the records in training. Members with a weight of 0 are left out.

    Returns
    -------
    report : StructuralReport
        ``print(report)`` is a summary, ``report.to_frame()`` has one row for each check, and
        ``report.to_records()`` has one for each member.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        If the model is not fitted or does not know the records, or a parameter is not allowed.

    See Also
    --------
    count_parameters : Number of parameters of a model.
    skmia.inspection.inspect_model : Lists what the file of a model stores.
    skmia.audit : Measures membership with strong attacks.

    Notes
    -----
    Members have the same answer if all released numbers are equal after rounding. A class that has
    no member in a group is ruled out by it (class disclosure), and one with few members is a small
    cell. Both are counted by the labels of the members: a share in an answer is not a share of
    people if the model is a forest with bootstrap, boosting or a net.

    A file is checked by groups of members with the same leaf in each tree. Models without leaves
    do not divide the members into groups, and equal rows of a table say nothing of the model, so
    these checks cannot be said there. Likewise, the degrees of freedom of a kind of model whose
    parameters cannot be counted are not known; they are not taken for those of a model without
    parameters. The sum over all trees of a forest is larger than the number of training records for
    almost every forest: the text also has its largest tree and its effective degrees of freedom.

    The number of training records in a leaf is the one that the file states, or the number of
    members in it if that is smaller.

    References
    ----------
    Preen, R. J. and Smith, J. (2025). A hierarchical approach for assessing the vulnerability of
    tree-based classification models to membership inference attack. arXiv:2502.09396.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.disclosure import structural_checks
    >>> records = Records([[0]] * 5 + [[1]] * 4 + [[2]] * 3, [0] * 8 + [1] * 4)
    >>> model = DecisionTreeClassifier(random_state=0).fit(records.X, records.y)
    >>> report = structural_checks(model, records)
    >>> report.to_frame()[["name", "release", "status", "value"]].head(3)
                   name  release   status value
    0                 k  service  flagged     3
    1  class_disclosure  service  flagged     8
    2       small_cells  service  flagged     1
    >>> report.get("residual_dof", "file").value
    5
    """
    case = open_case(model, records, membership, decimals, thresholds, rules, sample_weight)
    answers, found = case.answers.take(case.members), Findings()
    released = round_answers(answers, decimals)
    sizes = count_groups(number_rows(released.T, case.n_records), answers.labels, case.people)
    found.add_groups(check_groups(sizes, answers, "service", case.thresholds), sizes, "answers")
    found.checks.append(check_rounding(answers, released, decimals, case.has_file))
    count, effective = ParameterCount(None, "the model is not at hand"), None
    if case.has_file:
        examine_file(case, answers, found)
        count, effective = count_parameters(model), measure_effective_dof(model, case.training.X)
    else:
        found.checks.extend(name_no_file(case.name, case.thresholds))
    found.checks.append(check_freedom(count, case.n_people, effective, case.thresholds))
    found.checks.append(check_rules(case.book, case.book.list_flags(model, case.n_records)))
    measure, columns = _measure(case, answers)
    return StructuralReport(
        model=case.name,
        n_members=case.n_people,
        checks=tuple(replace(check, auc=measure and measure.auc) for check in found.checks),
        membership=measure,
        records=pd.DataFrame(found.columns | columns, index=np.flatnonzero(case.members)),
        parameters=count,
        effective_dof=effective,
        n_certain=_count_certain(answers, decimals),
        published=count_as_published(case, answers),
        decimals=decimals,
        notes=tuple(found.notes),
    )


def _measure(case, answers):
    columns = {"confidence": answers.confidence}
    if not case.outsiders.any():
        return None, columns
    chosen = case.members | case.outsiders
    people = None if case.all_people is None else case.all_people[chosen]
    measure, pvalues = measure_membership(case.answers.take(chosen), case.members[chosen], people)
    return measure, columns | {"p_value": pvalues}


def _count_certain(answers, decimals):
    """Members with a label whose probability is released as 1, after rounding."""
    if not answers.has_probabilities:
        return None
    sure = answers.confidence if decimals is None else np.round(answers.confidence, decimals)
    return int((sure >= 1).sum())
