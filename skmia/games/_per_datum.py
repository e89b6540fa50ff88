"""Game about one record and the releases of a mechanism."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator

from .._core.checks import check_confidence_level
from .._core.matrix import check_matrix
from .._core.randomness import spawn_seeds
from .._core.sklearn import validate_arguments
from .._core.types import Seed
from ._mechanism_rounds import (
    CONSTRAINTS,
    Game,
    aim,
    assemble,
    check_enough,
    fit_attack,
    play_all,
    read_population,
)


def per_datum_game(
    mechanism: BaseEstimator,
    attack: BaseEstimator,
    target: int | ArrayLike,
    X: ArrayLike | Callable[..., ArrayLike],
    *,
    n_samples: int = 100,
    reference_size: int = 1000,
    refit: bool = False,
    n_rounds: int = 1000,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
) -> dict[str, Any]:
    """Play the game about one record against a mechanism.

    In each round two private data sets of fresh rows are drawn. In one of them a row, chosen at
    random, is replaced by the target. The mechanism is fitted on either and releases one sample,
    and the attack scores both releases. How well it distinguishes them is what the mechanism
    reveals about this one record, not about records on average.

    Parameters
    ----------
    mechanism : estimator with ``fit(X)`` and ``sample(n_samples, random_state)``
        Mechanism that is applied to private rows, such as :class:`skmia.leakage.NoisyMean`. It is
        cloned.
    attack : estimator with ``fit(X)``, ``score_samples(X_released)`` and ``predict(X_released)``
        Attack on the releases, such as :class:`skmia.leakage.MeanLikelihoodRatioAttack`. It is
        cloned, its parameter ``target`` is set, and ``n_samples`` if it is None, and it is fitted
        on reference rows. Wrap an attack that is already fitted in a
        :class:`~sklearn.frozen.FrozenEstimator`.
    target : int or array-like of shape (n_features,)
        Target record: the index of a row of X, or a row. Rows of X that equal the target are not
        drawn.
    X : array-like of shape (n_rows, n_features) or callable
        The population, from which rows are drawn without replacement in each round; or a function
        of a number n and a numpy Generator that returns n fresh rows.
    n_samples : int, default=100
        Number of rows of a private data set.
    reference_size : int, default=1000
        Number of reference rows of the attack, which are in no data set of the round.
    refit : bool, default=False
        Whether to draw new reference rows in each round. If False, they are drawn once for all
        rounds, which costs the attack less power.
    n_rounds : int, default=1000
        Number of rounds.
    confidence_level : float, default=0.95
        Confidence level of all intervals, in (0, 1).
    n_jobs : int, default=None
        Number of jobs that play rounds in parallel, through joblib. Results do not depend on it.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls all draws.

    Returns
    -------
    results : dict
        ``scores_in``, ``scores_out`` : ndarray of shape (n_rounds,)
            Scores of releases with and without the target.
        ``power`` : DataFrame
            The ROC curve. Each row is a threshold with its ``fpr`` and ``tpr`` and the exact
            binomial limits of both, ``fpr_low``, ``fpr_high``, ``tpr_low``, ``tpr_high``. They
            are for this threshold; for the TPR at a requested FPR, give the scores to
            :func:`~skmia.metrics.operating_point`.
        ``advantage`` : Interval
            TPR - FPR of the attack's predictions, with Newcombe's interval.
        ``auc`` : Interval
            Area under the curve, with DeLong's interval.

    Raises
    ------
    ValueError
        If a parameter is out of range or X has too few rows.

    See Also
    --------
    average_datum_game : The same game with a new target in each round.
    membership_game : Game about records on average.
    skmia.leakage.MahalanobisLeakage : Leakage of a mean in closed form.

    Notes
    -----
    The limits of the power curve hold for one threshold at a time. Rows are drawn from a table
    without replacement, which is as good as fresh rows while ``n_samples`` is a small part of it.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage import EmpiricalMean, MeanLikelihoodRatioAttack
    >>> from skmia.games import per_datum_game
    >>> def draw(n, rng):
    ...     return rng.normal(size=(n, 100))
    >>> far, attack = np.full(100, 2.0), MeanLikelihoodRatioAttack()
    >>> game = per_datum_game(
    ...     EmpiricalMean(), attack, far, draw, n_samples=50, n_rounds=200, random_state=0
    ... )
    >>> bool(game["auc"].estimate > 0.9)
    True
    """
    validate_arguments(CONSTRAINTS, locals(), "per_datum_game")
    level = check_confidence_level(confidence_level)
    population = read_population(X)
    target = _read_target(X, population, target)
    population = population.without(target)
    frozen = isinstance(attack, FrozenEstimator)
    n_reference = 0 if frozen else reference_size
    check_enough(population, n_reference, n_samples)
    first, *seeds = spawn_seeds(random_state, 1 + n_rounds)
    attack = attack if frozen else aim(clone(attack), target, n_samples)
    if not (refit and n_reference):
        reference = population.split(n_reference, np.random.default_rng(first))
        attack = fit_attack(attack, reference, first)
        n_reference = 0
    game = Game(clone(mechanism), attack, target, population, n_samples, n_reference)
    rounds = play_all(game, seeds, n_jobs, verbose)
    return assemble(*rounds, level)


def _read_target(X, population, target):
    """The target as a row."""
    is_row = isinstance(target, Integral) and not isinstance(target, bool)
    if callable(X):
        if is_row:
            raise ValueError(
                "target is the number of a row, but X is a function; give the row itself."
            )
        target = check_matrix(target, ensure_2d=False, input_name="target")
        return _check_vector(target)
    X = population.X
    if not is_row:
        target = _check_vector(check_matrix(target, ensure_2d=False, input_name="target"))
        if len(target) != X.shape[1]:
            raise ValueError(
                f"target must be a row of {X.shape[1]} features, as X has; got {len(target)}."
            )
        return target
    if not 0 <= target < len(X):
        raise ValueError(f"target must be the number of one of {len(X)} rows of X; got {target}.")
    return X[target]


def _check_vector(target):
    if target.ndim != 1:
        raise ValueError(f"target must be one row; got an array of shape {target.shape}.")
    return target
