"""Game against the strongest attacker, who knows all members except in one pair of records."""

from typing import NamedTuple

import numpy as np
from joblib import Parallel, effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import roc_auc_score

from .._core.metric_inputs import check_membership_scores, get_judged
from .._core.needs import BOTH
from .._core.progress import show_progress
from .._core.randomness import isolated_randomness, spawn_seeds
from .._core.records import Records
from .._core.sklearn import N_JOBS, HasMethods, at_least, validate_arguments
from .._core.tasks import delayed
from .._core.types import ArrayLike, Seed
from .._core.validation import check_sides
from .._training.workers import use_one_job
from ..base import needs_of, score
from ..metrics import auc_variance
from ._membership import ready_attack

_CONSTRAINTS = {
    "attack": [HasMethods(["fit"])],
    "n_rounds": [at_least(1), None],
    "refit": ["boolean"],
    "n_jobs": N_JOBS,
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


class PairPrivacy(NamedTuple):
    """Accuracy of an attacker on pairs, and the remaining privacy.

    Attributes
    ----------
    accuracy : float
        Share of pairs with a correct prediction, ties counted half; 0.5 is chance.
    accuracy_error : float
        Standard error of the accuracy.
    privacy : float
        ``min(2 * (1 - accuracy), 1)``: 1 is chance, 0 means that every prediction is correct.
    privacy_error : float
        Standard error of ``2 * (1 - accuracy)``. The bar around the privacy is not cut at 0 or 1.
    n_rounds : int
        Number of pairs.
    """

    accuracy: float
    accuracy_error: float
    privacy: float
    privacy_error: float
    n_rounds: int


def compute_pair_privacy(accuracy, n_rounds):
    """Compute the remaining privacy from an attacker's accuracy on independent pairs."""
    return _with_error(float(accuracy), accuracy * (1 - accuracy) / n_rounds, n_rounds)


def _with_error(accuracy, variance, n_rounds):
    error = float(np.sqrt(variance))
    return PairPrivacy(accuracy, error, min(2 * (1 - accuracy), 1.0), 2 * error, int(n_rounds))


def leave_two_unlabeled(
    attack: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    n_rounds: int | None = None,
    refit: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
) -> PairPrivacy:
    """Play the game in which an attacker finds the member among two records.

    In each round, a member and a non-member are drawn. The attacker knows the membership of all
    other records and has to decide which of the two is the member. The record with the higher score
    is predicted, and a tie counts one half. This attacker has more information than attackers in
    practice.

    Parameters
    ----------
    attack : attack
        Attack, or classifier around attacks and :class:`~skmia.signals.Signals`, whose victim is
        set. It is cloned.
    records : Records of n records
        Members and non-members mixed.
    membership : array-like of shape (n,)
        1 for members, 0 for non-members.
    n_rounds : int, default=None
        Number of pairs to draw. If None, which requires ``refit=False``, all pairs are used.
    refit : bool, default=False
        Whether the attack is refitted in each round, on all records but the two, with their
        membership. If False, it is fitted once, on all records and without membership, which is
        equivalent for attacks that do not learn from membership.
    n_jobs : int, default=None
        Number of jobs that play rounds in parallel, if ``refit=True``.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls the pairs and the seeds of the attacks.

    Returns
    -------
    privacy : PairPrivacy
        ``(accuracy, accuracy_error, privacy, privacy_error, n_rounds)``. The error of drawn pairs
        is the binomial one, of pairs drawn from these records; the error of all pairs, which share
        records, is DeLong's, by sums over people if the records have the field ``group_by``. With
        ``refit=False``, records that the attack cannot judge are in no pair, see
        :meth:`~skmia.base.BaseAttack.can_judge`.

    Raises
    ------
    ValueError
        If the membership holds one class only, ``n_rounds`` is missing with ``refit=True``, the
        attack learns from known members and ``refit=False``, or it can judge only one side.

    See Also
    --------
    retraining_oracle : Attacker who retrains the model with each of the two records.
    skmia.leakage.bounds.bounded_loss_accuracy : Attacker who decides at random.
    DensityAttack : Attack that was designed for this game.

    Notes
    -----
    Over all pairs the accuracy of a fixed score is exactly the area under its ROC curve. For a
    score f that is lower for members (a loss) and random pairs it is ``1/2 + (p_R - p_D) / 2``,
    where p_R and p_D are the probabilities that the non-member, or the member, has the larger f.
    For scores that are logarithms of likelihood ratios the higher one is also the member with the
    larger posterior.

    References
    ----------
    Pedersen, J., Muñoz-Gómez, R., Huang, J., Sun, H., Tu, W.-W. and Guyon, I. (2022). LTU attacker
    for membership inference. Algorithms 15(7).

    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.games import leave_two_unlabeled
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(20, random_state=0).fit(members.X, members.y)
    >>> attack = ThresholdAttack(model, signal="loss")
    >>> result = leave_two_unlabeled(attack, records, membership)
    >>> result.n_rounds
    250000
    >>> result.privacy < 0.3
    True
    """
    validate_arguments(_CONSTRAINTS, locals(), "leave_two_unlabeled")
    membership = check_sides(records, membership)
    records = records.detached()
    if n_rounds is None and refit:
        raise ValueError(
            "n_rounds must be a number if refit=True, which fits the attack in each round."
        )
    needs = needs_of(attack)
    if needs is None and not hasattr(attack, "score_samples"):
        raise TypeError(f"attack must be an attack on membership; got {type(attack).__name__}.")
    if needs is not None and needs.known == BOTH and not refit:
        raise ValueError(
            f"{type(attack).__name__} learns from known members and non-members; with refit=True "
            "it learns from all records but the two of each round."
        )
    for_pairs, for_attack = spawn_seeds(random_state, 2)
    if refit:
        pairs = draw_pairs(membership, n_rounds, for_pairs)
        wins = _refit_all(attack, records, membership, pairs, for_attack, n_jobs, verbose)
        return compute_pair_privacy(wins.mean(), n_rounds)
    attack = ready_attack(attack, for_attack)
    with isolated_randomness(for_attack):
        scores, judged = score(attack.fit(records), records), get_judged(attack, records)
    if not judged[membership].any() or not judged[~membership].any():
        raise ValueError(
            f"{type(attack).__name__} can judge {judged[membership].sum()} members and "
            f"{judged[~membership].sum()} non-members; a pair needs one of each."
        )
    scores, membership = scores[judged], membership[judged]
    if n_rounds is None:
        people = records.fields.get("group_by")
        return _of_all_pairs(membership, scores, people if people is None else people[judged])
    return compute_pair_privacy(
        _compare_pair(*scores[draw_pairs(membership, n_rounds, for_pairs)].T).mean(), n_rounds
    )


def draw_pairs(membership, n_rounds, seeds):
    """Draw pairs of a member and a non-member, with replacement, shape (n_rounds, 2)."""
    rng = np.random.default_rng(seeds)
    sides = [np.flatnonzero(membership == value) for value in (True, False)]
    return np.column_stack([rng.choice(side, n_rounds) for side in sides])


def _compare_pair(member, other):
    """1 where the member has the higher score, 1/2 where both have the same."""
    return (member > other) + 0.5 * (member == other)


def _of_all_pairs(membership, scores, people):
    membership, scores = check_membership_scores(membership, scores)
    accuracy = float(roc_auc_score(membership, scores))
    variance = max(auc_variance(membership, scores, people), 0.0)
    n_members = int(membership.sum())
    return _with_error(accuracy, variance, n_members * (len(membership) - n_members))


def _refit_all(attack, records, membership, pairs, seeds, n_jobs, verbose):
    if effective_n_jobs(n_jobs) > 1:
        attack = use_one_job(clone(attack))
    rounds = zip(pairs, seeds.spawn(len(pairs)), strict=True)
    bar = show_progress(rounds, verbose, "pairs", len(pairs))
    wins = Parallel(n_jobs=n_jobs)(
        delayed(_refit)(attack, records, membership, pair, bit) for pair, bit in bar
    )
    return np.array(wins)


def _refit(attack, records, membership, pair, seeds):
    rest = np.delete(np.arange(len(records)), pair)
    attack = ready_attack(attack, seeds)
    with isolated_randomness(seeds):
        # No pool may be trained on the two records.
        attack.fit(records[rest].detached(), membership[rest].astype(int))
        return _compare_pair(*score(attack, records[pair]))
