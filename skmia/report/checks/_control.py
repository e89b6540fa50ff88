"""Controls: attacks on models for which the correct result is known."""

from abc import abstractmethod
from dataclasses import dataclass

import pandas as pd

from ..._core.circumstances import Clock
from ..._core.pvalues import format_pvalue
from ...base._parts import has_own_victim
from ...metrics import auc_interval
from .._case import Case
from .._plan import Request, choose_attacks, make_plan
from .._run import run_attacks
from ..evidence import count_permutations
from ..groups import get_people
from ..measure import FEWEST, widen
from ..text import format_auc
from ._permutation import permutation_test
from .base import NOT_RUN, PASSED, WARNING, BaseCheck


@dataclass(frozen=True)
class ControlResult:
    """Result of the attacks on a victim for which the correct result is known.

    Attributes
    ----------
    kind : {"positive", "negative"}
        Whether there is a leak to find.
    passed : bool
        Whether the attacks found the leak of a positive control, or nothing in a negative one.
    pvalue : float
        P-value of the most extreme attack under permuted membership, corrected for the number of
        attacks.
    frame : DataFrame of shape (n_attacks, 5)
        ``attack``, its ``auc`` with the limits ``low`` and ``high``, and ``pvalue_adjusted``.
    n_permutations : int
        Number of permutations; the p-value is at least ``1 / (1 + n_permutations)``.
    """

    kind: str
    passed: bool
    pvalue: float
    frame: pd.DataFrame
    n_permutations: int


def make_control(
    victim, records, membership, attacks, level, seed, *, shadows, n_jobs, estimator=None
):
    """Make the case of a control, without the attacks that have their own victim."""
    queried = records.with_outputs(victim)
    outputs = queried["outputs"]
    request = Request(victim, outputs, estimator, shadows, "auto", n_jobs, 0, seed, seed)
    chosen = choose_attacks(attacks, request)
    chosen = {name: attack for name, attack in chosen.items() if not has_own_victim(attack)}
    return Case(records, queried, membership, request, chosen, level)


def attack_control(case, seed):
    """Run the attacks; return their AUCs, and the test of all of them by permuted membership."""
    if not case.attacks:
        raise ValueError("The control needs an attack without its own victim; got none.")
    run = run_attacks(case, make_plan(case.attacks, case.request, case.records), Clock())
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
    """Whether the attacks find what is known to be there.

    Attributes
    ----------
    where, failure : str
        Parts of the text: what was attacked, and what a failure of the control means.
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
        """Why the control does not run, or None."""
        if not self._is_wanted(case, findings):
            return "Not requested."
        if min(case.membership.sum(), (~case.membership).sum()) < FEWEST:
            return "Too few members or non-members."
        return None

    @abstractmethod
    def _is_wanted(self, case, findings):
        """Whether the control should run."""

    @abstractmethod
    def _attack(self, case, run):
        """Run the control."""
