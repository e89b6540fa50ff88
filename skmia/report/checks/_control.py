"""Controls: attacks on models for which the correct result is known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.tree import ExtraTreeClassifier

from ..._core.features import as_feature_matrix
from ..._core.kinds import is_regressor
from ..._core.metric_inputs import check_confidence_level
from ..._core.provenance import PartClock
from ..._core.pvalues import format_pvalue, is_significant
from ..._core.query import unwrap
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.splits import compute_strata
from ..._core.types import ArrayLike, Frozen, Seed
from ..._core.validation import check_sides
from ...base import has_own_victim
from ...metrics import auc_interval
from ...shadow import ShadowPool
from ...victims import CallableVictim
from .._case import (
    Case,
    VictimRequest,
    check_pool_settings,
    check_trainable,
    choose_attacks,
    draw_members,
    make_plan,
    train_victim,
)
from .._measure import FEWEST, get_people, widen
from .._permutations import HIGHEST_LEVEL, count_permutations
from .._run import run_attacks
from .._words import format_auc
from ._base import (
    ALWAYS,
    BLIND,
    CONTROL_PARTS,
    DIFFERENCE,
    LEFT_OUT,
    NOT_RUN,
    PASSED,
    WARNING,
    BaseCheck,
    NextStep,
)
from ._permutation import PermutationCheck, permutation_test


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


def attack_control(kind, victim, records, membership, attacks, level, seed, pooling):
    """Run the attacks on the victim of a control, but for those that have their own victim.

    pooling: estimator, shadows, n_jobs and fit_params.
    """
    queried = records.with_outputs(victim)
    estimator, shadows, n_jobs, fit_params = pooling
    given = estimator, shadows, "auto", n_jobs, 0, seed, seed
    request = VictimRequest(victim, queried["outputs"], *given, fit_params=fit_params)
    chosen = choose_attacks(attacks, request)
    chosen = {name: attack for name, attack in chosen.items() if not has_own_victim(attack)}
    if not chosen:
        raise ValueError("The control needs an attack without its own victim; got none.")
    case = Case(records, queried, membership, request, chosen, level)
    run = run_attacks(case, make_plan(case.attacks, case.request, case.records), PartClock())
    people = get_people(case.records, case.membership)
    null = permutation_test(
        membership,
        run.scores,
        judged=run.tested,
        n_permutations=count_permutations(level),
        group_by=people,
        random_state=seed,
    )
    settings, rows = {"groups": people, "confidence_level": level}, []
    for name, scores in run.scores.items():
        row = {"metric": "auc", **auc_interval(membership, scores, **settings)._asdict()}
        row = row if name in run.fitted else widen(row)
        rows.append((name, row["estimate"], row["low"], row["high"]))
    frame = pd.DataFrame(rows, columns=["attack", "auc", "low", "high"])
    frame["pvalue_adjusted"] = null.frame["pvalue_adjusted"].to_numpy()
    passed = bool(is_significant(null.pvalue, 1 - level)) == (kind == "positive")
    return ControlResult(kind, passed, null.pvalue, frame, null.n_permutations)


class BaseControlCheck(BaseCheck):
    """Whether the attacks find what is known to be there."""

    part = "controls"
    where: str  # what was attacked
    failure: str  # what a failure of the control means

    def judge(self, control):
        best = control.frame.loc[control.frame["auc"].idxmax()]
        p = format_pvalue(control.pvalue, 1 / (1 + control.n_permutations))
        auc = format_auc(*best[["auc", "low", "high"]])
        text = f"{self.where}, the attacks reach AUC {auc} ({p})"
        if control.passed:
            return self.answer(PASSED, f"{text}.", control)
        return self.answer(WARNING, f"{text}: {self.failure}.", control)


def _has_too_few(case):
    return min(case.membership.sum(), (~case.membership).sum()) < FEWEST


_TOO_FEW = "Too few members or non-members."


def negative_control(
    estimator: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    attacks: Literal["default"] | Mapping[str, BaseEstimator] = "default",
    shadows: int | ShadowPool | Frozen = 16,
    confidence_level: float = 0.95,
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> ControlResult:
    """Attack a model whose training did not depend on membership; nothing must be found.

    The victim is trained on a random half of the members and a random half of the non-members, and
    queried for all of them. If an attack still separates members from non-members, they differ in a
    way that the model can see, and what an audit finds on the real victim may be this difference.

    Parameters
    ----------
    estimator : estimator
        Estimator like the victim, fitted or not; it is cloned.
    records : Records of n records
        Labeled records, members and non-members mixed.
    membership : array-like of shape (n,)
        1 for the members of the real victim, 0 for others.
    attacks : "default" or mapping of str to attack, default="default"
        As for :func:`audit`; attacks with their own ``victim`` are left out.
    shadows : int or ShadowPool, default=16
        Number of shadow models, or a pool of them, such as the audit's pool.
    confidence_level : float, default=0.95
        Confidence level of the intervals; the control fails if the p-value is at most one minus
        this level.
    fit_params : dict or callable, default=None
        Further parameters of ``fit``, as in :class:`~skmia.ShadowPool`.
    n_jobs : int, default=None
        Number of shadow models trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls the half, the training of the victim and the shadow models. Pass an int for
        reproducible results.

    Returns
    -------
    control : ControlResult
        Result of each attack on the control.

    Raises
    ------
    ValueError
        If all records belong together, so that no half can be drawn, or no attack can run.
    TypeError
        If the estimator cannot be trained.

    See Also
    --------
    positive_control : Attacks a model that must be detected.
    blind_baseline : Separates members from non-members without any victim.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import negative_control
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> control = negative_control(
    ...     DecisionTreeClassifier(), records, membership, shadows=4, random_state=0
    ... )
    >>> control.passed
    True
    """
    membership = check_sides(records, membership, targets=True)
    check_pool_settings("negative_control", n_jobs=n_jobs)
    level = check_confidence_level(confidence_level)
    check_trainable(estimator)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    # Half of the members and half of the non-members, so training is independent of membership.
    strata = 2 * compute_strata(records.y, not is_regressor(estimator)) + membership
    strata = np.unique(strata, return_inverse=True)[1]
    half = draw_members(records, strata, np.random.default_rng(seed))
    victim = train_victim(unwrap(estimator), records, half, seed, fit_params)
    pooling = unwrap(estimator), shadows, n_jobs, fit_params
    return attack_control("negative", victim, records, membership, attacks, level, seed, pooling)


class NegativeControlCheck(BaseControlCheck):
    """Whether the attacks find nothing on a model that was trained without regard to membership."""

    name = "negative control"
    role = DIFFERENCE
    presence = ALWAYS
    passed = "The attacks find nothing where there is nothing to find"
    warned = "The attacks find something where there is nothing to find"
    difference = "attacks distinguish them on a model that was trained without regard to membership"
    where = "On a model that was trained without regard to membership"
    failure = "members and non-members come from different populations"

    def ask(self, case, run, findings):
        request = case.request
        model = unwrap(request.victim) if request.estimator is None else request.estimator
        attacks = {name: one for name, one in run.attacks.items() if not has_own_victim(one)}
        obstacles = {
            "Not requested.": not case.controls,
            _TOO_FEW: _has_too_few(case),
            "The victim cannot be trained.": isinstance(model, CallableVictim),
            "Every attack has its own victim.": not attacks,
        }
        for text, holds in obstacles.items():
            if holds:
                return self.answer(NOT_RUN, text)
        settings = {} if run.pool is None else {"shadows": run.pool}
        level = 1 - (1 - case.level) / CONTROL_PARTS
        settings["confidence_level"] = min(level, HIGHEST_LEVEL)
        settings["fit_params"] = request.fit_params
        settings |= {"n_jobs": request.n_jobs, "random_state": case.seeds["checks"]}
        given = model, case.records, case.membership
        return self.judge(negative_control(*given, attacks=attacks, **settings))


# Enough to detect a gap of one half, in about a second.
_MOST_RECORDS = 5000


def positive_control(
    records: Records,
    membership: ArrayLike,
    *,
    shadows: int = 16,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> ControlResult:
    """Attack a model that has memorized its training records, which must be detected.

    The victim is a tree with random splits and unlimited depth. It is trained on the members with
    random labels, so it is right about members, and about non-members half of the time. If not even
    this is detected, there are too few records, and an audit that finds nothing is not evidence of
    anything.

    Parameters
    ----------
    records : Records of n records
        Labeled records, members and non-members mixed. If there are more than 5,000, a random
        sample of this size is used. The values of other than numeric columns are replaced by
        numbers.
    membership : array-like of shape (n,)
        1 for members, 0 for others.
    shadows : int, default=16
        Number of shadow models, which are also trees.
    confidence_level : float, default=0.95
        Confidence level of the intervals; the control fails if the p-value is above one minus this
        level.
    n_jobs : int, default=None
        Number of trees trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Controls the labels and the trees. Pass an int for reproducible results.

    Returns
    -------
    control : ControlResult
        Result of the default attacks of :func:`audit`.

    Raises
    ------
    ValueError
        If there are fewer than 2 members or non-members.

    See Also
    --------
    negative_control : Attacks a model in which nothing must be found.

    Examples
    --------
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import positive_control
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> control = positive_control(records, membership, shadows=4, random_state=0)
    >>> control.passed
    True
    """
    membership = check_sides(records, membership, targets=True)
    check_pool_settings("positive_control", n_jobs=n_jobs)
    level = check_confidence_level(confidence_level)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    if len(records) > _MOST_RECORDS:
        rows = rng.choice(len(records), _MOST_RECORDS, replace=False)
        records, membership = records[rows], membership[rows]
    labels = _draw_balanced_labels(membership, rng)
    fields = {name: records[name] for name in ("group_by",) if name in records.fields}
    renamed = Records(as_feature_matrix(records), labels, **fields)
    tree = ExtraTreeClassifier(max_features=1, random_state=seed)
    victim = train_victim(tree, renamed, membership, seed)
    pooling = None, shadows, n_jobs, None
    return attack_control("positive", victim, renamed, membership, "default", level, seed, pooling)


def _draw_balanced_labels(membership, rng):
    """Draw labels that are balanced on each side, so that labels alone do not reveal the side."""
    labels = np.empty(len(membership), dtype=int)
    for side in (membership, ~membership):
        if side.sum() < FEWEST:
            raise ValueError(
                f"The control needs {FEWEST} members and {FEWEST} non-members; got "
                f"{membership.sum()} and {(~membership).sum()}."
            )
        labels[side] = rng.permutation(np.arange(side.sum()) % 2)
    return labels


class PositiveControlCheck(BaseControlCheck):
    """Whether the attacks detect a model that has memorized its training records.

    If an audit finds nothing, its result is only worth as much as this control, which therefore
    runs even if it was not requested. If it fails, there is no verdict and no release; a leak that
    was found stays one.
    """

    name = "positive control"
    role = BLIND
    presence = ALWAYS
    of_file = LEFT_OUT
    passed = "The attacks find a leak that was planted"
    warned = "The attacks miss a leak that was planted"
    meaning = (
        "The attacks also failed on a model that had memorized its training records. Use more "
        "records."
    )
    step = NextStep(
        "Use more records.",
        "At least several hundred members and non-members; 10,000 non-members for rates of 0.1%.",
    )
    reads = (PermutationCheck.name,)
    where = "On a model that memorized its training records"
    failure = "they could not have found anything here"

    def ask(self, case, run, findings):
        if not case.controls and is_significant(findings.permutation.pvalue, (1 - case.level) / 2):
            return self.answer(NOT_RUN, "Not requested.")
        if _has_too_few(case):
            return self.answer(NOT_RUN, _TOO_FEW)
        settings = {"n_jobs": case.request.n_jobs, "random_state": case.seeds["checks"]}
        given = case.records, case.membership
        return self.judge(positive_control(*given, confidence_level=case.level, **settings))
