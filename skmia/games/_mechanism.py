"""Game about records on average and the releases of a mechanism."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import gen_batches

from .._core.copies import copy_unfitted
from .._core.matrix import check_feature_matrix
from .._core.metric_inputs import check_confidence_level
from .._core.numbers import make_room, to_array
from .._core.progress import show_progress
from .._core.randomness import isolated_randomness, seed_estimator, spawn_seeds
from .._core.sklearn import N_JOBS, HasMethods, at_least, validate_arguments
from .._core.tasks import delayed
from .._core.types import ArrayLike, Seed
from .._core.validation import call_given
from ..metrics import advantage_interval, auc_interval, clopper_pearson, membership_roc_curve

CONSTRAINTS = {
    "mechanism": [HasMethods(["fit", "sample"])],
    "attack": [HasMethods(["fit", "score_samples", "predict"])],
    "n_samples": [at_least(1)],
    "reference_size": [at_least(0)],
    "refit": ["boolean"],
    "n_rounds": [at_least(1)],
    "n_jobs": N_JOBS,
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}
# Number of rounds that a worker plays at a time.
_ROUNDS = 50


class FromRows:
    """Draws rows of a table without replacement, first the rows of the reference set."""

    def __init__(self, X, rows=None):
        self.X, self._rows = X, np.arange(len(X)) if rows is None else rows

    def without(self, target):
        """Leave out copies of the target: a data set with a copy of it holds it."""
        return FromRows(self.X, self._rows[(self.X[self._rows] != target).any(axis=1)])

    def draw_target(self, rng):
        return self.X[rng.choice(self._rows)]

    def split(self, n_reference, rng):
        """Set aside reference rows that no data set holds."""
        order = rng.permutation(self._rows)
        self._rows = order[n_reference:]
        return self.X[order[:n_reference]]

    def draw(self, n_reference, n_samples, rng):
        rows = rng.choice(self._rows, n_reference + n_samples, replace=False)
        return self.X[rows[:n_reference]], self.X[rows[n_reference:]]

    def count(self):
        return len(self._rows)


class FromSampler:
    """Draws rows of a distribution."""

    def __init__(self, sampler):
        self._sampler = sampler

    def _sample(self, n, rng):
        rows = call_given(self._sampler, "X", "f(n, rng)", n, rng)
        rows = to_array(rows, "What X returns")
        if rows.ndim != 2 or len(rows) != n:
            raise ValueError(
                f"X was asked for {n} rows and must return an array of shape ({n}, n_features); "
                f"got shape {rows.shape}."
            )
        return rows

    def without(self, target):
        return self

    def draw_target(self, rng):
        return self._sample(1, rng)[0]

    def split(self, n_reference, rng):
        return self._sample(n_reference, rng) if n_reference else None

    def draw(self, n_reference, n_samples, rng):
        return self.split(n_reference, rng), self._sample(n_samples, rng)

    def count(self):
        return np.inf


class MechanismGame(NamedTuple):
    """What is the same in all rounds."""

    mechanism: object
    attack: object
    target: np.ndarray | None  # None where each data set has its own
    population: object
    n_samples: int
    n_reference: int  # reference rows of each release; 0 where they are the same for all
    reference: np.ndarray | None = None  # of all releases, where the attack is not fitted


def read_population(X):
    """Return where rows come from."""
    return FromSampler(X) if callable(X) else FromRows(check_feature_matrix(X, input_name="X"))


def check_enough(population, n_reference, n_samples, n_targets=0):
    """Refuse a table with fewer rows than a round takes."""
    if n_reference + n_samples + n_targets > population.count():
        target = f", and the target for {n_targets} more" if n_targets else ""
        raise ValueError(
            f"reference_size and n_samples ask for {n_reference} + {n_samples} rows{target}; "
            f"{population.count()} can be drawn from X."
        )


def aim(attack, target, n_samples):
    """Tell the attack what the attacker knows: the target and the size of the data set."""
    parameters = attack.get_params(deep=False)
    if "target" in parameters:
        attack.set_params(target=target)
    if "n_samples" in parameters and parameters["n_samples"] is None:
        attack.set_params(n_samples=n_samples)
    return attack


def fit_attack(attack, reference, seeds):
    """Fit an attack on reference rows, unless it is fitted."""
    if isinstance(attack, FrozenEstimator):
        return attack
    seed_estimator(attack, seeds)
    with isolated_randomness(seeds):
        return attack.fit(reference)


def play_all(game, seeds, n_jobs, verbose):
    """Return the scores and guesses of all rounds, without and with the target.

    Shapes: scores, guesses (n_rounds, 2).
    """
    parts = [seeds[part] for part in gen_batches(len(seeds), _ROUNDS)]
    bar = show_progress(parts, verbose, f"parts of {_ROUNDS} rounds")
    results = Parallel(n_jobs=n_jobs)(delayed(_play_part)(game, part) for part in bar)
    return (np.concatenate(column) for column in zip(*results, strict=True))


def _play_part(game, seeds):
    """Return the scores and guesses of some rounds, without and with the target."""
    rounds = [_draw_round(game, seed) for seed in seeds]
    released = [one for sides, _ in rounds for one in sides]
    attacks = [one for _, sides in rounds for one in sides]
    if attacks[0] is None:
        scores, guesses = _ask_attack(game.attack, np.concatenate(released))
    else:
        answers = [_ask_attack(*pair) for pair in zip(attacks, released, strict=True)]
        scores, guesses = (np.concatenate(column) for column in zip(*answers, strict=True))
    return scores.reshape(-1, 2), guesses.reshape(-1, 2)


def _ask_attack(attack, released):
    return attack.score_samples(released), attack.predict(released)


def _draw_round(game, seeds):
    """Return the releases of a round without and with the target, and the attack on each."""
    for_rows, for_mechanism, for_attack = seeds.spawn(3)
    rng, sides = np.random.default_rng(for_rows), (False, True)
    parts = zip(sides, for_mechanism.spawn(2), for_attack.spawn(2), strict=True)
    released, attacks = zip(*(_play_side(game, *part, rng) for part in parts), strict=True)
    return released, attacks


def _play_side(game, inside, for_mechanism, for_attack, rng):
    """Release with or without the target, and the attack of its own, None where all share one.

    Both sides of the coin have rows, reference rows and, in the game about an average record, a
    target of their own, so that they are independent, as the intervals take them to be.
    """
    population, target = game.population, game.target
    if target is None:
        target = population.draw_target(rng)
        population = population.without(target)
        check_enough(population, game.n_reference, game.n_samples)
    reference, rows = population.draw(game.n_reference, game.n_samples, rng)
    rows = make_room(rows, target)  # also without it, so that a type tells nothing
    if inside:
        rows = np.array(rows)
        rows[rng.integers(game.n_samples)] = target
    released = _release(game.mechanism, rows, for_mechanism)
    reference = reference if game.n_reference else game.reference
    if reference is None:
        return released, None
    attack = aim(clone(game.attack), target, game.n_samples)
    return released, fit_attack(attack, reference, for_attack)


def _release(mechanism, rows, seeds):
    """Return one sample of a mechanism that was fitted on some rows."""
    mechanism = copy_unfitted(mechanism)
    seed_estimator(mechanism, seeds)
    with isolated_randomness(seeds):
        state = int(seeds.generate_state(1)[0] >> np.uint32(1))
        return np.asarray(mechanism.fit(rows).sample(1, random_state=state))


def assemble(scores, guesses, level):
    membership = np.repeat([False, True], len(scores))
    scores_out, scores_in = scores.T.astype(np.float64)
    both = np.concatenate([scores_out, scores_in])
    return {
        "scores_in": scores_in,
        "scores_out": scores_out,
        "power": _compute_power(membership, both, len(scores), level),
        "advantage": advantage_interval(membership, guesses.T.ravel() == 1, confidence_level=level),
        "auc": auc_interval(membership, both, confidence_level=level),
    }


def _compute_power(membership, scores, n_rounds, level):
    fpr, tpr, threshold = membership_roc_curve(membership, scores)
    columns = {"threshold": threshold}
    for name, rate in (("fpr", fpr), ("tpr", tpr)):
        low, high = clopper_pearson(np.rint(rate * n_rounds), n_rounds, confidence_level=level)
        columns |= {name: rate, f"{name}_low": low, f"{name}_high": high}
    return pd.DataFrame(columns)


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
        Number of reference rows of the attack, which are in no data set that it attacks.
    refit : bool, default=False
        Whether to draw new reference rows for each release. If False, they are drawn once for all
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
    average_datum_game : The same game with a new target for each data set.
    membership_game : The game about records of trained models.
    skmia.leakage.MahalanobisLeakage : Leakage of a mean in closed form.

    Notes
    -----
    These are algorithms 1 and 2 of Azize and Basu (2024), where a coin says whether the target
    takes a random place. Each round here is played with both sides of the coin, with data sets of
    their own. The limits of the power curve hold for one threshold at a time. Rows are drawn from a
    table without replacement, which is as good as fresh rows while ``n_samples`` is a small part of
    it; a function may draw rows that equal the target by chance, as in the paper.

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
    ...     EmpiricalMean(), attack, far, draw, n_samples=50, n_rounds=50, random_state=0
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
    game = MechanismGame(
        copy_unfitted(mechanism), attack, target, population, n_samples, n_reference
    )
    rounds = play_all(game, seeds, n_jobs, verbose)
    return assemble(*rounds, level)


def _read_target(X, population, target):
    """Return the target as a row."""
    if isinstance(target, Integral) and not isinstance(target, bool):
        if callable(X):
            raise ValueError(
                "target is the number of a row, but X is a function; give the row itself."
            )
        if not 0 <= target < len(population.X):
            raise ValueError(
                f"target must be the number of one of {len(population.X)} rows of X; got {target}."
            )
        return population.X[target]
    target = check_feature_matrix(target, ensure_2d=False, input_name="target")
    if target.ndim != 1:
        raise ValueError(f"target must be one row; got an array of shape {target.shape}.")
    if not callable(X) and len(target) != population.X.shape[1]:
        raise ValueError(
            f"target must be a row of {population.X.shape[1]} features, as X has; got "
            f"{len(target)}."
        )
    return target


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

    Each round draws two private data sets of fresh rows, each with a target of its own. In one of
    them a row, chosen at random, is replaced by its target. The mechanism is fitted on either and
    releases one sample, and the attack, which knows the target of each, scores both releases. How
    well it distinguishes them is what the mechanism reveals about records on average.

    Parameters
    ----------
    mechanism : estimator with ``fit(X)`` and ``sample(n_samples, random_state)``
        Mechanism that is applied to private rows, such as :class:`skmia.leakage.NoisyMean`. It is
        cloned.
    attack : estimator with ``fit(X)``, ``score_samples(X_released)`` and ``predict(X_released)``
        Attack on the releases with a parameter ``target``, such as
        :class:`skmia.leakage.MeanLikelihoodRatioAttack`. For each release it is cloned, ``target``
        is set, and ``n_samples`` if it is None, and it is fitted on reference rows.
    X : array-like of shape (n_rows, n_features) or callable
        The population, from which rows are drawn without replacement in each round; or a function
        of a number n and a numpy Generator that returns n fresh rows. Rows of a table that equal a
        target are not drawn for its data set.
    n_samples : int, default=100
        Number of rows of a private data set.
    reference_size : int, default=1000
        Number of reference rows of the attack, which are in no data set that it attacks.
    refit : bool, default=False
        Whether to draw new reference rows for each release. If False, they are drawn once for all
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
    membership_game : The game about records of trained models.

    Notes
    -----
    These are algorithms 3 and 4 of Azize and Basu (2024), where the target is a fresh row or a
    random row of the data set: to put a fresh row in a random place of it gives the same law. Both
    sides of the coin have targets of their own: with one target for both, hits and false alarms
    would depend on each other, and the intervals would be too short where some targets are more
    exposed than others.

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
    ...     EmpiricalMean(), MeanLikelihoodRatioAttack(), draw, n_samples=50, n_rounds=10,
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
    check_enough(population, reference_size, n_samples, n_targets=1)
    first, *seeds = spawn_seeds(random_state, 1 + n_rounds)
    reference, n_reference = None, reference_size
    if not (refit and reference_size):
        reference = population.split(reference_size, np.random.default_rng(first))
        n_reference = 0
    game = MechanismGame(
        copy_unfitted(mechanism), attack, None, population, n_samples, n_reference, reference
    )
    return assemble(*play_all(game, seeds, n_jobs, verbose), level)
