"""What the structural checks found, as frozen values."""

from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from .._core.numbers import show
from ..metrics import Interval
from ._membership import MembershipMeasure
from ._parameters import ParameterCount
from ._text import write_summary


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
        Number of flagged members, for checks of single records.
    text : str
        The result in a sentence.
    source : str
        Where rule and threshold come from.
    auc : Interval or None
        AUC of the membership measurement, which every check stands beside; None if there are no
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
class StructuralReport:
    """Structural checks of a fitted model, as returned by :func:`structural_checks`.

    Attributes
    ----------
    model : str
        Name of the class of the model.
    n_members : int
        Number of training records that were checked, or of people if the records have a field
        ``group_by``.
    checks : tuple of StructuralCheck
        All checks, also those that say nothing.
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
        What has to be known with the numbers.
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
        plain = {name: getattr(self, name) for name in ("model", "n_members", "effective_dof")}
        membership = self.membership
        return plain | {
            "n_certain": self.n_certain,
            "published": dict(self.published),
            "decimals": self.decimals,
            "parameters": vars(self.parameters).copy(),
            "checks": [_as_plain(vars(check)) for check in self.checks],
            "membership": None if membership is None else _as_plain(vars(membership)),
            "notes": list(self.notes),
        }

    def summary(self) -> str:
        """Return the report as text.

        Returns
        -------
        text : str
        """
        return write_summary(self)

    def __str__(self) -> str:
        return self.summary()


def _as_plain(fields):
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
