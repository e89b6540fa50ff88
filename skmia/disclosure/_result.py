"""What the structural checks found, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from .._core.escaping import SummaryMixin, visible
from .._core.numbers import check_number, show
from .._core.text import inflect_word, wrap
from ..leakage import GeneralizationGapBound
from ..metrics import Interval, auc_interval, conformal_pvalues
from ._parameters import ParameterCount

_ACRO = "ACRO (acro 1.0.2)"
_RULE_OF_TEN = (
    f"{_ACRO} safe_threshold; rule of 10 of the statistical offices of the UK and Australia"
)


class Threshold(NamedTuple):
    """Smallest value with which a check is not flagged.

    Attributes
    ----------
    least : float
        A smaller value is flagged.
    source : str
        Where the number comes from.
    """

    least: float
    source: str


THRESHOLDS = {
    "k": Threshold(10, _RULE_OF_TEN),
    "small_cells": Threshold(10, _RULE_OF_TEN),
    "smallest_leaf": Threshold(5, "SafeModel rules of SACRO-ML 2.0.1 (min_samples_leaf)"),
    "residual_dof": Threshold(10, f"{_ACRO} safe_dof_threshold"),
}
# Sources of the checks without a number.
SOURCES = {
    "class_disclosure": f"{_ACRO} zeros_are_disclosive",
    "keeps_rows": "SACRO-ML 2.0 InstanceBasedAttack",
}
_GIVEN = "given by the caller"


def choose_thresholds(given):
    """Return the thresholds by name, with those that the caller gives instead of the defaults."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            "thresholds must map names of checks, such as 'k', to their smallest values; "
            f"got {show(given)}."
        )
    chosen = dict(THRESHOLDS)
    for name, value in (given or {}).items():
        if name not in chosen:
            raise ValueError(
                f"thresholds knows the names {', '.join(chosen)}; got {show(name)}. Other checks "
                "have no threshold."
            )
        least = check_number(value, f"thresholds[{name!r}]", "a number", -(2**53), 2**53)
        chosen[name] = Threshold(least, _GIVEN)
    return chosen


_RELEASES = {
    "service": "As a service, by the groups of records with the same answer{decimals}",
    "file": "As a file",
    "both": "Either way",
}
_NEVER = (
    "Structural checks alone do not show that a model can be released: a model that passes them "
    "can leak, and one that is flagged may not."
)


def write_checks_summary(report):
    """Return all checks with their sources, and the attack, as text."""
    n_flagged = sum(check.status == "flagged" for check in report.checks)
    n_open = sum(check.status == "cannot be said" for check in report.checks)
    are = inflect_word(n_flagged, "is", "are")
    words = f"{n_flagged} of {len(report.checks)} checks {are} flagged"
    lines = [
        f"Structural checks of {visible(report.model)} for {report.n_members:,} members",
        f"{words}, and {n_open} cannot be said." if n_open else f"{words}.",
    ]
    digits = report.decimals
    rounded = "" if digits is None else f", rounded to {digits} digits after the point"
    for release, title in _RELEASES.items():
        lines += ["", title.format(decimals=rounded)]
        for check in (check for check in report.checks if check.release == release):
            lines.append(f"  {check.name:18s}{check.status}")
            lines.append(wrap(f"{visible(check.text)} [{visible(check.source)}]", "    "))
    lines += ["", *_write_membership(report.membership)]
    lines += [wrap(f"Note: {visible(note)}") for note in report.notes]
    return "\n".join([*lines, "", wrap(_NEVER)])


def _write_membership(measure):
    if measure is None:
        return [wrap("Membership was not measured: pass non-members and their membership.")]
    low, high = measure.auc[1:]
    the = "" if measure.signal.startswith(("minus ", "whether ")) else "the "
    text = (
        f"Membership by {the}{measure.signal}: AUC {measure.auc.estimate:.3f} [{low:.3f}, "
        f"{high:.3f}] for {measure.n_members:,} members and {measure.n_nonmembers:,} non-members "
        "(0.5 is chance)."
    )
    if measure.gap is not None:
        low, high = measure.gap[1:]
        text += f" Generalization gap {measure.gap.estimate:.3f} [{low:.3f}, {high:.3f}]."
    return [wrap(text)]


@dataclass(frozen=True)
class MembershipMeasure:
    """How well the answers of a model distinguish members from non-members.

    Attributes
    ----------
    auc : Interval
        AUC of the signal with its confidence interval, 0.5 for chance.
    gap : Interval or None
        Generalization gap: mean loss of the non-members minus mean loss of the members, where the
        loss is one minus the probability of the label, or 1 for a wrong class where there are no
        probabilities; with its confidence interval. None for regressors.
    signal : str
        What was compared.
    n_members, n_nonmembers : int
        Numbers of records.
    """

    auc: Interval
    gap: Interval | None
    signal: str
    n_members: int
    n_nonmembers: int


def measure_from_confidence(answers, membership, people):
    """Return the membership measurement, and a p-value of each member from the non-members."""
    score = np.nan_to_num(answers.confidence)  # infinite log odds keep their order
    measure = MembershipMeasure(
        auc=auc_interval(membership, score, groups=people),
        gap=None if answers.loss is None else _measure_gap(answers.loss, membership, people),
        signal=answers.signal,
        n_members=int(membership.sum()),
        n_nonmembers=int((~membership).sum()),
    )
    return measure, conformal_pvalues(score[membership], score[~membership])


def _measure_gap(loss, membership, people):
    """Return Welch's interval, of the means of people where they have several records."""
    if people is not None:
        table = pd.DataFrame({"loss": loss, "member": membership, "person": people})
        table = table.groupby(["member", "person"], as_index=False).mean()
        loss, membership = table["loss"].to_numpy(), table["member"].to_numpy(dtype=bool)
    bound = GeneralizationGapBound().fit(-loss[:, None], membership)
    low, high = bound.gap_interval_[0]
    return Interval(float(bound.gap_[0]), float(low), float(high))


