"""The negative control: a model whose training did not depend on membership."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_regressor
from sklearn.frozen import FrozenEstimator

from ..._core.asking import unwrap
from ..._core.checks import check_confidence_level
from ..._core.randomness import check_random_state
from ..._core.records import Records
from ..._core.splits import compute_strata
from ..._core.types import Seed
from ..._core.validation import check_membership, check_records
from ...base._parts import has_own_victim
from ...shadow import ShadowPool
from ...victims import CallableVictim
from .._plan import check_pool_settings
from ..evidence import HIGHEST_LEVEL
from ..victim import draw_members, train_victim
from ._control import BaseControlCheck, ControlResult, attack_control, make_control


def negative_control(
    estimator: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    attacks: Literal["default"] | Mapping[str, BaseEstimator] = "default",
    shadows: int | ShadowPool | FrozenEstimator = 16,
    confidence_level: float = 0.95,
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
    >>> records, membership = make_membership_problem(random_state=0)
    >>> control = negative_control(
    ...     DecisionTreeClassifier(), records, membership, shadows=8, random_state=0
    ... )
    >>> control.passed
    True
    """
    check_records(records)
    check_pool_settings("negative_control", n_jobs=n_jobs)
    membership = check_membership(membership, len(records))
    level = check_confidence_level(confidence_level)
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"estimator must have a fit method to be trained; got {type(estimator).__name__}."
        )
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    # Half of the members and half of the non-members, so training is independent of membership.
    strata = 2 * compute_strata(records.y, not is_regressor(estimator)) + membership
    strata = np.unique(strata, return_inverse=True)[1]
    half = draw_members(records, strata, np.random.default_rng(seed))
    victim = train_victim(unwrap(estimator), records, half, seed)
    pooling = {"estimator": unwrap(estimator), "shadows": shadows, "n_jobs": n_jobs}
    case = make_control(victim, records, membership, attacks, level, seed, **pooling)
    frame, null = attack_control(case, seed)
    passed = bool(null.pvalue > 1 - level)
    return ControlResult("negative", passed, null.pvalue, frame, null.n_permutations)


class NegativeControlCheck(BaseControlCheck):
    """Whether the attacks find nothing on a model that was trained without regard to membership."""

    name = "negative control"
    where = "On a model that was trained without regard to membership"
    failure = "members and non-members come from different populations"

    def _is_wanted(self, case, findings):
        return case.controls

    def _why_not(self, case, run, findings):
        obstacle = super()._why_not(case, run, findings)
        if obstacle is not None:
            return obstacle
        if isinstance(_get_estimator(case), CallableVictim):
            return "The victim cannot be trained."
        return None if _list_attacks(run) else "Every attack has its own victim."

    def _attack(self, case, run):
        return negative_control(
            _get_estimator(case),
            case.records,
            case.membership,
            attacks=_list_attacks(run),
            **({} if run.pool is None else {"shadows": run.pool}),
            # A stricter level, because several checks look for the same thing and any can warn.
            confidence_level=min(1 - (1 - case.level) / 5, HIGHEST_LEVEL),
            n_jobs=case.request.n_jobs,
            random_state=case.seeds["checks"],
        )


def _get_estimator(case):
    request = case.request
    return unwrap(request.victim) if request.estimator is None else request.estimator


def _list_attacks(run):
    return {name: attack for name, attack in run.attacks.items() if not has_own_victim(attack)}
