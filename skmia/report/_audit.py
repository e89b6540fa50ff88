"""The audit: a pipe of four values, from a case to its report."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from .._core.numbers import to_array
from .._core.records import Records
from .._core.types import PathLike, Seed
from ..shadow import ShadowPool
from ._case import open_case
from ._describe import Clock, describe
from ._examine import examine
from ._report import AuditReport
from ._rounds import repeat_attack
from ._run import run_attacks


def audit(
    victim: BaseEstimator,
    records: Records,
    membership: ArrayLike | None = None,
    *,
    attacks: Literal["default"] | Mapping[str, BaseEstimator] = "default",
    shadows: int | ShadowPool | FrozenEstimator = 64,
    estimator: BaseEstimator | None = None,
    group: str | Sequence[str] | None = None,
    fprs: Sequence[float] = (0.01, 0.001),
    confidence_level: float = 0.95,
    controls: bool = False,
    batched: Literal["auto"] | bool = "auto",
    checkpoint: PathLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    verbose: int = 0,
) -> AuditReport:
    """Attack a victim in several ways and measure how well its members are found.

    The victim is asked once, the shadow models are trained once. No attack is told which of the
    records that it scores are members: its threshold is its own, or comes from other records, so
    that the advantage of its guesses is honest.
    Whether the numbers can be trusted is checked as well: whether members and non-members come from
    one population, whether records have copies on the other side (a warning is given above 10%),
    and whether a permuted membership gives less.

    Parameters
    ----------
    victim : estimator
        Classifier or regressor; fitted, frozen or not, or unfitted, and then a clone of it is
        trained on the members. It is not changed. If it is unfitted and the records hold stored
        predictions (a field ``outputs``), these are attacked instead, and the estimator is only
        used to train shadow models; ``membership`` is then needed.
    records : Records of n records
        Labeled records, members and non-members mixed. Records with one value of a field
        ``group_by`` are kept together by the shadow models.
    membership : array-like of shape (n,), default=None
        1 for the records that the victim was trained on, 0 for others. None makes a random half
        the members of a victim that is unfitted.
    attacks : "default" or mapping of str to attack, default="default"
        Unfitted attacks by name: attacks on membership, or classifiers made of them or of
        :class:`~skmia.signals.Signals`, such as a Pipeline, a stack or a search. Open ``victim``
        and ``shadows`` parameters are set; stored outputs are read where they suffice. Attacks that
        learn from known members are cross-fitted in five folds: each record is scored by an attack
        that has learned from the other folds, and its score is its rank within its fold. Their
        intervals are computed for half as many records, because folds that are alike by chance
        count twice. What an attack needs is compared with what there is before a shadow model is
        trained, see :class:`skmia.base.Needs`; what cannot run, or fails, is left out and named in
        ``notes``.
        "default": a threshold on the loss, :class:`~skmia.attacks.ShadowAttack`,
        :class:`~skmia.attacks.LiRA` and :class:`~skmia.attacks.RMIA`.
    shadows : int or ShadowPool, default=64
        Number of shadow models to train, even, or a pool of them fitted on the records.
    estimator : estimator, default=None
        What the shadow models are clones of; None is the victim itself.
    group : str or list of str, default=None
        Fields of the records by whose values the numbers are broken down as well. Up to twenty
        classes of a classifier are without being asked for, under the name ``class``.
    fprs : sequence of float, default=(0.01, 0.001)
        False positive rates, as fractions in (0, 1], at which the true positive rate is given;
        at least one.
    confidence_level : float, default=0.95
        Level of each interval, and one minus it the level of the verdict; at most
        0.9999, which takes 99,999 permutations of membership.
    controls : bool, default=False
        Whether to attack a victim that must be caught and one that must not be, see
        :func:`positive_control` and :func:`negative_control`. It takes the training of 16 trees
        and of one more victim.
    batched : "auto" or bool, default="auto"
        Whether many shadow models are trained at once, as in :class:`~skmia.ShadowPool`.
    checkpoint : str or Path, default=None
        Folder that keeps every finished shadow model, as in :class:`~skmia.ShadowPool`: an audit
        that was interrupted goes on from there when it is run again, with the same records, model
        and ``random_state``. Pools of attacks' own and the controls are not kept.
    n_jobs : int, default=None
        Shadow models trained in parallel. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Determines the shadow models and whatever else is random.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    report : AuditReport
        The numbers and checks, with what was left out and why in ``notes``.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        When the victim cannot answer the records, is frozen and not fitted, or is fitted and there
        is not a membership; when a parameter is out of range, or membership is not 0 or 1 for each
        record and both.

    See Also
    --------
    skmia.ShadowPool : The shadow models.
    blind_baseline, permutation_test, find_duplicates, positive_control, negative_control :
        The checks, one by one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import audit
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> report = audit(victim, records, membership, shadows=8, random_state=0)
    >>> report.evidence
    'leak'
    >>> frame = report.to_frame()
    >>> auc = frame.query("attack == 'LiRA' and metric == 'auc' and scope == 'overall'")
    >>> bool(auc["estimate"].item() > 0.6)
    True
    """
    clock = Clock()
    case = open_case(
        victim,
        records,
        membership,
        clock,
        attacks=attacks,
        shadows=shadows,
        estimator=estimator,
        group=group,
        fprs=fprs,
        confidence_level=confidence_level,
        controls=controls,
        batched=batched,
        checkpoint=checkpoint,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    run = run_attacks(case, clock)
    run = repeat_attack(case, run, clock)
    findings = examine(case, run, clock)
    return AuditReport(
        findings=findings,
        scores=run.scores,
        judged=run.judged,
        membership=case.membership,
        record_ids=to_array(records.fields.get("record_id", np.arange(len(records))), "record_id"),
        people=case.people,
        **describe(case, run, clock),
    )
