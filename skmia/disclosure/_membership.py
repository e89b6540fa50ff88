"""The membership measurement that stands beside each structural check."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..leakage import GeneralizationGapBound
from ..metrics import Interval, auc_interval, conformal_pvalues


@dataclass(frozen=True)
class MembershipMeasure:
    """How well the answers of a model tell members from non-members.

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


def measure_membership(answers, membership, people):
    """Return the membership measurement, and a p-value of each member from the non-members.

    Parameters
    ----------
    answers : Answers to n records
    membership : ndarray of shape (n,), dtype bool
    people : ndarray of shape (n,), dtype int, or None
    """
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
    """Welch's interval, of the means of people where they have several records."""
    if people is not None:
        table = pd.DataFrame({"loss": loss, "member": membership, "person": people})
        table = table.groupby(["member", "person"], as_index=False).mean()
        loss, membership = table["loss"].to_numpy(), table["member"].to_numpy(dtype=bool)
    bound = GeneralizationGapBound().fit(-loss[:, None], membership)
    low, high = bound.gap_interval_[0]
    return Interval(float(bound.gap_[0]), float(low), float(high))
