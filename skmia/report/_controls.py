"""Controls: attacks where the answer is known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.tree import ExtraTreeClassifier

from .._core.asking import unwrap
from .._core.checks import check_confidence_level
from .._core.randomness import check_random_state
from .._core.records import Records
from .._core.splits import find_strata
from .._core.validation import check_membership, check_records
from ..base.parts import has_own_victim
from ..metrics import auc_interval
from ._describe import Clock
from ._guards import permutation_test
from ._guards._baseline import as_matrix
from ._plan import Request, check_pool_settings, choose_attacks, default_attacks
from ._run import run_attacks
from .evidence import count_permutations
from .groups import find_people
from .measure import FEWEST, widen
from .victim import draw_members, train_victim

# Enough to see a gap of one half, and a matter of a second.
_MOST_RECORDS = 5000


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


def positive_control(
    records, membership, *, shadows=16, confidence_level=0.95, n_jobs=None, random_state=None
):
    """Attack a model that has memorized its training records, which must be detected.

    The victim is a tree that splits at random and without any limit, trained on the members with
    labels drawn at random, so that it is right about members, and about others half of the time.
    Where even that is not found there are too few records, and an audit that finds nothing says
    nothing.

    Parameters
    ----------
    records : Records of n records
        Labeled records, members and non-members mixed; of more than 5,000 so many are drawn.
        Columns that are not numeric are numbered.
    membership : array-like of shape (n,)
        1 for members, 0 for others.
    shadows : int, default=16
        Number of shadow models, trees as well.
    confidence_level : float, default=0.95
        Level of the intervals; the control fails where the p-value is above one minus this.
    n_jobs : int, default=None
        Trees trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines the labels and the trees.

    Returns
    -------
    control : ControlResult
        Result of the attacks that :func:`audit` makes by default.

    Raises
    ------
    ValueError
        When there are fewer than 2 members or non-members.

    See Also
    --------
    negative_control : A victim that must not be caught.

    Examples
    --------
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.report import positive_control
    >>> records, membership = make_membership_problem(random_state=0)
    >>> control = positive_control(records, membership, random_state=0)
    >>> control.passed
    True
    """
    check_records(records)
    check_pool_settings("positive_control", n_jobs=n_jobs)
    membership = check_membership(membership, len(records))
    level = check_confidence_level(confidence_level)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    rng = np.random.default_rng(seed)
    if len(records) > _MOST_RECORDS:
        rows = rng.choice(len(records), _MOST_RECORDS, replace=False)
        records, membership = records[rows], membership[rows]
    labels = _draw_labels(membership, rng)
    fields = {name: records[name] for name in ("group_by",) if name in records.fields}
    renamed = Records(as_matrix(records), labels, **fields)
    tree = ExtraTreeClassifier(max_features=1, random_state=seed)
    victim = train_victim(tree, renamed, membership, seed)
    request = _make_request(victim, None, renamed, shadows, n_jobs, seed)
    attacks = default_attacks(request)
    frame, null = _attack(attacks, request, renamed, membership, level, seed)
    passed = bool(null.pvalue <= 1 - level)
    return ControlResult("positive", passed, null.pvalue, frame, null.n_permutations)


def negative_control(
    estimator,
    records,
    membership,
    *,
    attacks="default",
    shadows=16,
    confidence_level=0.95,
    n_jobs=None,
    random_state=None,
):
    """Attack a model whose training did not depend on membership; it must not be flagged.

    The victim is trained on a random half of the records, drawn alike from members and
    non-members, and queried for the same records. If an attack still separates members from
    non-members, they differ in a way that the model can see, and what an audit finds on the real
    victim may be this difference.

    Parameters
    ----------
    estimator : estimator
        Of the kind of the victim; cloned, so that it may be fitted or not.
    records : Records of n records
        Labeled records, members and non-members mixed.
    membership : array-like of shape (n,)
        1 for the members of the real victim, 0 for others.
    attacks : "default" or mapping of str to attack, default="default"
        As for :func:`audit`; those with a ``victim`` of their own take no part.
    shadows : int or ShadowPool, default=16
        Number of shadow models, or a pool of them, such as the audit's pool.
    confidence_level : float, default=0.95
        Level of the intervals; the control fails where the p-value is at most one minus this.
    n_jobs : int, default=None
        Shadow models trained in parallel.
    random_state : int, RandomState instance or None, default=None
        Determines the half, the victim and the shadow models.

    Returns
    -------
    control : ControlResult
        Result of each attack on the control.

    Raises
    ------
    ValueError
        When all records belong together, so that no half can be drawn, or no attack can run.
    TypeError
        When the estimator cannot be trained.

    See Also
    --------
    positive_control : A victim that must be caught.
    blind_baseline : Tells the two apart without any victim.

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
            f"estimator must be one that can be trained; got {type(estimator).__name__}."
        )
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    # Half of the members and half of the others: training on a record says nothing of its side.
    strata = 2 * find_strata(records.y, not is_regressor(estimator)) + membership
    strata = np.unique(strata, return_inverse=True)[1]
    half = draw_members(records, strata, np.random.default_rng(seed))
    victim = train_victim(unwrap(estimator), records, half, seed)
    request = _make_request(victim, unwrap(estimator), records, shadows, n_jobs, seed)
    attacks = choose_attacks(attacks, request)
    attacks = {name: one for name, one in attacks.items() if not has_own_victim(one)}
    frame, null = _attack(attacks, request, records, membership, level, seed)
    passed = bool(null.pvalue > 1 - level)
    return ControlResult("negative", passed, null.pvalue, frame, null.n_permutations)


def _draw_labels(membership, rng):
    """As many of one label as of the other on each side, so that few records have both."""
    labels = np.empty(len(membership), dtype=int)
    for side in (membership, ~membership):
        if side.sum() < FEWEST:
            raise ValueError(
                f"The control needs {FEWEST} members and {FEWEST} non-members; got "
                f"{membership.sum()} and {(~membership).sum()}."
            )
        labels[side] = rng.permutation(np.arange(side.sum()) % 2)
    return labels


def _make_request(victim, estimator, records, shadows, n_jobs, seed):
    outputs = records.with_outputs(victim)["outputs"]
    return Request(victim, outputs, estimator, shadows, "auto", n_jobs, 0, seed, seed)


def _attack(attacks, request, records, membership, level, seed):
    """Each attack's AUC, and all of them under permuted membership."""
    if not attacks:
        raise ValueError("The control needs an attack without a victim of its own; got none.")
    queried = records.with_fields(outputs=request.outputs)
    run = run_attacks(attacks, request, records, queried, membership, Clock())
    people = find_people(records, membership)
    null = permutation_test(
        membership,
        run.scores,
        judged=run.tested,
        n_permutations=count_permutations(level),
        group_by=people,
        random_state=seed,
    )
    settings = {"groups": people, "confidence_level": level}
    rows = []
    for name, scores in run.scores.items():
        row = {"metric": "auc", **auc_interval(membership, scores, **settings)._asdict()}
        rows.append(row if name in run.fitted else widen(row))
    frame = pd.DataFrame(rows)[["estimate", "low", "high"]].rename(columns={"estimate": "auc"})
    frame.insert(0, "attack", list(run.scores))
    frame["pvalue_adjusted"] = null.frame["pvalue_adjusted"].to_numpy()
    return frame, null
