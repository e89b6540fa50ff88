"""Attacker who retrains the model with each of two candidates."""

import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
from joblib import effective_n_jobs
from joblib.hashing import NumpyHasher
from sklearn.base import BaseEstimator

from .._core.caches import caches_removed, walk
from .._core.query import check_victim, unwrap
from .._core.randomness import draw_integers
from .._core.records import Records, has_column
from .._core.sample_weights import weights_for
from .._core.sklearn import N_JOBS, HasMethods, at_least, validate_arguments
from .._core.types import ArrayLike, Seed
from .._core.validation import check_sides
from .._training.job import Job, JobData, KeptResults, run_visibly
from .._training.plan import plan_training
from ._leave_two_unlabeled import PairPrivacy, compute_pair_privacy, draw_pairs

_CONSTRAINTS = {
    "estimator": [HasMethods(["fit"]), None],
    "parameters": [callable, None],
    "n_rounds": [at_least(1)],
    "n_jobs": N_JOBS,
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


def retraining_oracle(
    victim: BaseEstimator,
    records: Records,
    membership: ArrayLike,
    *,
    estimator: BaseEstimator | None = None,
    parameters: Callable[..., Any] | None = None,
    n_rounds: int = 100,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
) -> PairPrivacy:
    """Identify the member of a pair by retraining, which succeeds for deterministic training.

    The attacker knows how the victim was trained and all of its training records but one, which is
    one of two candidates. The attacker trains the model with each candidate, and predicts the one
    whose model equals the victim, parameter by parameter. If both or neither are equal, the
    prediction is random and counts one half. For training that is deterministic and gives different
    models for different records the accuracy is 1, whatever the model predicts.

    Parameters
    ----------
    victim : fitted estimator
        Model under attack, trained on exactly the records with membership 1, in their order.
    records : Records of n records
        Members and non-members mixed.
    membership : array-like of shape (n,)
        1 for members, 0 for non-members.
    estimator : estimator, default=None
        Estimator with which the victim was trained. If None, a clone of the victim. Its
        ``random_state`` must be the original integer.
    parameters : callable, default=None
        Function of a fitted model that returns what is compared: arrays, or containers of them. If
        None, the whole state of the model; of a skorch net the tensors of its module, and of a
        search the best parameters and estimator, since both also keep times.
    n_rounds : int, default=100
        Number of pairs; each requires one training.
    n_jobs : int, default=None
        Number of trainings in parallel.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls the pairs.

    Returns
    -------
    privacy : PairPrivacy
        ``(accuracy, accuracy_error, privacy, privacy_error, n_rounds)``.

    Raises
    ------
    NotFittedError
        If the victim is not fitted.
    TypeError
        If `parameters` is None and the victim cannot be pickled, as with a lambda in it.

    See Also
    --------
    leave_two_unlabeled : Game with attackers who query the victim.

    Notes
    -----
    A candidate is put at its own place among the records, so that the order of the victim's
    training records is kept: sums of floating point numbers depend on it. The comparison is exact.

    The attack shows that membership can only be hidden by randomness in training that the attacker
    does not know, not by good generalization.

    References
    ----------
    Pedersen, J., Muñoz-Gómez, R., Huang, J., Sun, H., Tu, W.-W. and Guyon, I. (2022). LTU attacker
    for membership inference. Algorithms 15(7).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.games import retraining_oracle
    >>> records, membership = make_membership_problem(kind="regression", random_state=0)
    >>> members = records[membership == 1]
    >>> victim = Ridge().fit(members.X, members.y)
    >>> retraining_oracle(victim, records, membership, n_rounds=10, random_state=0).accuracy
    1.0
    """
    validate_arguments(_CONSTRAINTS, locals(), "retraining_oracle")
    check_victim(victim)
    membership = check_sides(records, membership)
    victim = unwrap(victim)
    estimator = victim if estimator is None else unwrap(estimator)
    seeds = np.random.SeedSequence(draw_integers(random_state))
    pairs = draw_pairs(membership, n_rounds, seeds)
    keep = _PrintKeeper(parameters)
    with caches_removed(victim):  # the location of a cache is not part of the learned state
        expected = keep.take(victim)
    # With the member in its place, the training set equals the victim's training set in every
    # round.
    inside = np.tile(membership.astype(bool), (1 + n_rounds, 1))
    for row, pair in zip(inside[1:], pairs, strict=True):
        row[pair] = [False, True]
    data = JobData(
        [records.X],
        records.y,
        weights_for(estimator, records),
        column=has_column(records),
    )
    # The estimator keeps its own seeds; in one process it keeps its threads, too, on which the
    # rounding of a model can depend.
    job = Job(estimator, data, inside, None, keep, n_jobs if effective_n_jobs(n_jobs) > 1 else None)
    plan = plan_training(job, exact=True)
    ((_, first),) = plan.run(job._replace(subsets=inside[:1], n_jobs=None))
    played = dict(run_visibly(plan, job._replace(subsets=inside[1:]), verbose, "pairs"))
    prints = np.array([played[k].facts["print"] for k in sorted(played)])
    with_member, matches = first.facts["print"] == expected, prints == expected
    wins = np.where(matches == with_member, 0.5, np.where(with_member, 1.0, 0.0))
    return compute_pair_privacy(wins.mean(), n_rounds)


@dataclass(frozen=True)
class _PrintKeeper:
    """Keeps a hash of all that a model has learned."""

    parameters: object

    def __call__(self, trained):
        return KeptResults({"print": self.take(trained.model)}, {})

    def take(self, model):
        if self.parameters is not None:
            learned = self.parameters(model)
            with _explained("What parameters returns"):
                return joblib.hash(learned)
        with _explained(type(model).__name__), _set_aside(model):
            return _LearnedHasher().hash((type(model).__qualname__, _read_learned(model)))


@contextmanager
def _explained(what):
    """Say of what cannot be hashed how it can be compared."""
    try:
        yield
    except (PicklingError, TypeError) as error:
        reason = re.sub(" at 0x[0-9a-f]+", "", str(error.args[0]))
        raise TypeError(
            f"{what} cannot be compared, because a part of it cannot be pickled ({reason}). Use a "
            "function that is defined in a module in the place of a lambda, or set parameters, a "
            "function of a fitted model that returns arrays."
        ) from error


class _LearnedHasher(NumpyHasher):
    """Hashes models by what they learned, also those inside of others, and not by the clock."""

    def reducer_override(self, part):
        if isinstance(part, type) or not (
            hasattr(part, "get_params") and hasattr(part, "__dict__")
        ):
            return NotImplemented
        learned = _read_learned(part)
        if learned is vars(part):
            return NotImplemented
        return dict, ([(type(part).__qualname__, learned)],)


def _read_learned(model):
    """Return what a model learned: all that it holds, without the times that some keep."""
    state = vars(model)
    if "best_estimator_" in state:  # a search, with the times of all of its fits
        return {name: state.get(name) for name in ("best_params_", "best_estimator_")}
    module = state.get("module_")  # of a skorch net, with the time of each epoch
    if not hasattr(module, "state_dict"):
        return state
    return {name: tensor.cpu().numpy() for name, tensor in module.state_dict().items()}


# Parameters that are not what was learned: on how many processors, and what is printed.
_SET_ASIDE = {"n_jobs": None, "verbose": 0}


@contextmanager
def _set_aside(model):
    """Set every ``n_jobs`` and ``verbose`` aside for a while."""
    parts = [part for part in walk(model) if not isinstance(part, dict)]
    held = [
        (part, name, getattr(part, name))
        for part in parts
        for name in _SET_ASIDE
        if name in part.get_params(deep=False) and hasattr(part, name)
    ]
    try:
        for part, name, _ in held:
            part.set_params(**{name: _SET_ASIDE[name]})
        yield
    finally:
        for part, name, value in held:
            part.set_params(**{name: value})