@dataclass(frozen=True)
class StructuralCheck:
    """One structural check of a model.

    Attributes
    ----------
    name : str
        ``"k"``, ``"class_disclosure"``, ``"small_cells"``, ``"smallest_leaf"``,
        ``"residual_dof"``, ``"keeps_rows"``, ``"rules"`` or ``"rounded_answers"``.
    release : {"service", "file", "both"}
        The way of release that it is about.
    status : {"passed", "flagged", "cannot be said", "not applicable"}
        Result. What is not known does not pass.
    value : float, str or None
        What was measured.
    threshold : float or None
        Smallest value that is not flagged, where there is one.
    n_records : int or None
        Number of flagged members, for checks of single records; of people with one, if the records
        have a field ``group_by``, as in ``value`` and ``text``.
    text : str
        The result in a sentence.
    source : str
        Where rule and threshold come from.
    auc : Interval or None
        AUC of the membership measurement, which is shown with every check; None if there are no
        non-members.
    """

    name: str
    release: str
    status: str
    value: float | str | None
    threshold: float | None
    n_records: int | None
    text: str
    source: str
    auc: Interval | None = None


@dataclass(frozen=True, eq=False)
class StructuralReport(SummaryMixin):
    """Structural checks of a fitted model, as returned by :func:`structural_checks`.

    Attributes
    ----------
    model : str
        Name of the class of the model.
    n_members : int
        Number of training records that were checked, or of people if the records have a field
        ``group_by``.
    checks : tuple of StructuralCheck
        All checks, including those that do not apply to the model.
    membership : MembershipMeasure or None
        The membership measurement; None without non-members.
    records : DataFrame
        One row for each member, see ``to_records``.
    parameters : ParameterCount
        Number of parameters, and how it was counted.
    effective_dof : float or None
        Effective degrees of freedom, or None if they are not known for the kind of model.
    n_certain : int or None
        Members whose label has a probability that is released as 1; None without probabilities.
    published : dict of str to int
        Numbers of flagged members by the formulas of SACRO-ML, which take shares of the answers for
        shares of people: ``"class_disclosure"`` and ``"small_cells"``.
    decimals : int or None
        Decimals of the answers that a service releases.
    notes : tuple of str
        What a reader of the numbers must know.
    """

    model: str
    n_members: int
    checks: tuple[StructuralCheck, ...]
    membership: MembershipMeasure | None
    records: pd.DataFrame = field(repr=False)
    parameters: ParameterCount
    effective_dof: float | None = None
    n_certain: int | None = None
    published: dict[str, int] = field(default_factory=dict)
    decimals: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def flagged(self) -> tuple[str, ...]:
        """Names of the flagged checks, with their way of release."""
        return tuple(
            f"{check.name} ({check.release})" for check in self.checks if check.status == "flagged"
        )

    def get(self, name: str, release: Literal["service", "file"]) -> StructuralCheck:
        """Return the check of a name for a way of release.

        Parameters
        ----------
        name : str
            As in :class:`StructuralCheck`.
        release : {"service", "file"}
            A check of both is returned for each.

        Returns
        -------
        check : StructuralCheck

        Raises
        ------
        ValueError
            If there is none.
        """
        for check in self.checks:
            if check.name == name and check.release in (release, "both"):
                return check
        names = ", ".join(dict.fromkeys(check.name for check in self.checks))
        raise ValueError(
            f"There is no check {show(name)} for the release {show(release)}; the checks are "
            f"{names}, for 'service' or 'file'."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the checks as a table.

        Returns
        -------
        frame : DataFrame
            One row for each check, with the attributes of :class:`StructuralCheck` but for its
            text; ``auc``, ``auc_low`` and ``auc_high`` are NaN without non-members.
        """
        names = "name", "release", "status", "value", "threshold", "n_records", "source"
        rows = [{name: getattr(check, name) for name in names} for check in self.checks]
        frame = pd.DataFrame(rows, columns=list(names))
        auc = (None, None, None) if self.membership is None else self.membership.auc
        for name, value in zip(("auc", "auc_low", "auc_high"), auc, strict=True):
            frame[name] = float("nan") if value is None else value
        return frame

    def to_records(self) -> pd.DataFrame:
        """Return what was found of each member.

        Returns
        -------
        frame : DataFrame
            One row for each member, indexed by its position in the records. Of the group with the
            same answer: ``k_answers`` (people in it), ``n_classes_answers`` (classes that occur in
            it) and ``smallest_cell_answers`` (fewest people of a class that occurs). The same of
            the group with the same leaves, or the same row, ending in ``_structure``.
            ``smallest_leaf`` is the smallest number of training records in a leaf that it is in;
            ``is_stored`` says whether its row was found in the file; ``confidence`` is the signal
            of membership and ``p_value`` its p-value from the non-members. What does not apply to
            the model is missing.
        """
        return self.records.copy()

    def to_dict(self) -> dict:
        """Return all but the single records in plain numbers, texts and lists.

        Returns
        -------
        document : dict
        """
        names = "model", "n_members", "effective_dof", "n_certain", "published", "decimals"
        membership = self.membership
        return {name: getattr(self, name) for name in names} | {
            "published": dict(self.published),
            "parameters": vars(self.parameters).copy(),
            "checks": [_list_check_fields(vars(check)) for check in self.checks],
            "membership": None if membership is None else _list_check_fields(vars(membership)),
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Return the report as text.

        Returns
        -------
        text : str
        """
        return write_checks_summary(self)


def _list_check_fields(fields):
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
