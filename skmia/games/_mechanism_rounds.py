"""Rounds of a game about one record and the releases of a mechanism."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import gen_batches

from .._core.matrix import check_matrix
from .._core.numbers import to_array
from .._core.progress import show_progress
from .._core.seeding import isolated_randomness, seed_estimator
from .._core.sklearn import N_JOBS, HasMethods, at_least
from .._core.tasks import delayed
from .._core.user_functions import call_given
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
        """Draw one row."""
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
        """Draw one row."""
        return self._sample(1, rng)[0]

    def split(self, n_reference, rng):
        """Reference rows."""
        return self._sample(n_reference, rng) if n_reference else None

    def draw(self, n_reference, n_samples, rng):
        return self.split(n_reference, rng), self._sample(n_samples, rng)

    def count(self):
        return np.inf


class Game(NamedTuple):
    """What is the same in all rounds."""

    mechanism: object
    attack: object
    target: np.ndarray | None  # None where each round has its own
    population: object
    n_samples: int
    n_reference: int  # reference rows of each round; 0 where they are the same in all
    reference: np.ndarray | None = None  # of all rounds, where the attack is not fitted


def read_population(X):
    """Where rows come from."""
    return FromSampler(X) if callable(X) else FromRows(check_matrix(X, input_name="X"))


def check_enough(population, n_reference, n_samples):
    """Refuse a table with fewer rows than a round takes."""
    wanted = n_reference + n_samples
    if wanted > population.count():
        raise ValueError(
            f"reference_size and n_samples ask for {n_reference} + {n_samples} rows; "
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
    """Scores and guesses of all rounds, of shape (n_rounds, 2): without and with the target."""
    parts = [seeds[part] for part in gen_batches(len(seeds), _ROUNDS)]
    bar = show_progress(parts, verbose, f"parts of {_ROUNDS} rounds")
    results = Parallel(n_jobs=n_jobs)(delayed(_play_part)(game, part) for part in bar)
    return (np.concatenate(column) for column in zip(*results, strict=True))


def _play_part(game, seeds):
    """Scores and guesses of some rounds, without and with the target."""
    rounds = [_draw_round(game, seed) for seed in seeds]
    if rounds[0][1] is None:
        answers = [_ask(game.attack, np.concatenate([released for released, _ in rounds]))]
    else:
        answers = [_ask(attack, released) for released, attack in rounds]
    scores, guesses = (np.concatenate(column) for column in zip(*answers, strict=True))
    return scores.reshape(-1, 2), guesses.reshape(-1, 2)


def _ask(attack, released):
    return attack.score_samples(released), attack.predict(released)


def _draw_round(game, seeds):
    """Releases of a round without and with the target, and the attack of the round."""
    for_rows, for_mechanism, for_attack = seeds.spawn(3)
    rng, population, target = np.random.default_rng(for_rows), game.population, game.target
    if target is None:
        target = population.draw_target(rng)
        population = population.without(target)
        check_enough(population, game.n_reference, game.n_samples)
    reference, rows = population.draw(game.n_reference, game.n_samples, rng)
    _, others = population.draw(0, game.n_samples, rng)
    others = np.array(others)
    others[rng.integers(game.n_samples)] = target
    released = [
        _release(game.mechanism, data, seed)
        for data, seed in zip((rows, others), for_mechanism.spawn(2), strict=True)
    ]
    reference = reference if game.n_reference else game.reference
    own = None
    if reference is not None:
        own = aim(clone(game.attack), target, game.n_samples)
        own = fit_attack(own, reference, for_attack)
    return np.concatenate(released), own


def _release(mechanism, rows, seeds):
    """One sample of a mechanism that was fitted on some rows."""
    mechanism = clone(mechanism)
    seed_estimator(mechanism, seeds)
    with isolated_randomness(seeds):
        state = int(seeds.generate_state(1)[0] >> np.uint32(1))
        return np.asarray(mechanism.fit(rows).sample(1, random_state=state))


def assemble(scores, guesses, level):
    """Results of a game."""
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
