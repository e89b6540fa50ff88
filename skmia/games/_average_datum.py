"""Game about records on average and the releases of a mechanism."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from .._core.checks import check_confidence_level
from .._core.randomness import spawn_seeds
from .._core.sklearn import validate_arguments
from .._core.types import Seed
from ._mechanism_rounds import (
    CONSTRAINTS,
    Game,
    assemble,
    check_enough,
    play_all,
    read_population,
)


def average_datum_game(
    mechanism: BaseEstimator,
    attack: BaseEstimator,
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
    """Play the game about a new random record in each round against a mechanism.

    Each round draws a target and two private data sets of fresh rows. In one of them a row, chosen
    at random, is replaced by the target. The mechanism is fitted on either and releases one sample,
    and the attack, which knows the target, scores both releases. How well it distinguishes them is
    what the mechanism reveals about records on average.

    Parameters
    ----------
    mechanism : estimator with ``fit(X)`` and ``sample(n_samples, random_state)``
        Mechanism that is applied to private rows, such as :class:`skmia.leakage.NoisyMean`. It is
        cloned.
    attack : estimator with ``fit(X)``, ``score_samples(X_released)`` and ``predict(X_released)``
        Attack on the releases with a parameter ``target``, such as
        :class:`skmia.leakage.MeanLikelihoodRatioAttack`. In each round it is cloned, ``target`` is
        set, and ``n_samples`` if it is None, and it is fitted on reference rows.
    X : array-like of shape (n_rows, n_features) or callable
        The population, from which rows are drawn without replacement in each round; or a function
        of a number n and a numpy Generator that returns n fresh rows. Rows that equal the target of
        a round are not drawn for its data sets.
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
        ``scores_in``, ``scores_out``, ``power``, ``advantage`` and ``auc`` as
        :func:`per_datum_game` has them.

    Raises
    ------
    ValueError
        If a parameter is out of range, X has too few rows, or the attack has no parameter
        ``target``.

    See Also
    --------
    per_datum_game : The game about one record.
    membership_game : Game about the records of trained models.

    Notes
    -----
    For the mean of n rows with d independent columns the score of the optimal attack is about
    normal with the means -d / (2n) and d / (2n) and the variance d / n, without and with the
    target: no record is more exposed than others on average over many columns (Sankararaman et al.
    2009). A record can leak much more than this average.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, appendix B.

    Sankararaman, S., Obozinski, G., Jordan, M. I. and Halperin, E. (2009). Genomic privacy and
    limits of individual detection in a pool. Nature Genetics 41.

    Examples
    --------
    >>> from skmia.games import average_datum_game
    >>> from skmia.leakage import EmpiricalMean, MeanLikelihoodRatioAttack
    >>> def draw(n, rng):
    ...     return rng.normal(size=(n, 100))
    >>> game = average_datum_game(
    ...     EmpiricalMean(), MeanLikelihoodRatioAttack(), draw, n_samples=50, n_rounds=200,
    ...     random_state=0,
    ... )
    >>> bool(game["auc"].low < 0.84 < game["auc"].high)  # Phi(sqrt(100 / 50 / 2))
    True
    """
    validate_arguments(CONSTRAINTS, locals(), "average_datum_game")
    level = check_confidence_level(confidence_level)
    if "target" not in attack.get_params(deep=False):
        raise ValueError(
            "attack must have a parameter target, which is set in each round; "
            f"{type(attack).__name__} has none."
        )
    population = read_population(X)
    check_enough(population, reference_size, n_samples + 1)
    first, *seeds = spawn_seeds(random_state, 1 + n_rounds)
    reference, n_reference = None, reference_size
    if not (refit and reference_size):
        reference = population.split(reference_size, np.random.default_rng(first))
        n_reference = 0
    game = Game(clone(mechanism), attack, None, population, n_samples, n_reference, reference)
    return assemble(*play_all(game, seeds, n_jobs, verbose), level)
