"""Controls: attacks where the answer is known."""

from abc import abstractmethod
from dataclasses import dataclass

import pandas as pd

from ..._core.pvalues import format_pvalue
from ...base.parts import has_own_victim
from ...metrics import auc_interval
from .._case import Case
from .._describe import Clock
from .._plan import Request, choose_attacks
from .._run import run_attacks
from ..evidence import count_permutations
from ..groups import get_people
from ..measure import FEWEST, widen
from ..text import format_auc
from ._permutation import permutation_test
from .base import NOT_RUN, PASSED, WARNING, BaseCheck


@dataclass(frozen=True)
class ControlResult:
    """What the attacks found on a victim for which the answer is known.

    Attributes
    ----------
    kind : {"positive", "negative"}
        Whether there is something to find.
    passed : bool
        Whether it was found, or nothing was.
    pvalue : float
        P-value of the most extreme attack under shuffled membership, corrected for their number.
    frame : DataFrame of shape (n_attacks, 5)
        ``attack``, its ``auc`` with the limits ``low`` and ``high``, and ``pvalue_adjusted``.
    n_permutations : int
        Permutations behind the p-value, which is not smaller than ``1 / (1 + n_permutations)``.
    """

    kind: str
    passed: bool
    pvalue: float
    frame: pd.DataFrame
    n_permutations: int


def make_control(
    victim, records, membership, attacks, level, seed, *, shadows, n_jobs, estimator=None
):
    """The case of a control; attacks with a victim of their own take no part."""
    queried = records.with_outputs(victim)
    outputs = queried["outputs"]
    request = Request(victim, outputs, estimator, shadows, "auto", n_jobs, 0, seed, seed)
    chosen = choose_attacks(attacks, request)
    chosen = {name: one for name, one in chosen.items() if not has_own_victim(one)}
    return Case(records, queried, membership, request, chosen, level)


def attack_control(case, seed):
    """Each attack's AUC, and all of them under permuted membership."""
    if not case.attacks:
        raise ValueError("The control needs an attack without a victim of its own; got none.")
    run = run_attacks(case, Clock())
    people = get_people(case.records, case.membership)
    null = permutation_test(
        case.membership,
        run.scores,
        judged=run.tested,
        n_permutations=count_permutations(case.level),
        group_by=people,
        random_state=seed,
    )
    settings = {"groups": people, "confidence_level": case.level}
    rows = []
    for name, scores in run.scores.items():
        row = {"metric": "auc", **auc_interval(case.membership, scores, **settings)._asdict()}
        rows.append(row if name in run.fitted else widen(row))
    frame = pd.DataFrame(rows)[["estimate", "low", "high"]].rename(columns={"estimate": "auc"})
    frame.insert(0, "attack", list(run.scores))
    frame["pvalue_adjusted"] = null.frame["pvalue_adjusted"].to_numpy()
    return frame, null


class BaseControlCheck(BaseCheck):
    """What the attacks find where the answer is known.

    Attributes
    ----------
    where, failure : str
        Parts of the sentence: what was attacked, and what it means if the control failed.
    """

    part = "controls"
    where: str
    failure: str

    def ask(self, case, run, findings):
        obstacle = self._why_not(case, run, findings)
        if obstacle is not None:
            return self.answer(NOT_RUN, obstacle)
        control = self._attack(case, run)
        best = control.frame.loc[control.frame["auc"].idxmax()]
        p = format_pvalue(control.pvalue, 1 / (1 + control.n_permutations))
        auc = format_auc(*best[["auc", "low", "high"]])
        text = f"{self.where}, the attacks reach AUC {auc} ({p})"
        if control.passed:
            return self.answer(PASSED, f"{text}.", control)
        return self.answer(WARNING, f"{text}: {self.failure}.", control)

    def _why_not(self, case, run, findings):
        """Why there is no such control, or None."""
        if not self._is_wanted(case, findings):
            return "Not requested."
        if min(case.membership.sum(), (~case.membership).sum()) < FEWEST:
            return "Too few members or non-members."
        return None

    @abstractmethod
    def _is_wanted(self, case, findings):
        """Whether the control is to be run."""

    @abstractmethod
    def _attack(self, case, run):
        """Run the control."""
