"""Rounds of the membership game: who is trained on what, and what the attack makes of it."""

from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.utils import gen_batches

from .._needs import BOTH
from .._parts import needs_of, set_victim
from .._records import Records
from ..attacks._cross_fit import cross_fit, give_population
from ..attacks._own_pools import find_own_pools, fit_own_pools, set_pool
from ..base import find_judged
from ..shadow._seeding import isolated_randomness, seed_estimator
from ..shadow._together import (
    accepting_read_only,
    can_join,
    fit_pools,
    make_model_job,
    make_pool_job,
    train_models,
)
from ..utils._randomness import preserved_randomness

# Shadow models trained together: with more of them training gains no more speed, and each has a
# row of the table of who is trained on what.
_LARGEST_JOB = 128


class Round(NamedTuple):
    """The records of one round, as positions in ascending order, and its seeds."""

    train: np.ndarray
    test: np.ndarray
    reference: np.ndarray
    victim_seeds: np.random.SeedSequence
    attack_seeds: np.random.SeedSequence


class Game(NamedTuple):
    """What is the same in all rounds."""

    estimator: object
    attack: object
    records: Records
    group: np.ndarray  # number of each record's group
    n_groups: int
    victim_backend: object = None  # trains many victims at once, or None
    pool_backend: object = None  # trains the models of many pools at once, or None
    keep_models: bool = False  # victims and attacks
    keep_guesses: bool = False  # about each record


def draw_rounds(n_records, units, sizes, seeds):
    """Draw the disjoint sets of each round.

    Parameters
    ----------
    n_records : int
        Number of records.
    units : ndarray of shape (n,) or None
        Records of one unit stay on one side.
    sizes : sequence of int
        Records for training, test and reference.
    seeds : list of SeedSequence
        One a round.

    Returns
    -------
    rounds : list of Round

    Raises
    ------
    ValueError
        When a side would be left without records.
    """
    rounds = []
    for one in seeds:
        for_sides, *others = one.spawn(3)
        sides = _draw_sides(n_records, units, sizes, np.random.default_rng(for_sides))
        rounds.append(Round(*sides, *others))
    return rounds


def _draw_sides(n_records, units, sizes, rng):
    if units is None:
        order = rng.permutation(n_records)
        ends = np.arange(n_records + 1)
    else:
        order = np.argsort(rng.permutation(units.max() + 1)[units], kind="stable")
        ends = np.append(np.flatnonzero(np.diff(units[order], prepend=-1)), n_records)
    stops = [0]
    for size in sizes:  # a side ends where a unit ends, at the last such place within its size
        stops.append(ends[np.searchsorted(ends, stops[-1] + size, side="right") - 1])
    sides = [np.sort(order[a:b]) for a, b in pairwise(stops)]
    for name, side in zip(("train", "test", "reference"), sides, strict=True):
        if not len(side):
            raise ValueError(
                f"{name}_size leaves no record on that side; there are {n_records} records"
                f"{'' if units is None else f', {units.max() + 1} sets of which stay together'}."
            )
    return sides


def ready_attack(attack, seeds):
    """A copy of the attack with seeds of its own, still without a victim."""
    attack = clone(attack)
    seed_estimator(attack, seeds)
    return attack


def make_victim_job(estimator, records, rounds):
    """The job of training the victims of some rounds."""
    inside = np.zeros((len(rounds), len(records)), dtype=bool)
    for row, one in zip(inside, rounds, strict=True):
        row[one.train] = True
    return make_model_job(estimator, records, inside, [one.victim_seeds for one in rounds])


def find_joint_pools(attacks):
    """Unfitted pools in the attacks that may be fitted together, by the place where they are."""
    own = [find_own_pools(attack) for attack in attacks]
    return {place: [one[place] for one in own] for place, pool in own[0].items() if can_join(pool)}


def _fit_joint_pools(game, attacks, parts):
    for place, pools in find_joint_pools(attacks).items():
        for some in gen_batches(len(pools), max(1, _LARGEST_JOB // pools[0].n_estimators)):
            job = make_pool_job(pools[some], game.records, parts[some])
            fit_pools(pools[some], game.records, parts[some], job, game.pool_backend)
        for attack, pool in zip(attacks, pools, strict=True):
            set_pool(attack, place, pool)


def play_rounds(game, rounds):
    """Outcomes of some rounds.

    Parameters
    ----------
    game : Game
        The game.
    rounds : list of Round
        The rounds.

    Returns
    -------
    outcomes : list of dict
        Of the numbers of each round; ``"warnings"`` holds what training the victim said.
    """
    start = perf_counter()
    job = make_victim_job(game.estimator, game.records, rounds)
    victims, caught = train_models(job, game.victim_backend)
    fit_time, start = (perf_counter() - start) / len(rounds), perf_counter()
    attacks = [ready_attack(game.attack, one.attack_seeds) for one in rounds]
    if game.pool_backend is not None:
        _fit_joint_pools(game, attacks, [one.reference for one in rounds])
    pool_time = (perf_counter() - start) / len(rounds)
    outcomes = []
    for one, victim, attack, said in zip(rounds, victims, attacks, caught, strict=True):
        outcome = _play(game, one, FrozenEstimator(victim), attack)
        outcome["fit_time"] = fit_time
        outcome["attack_time"] += pool_time
        outcome["warnings"] = said
        if game.keep_models:
            outcome.update(estimator=victim, attack=attack)
        outcomes.append(outcome)
    return outcomes


def _play(game, one, victim, attack):
    """One round with its fitted victim."""
    rows = np.concatenate([one.train, one.test])
    asked = game.records[rows]
    start = perf_counter()
    inside = np.arange(len(asked)) < len(one.train)
    with isolated_randomness(one.attack_seeds):
        set_victim(attack, victim)
        guesses, judged = _judge(attack, game.records[one.reference], asked, inside, one)
    attack_time = perf_counter() - start
    group = game.group[rows]
    outcome = {"attack_time": attack_time, "n_unjudged": np.count_nonzero(~judged)}
    outcome.update(_rates(game, group[judged], inside[judged], guesses[judged]))
    if game.keep_guesses:
        both = {"guesses": guesses[judged], "membership": inside[judged]}
        outcome.update({name: _spread(some, rows[judged], game) for name, some in both.items()})
    return {**outcome, **_scores(game, group, inside, _predict(victim, asked.X), asked.y)}


def _judge(attack, reference, asked, inside, one):
    """Guesses of the attack about the records of both sides, and which it can judge."""
    needs = needs_of(attack)
    if needs is None or needs.known != BOTH:
        give_population(attack, reference)  # the victim was trained on none of them
        guesses = np.asarray(attack.fit(reference).predict(asked)) == 1
        return guesses, find_judged(attack, asked)
    fit_own_pools(attack, reference)
    judged = cross_fit(attack, asked, inside, int(one.attack_seeds.generate_state(1)[0]))
    return judged.guesses, judged.judged


def _spread(values, rows, game):
    """Values of some records among all, -1 for the others."""
    everywhere = np.full(len(game.records), -1, dtype=np.int8)
    everywhere[rows] = values
    return everywhere


def _predict(victim, X):
    with preserved_randomness(), accepting_read_only():
        return np.asarray(victim.predict(X))


def _rates(game, group, inside, guesses):
    return {
        "tpr": guesses[inside].mean(),
        "fpr": guesses[~inside].mean(),
        "group_tpr": _group_means(group[inside], guesses[inside], game.n_groups),
        "group_fpr": _group_means(group[~inside], guesses[~inside], game.n_groups),
    }


def _scores(game, group, inside, predictions, y):
    """How well the victim does on either side, and the gap where that is an accuracy."""
    if is_regressor(game.estimator):
        train, test = (r2_score(y[side], predictions[side]) for side in (inside, ~inside))
        gap, group_gap = np.nan, np.full(game.n_groups, np.nan)
    else:
        right = predictions == y
        train, test = right[inside].mean(), right[~inside].mean()
        by_group = (_group_means(group[s], right[s], game.n_groups) for s in (inside, ~inside))
        gap, group_gap = abs(train - test), np.subtract(*by_group)
    return {"train_score": train, "test_score": test, "worst_case": gap, "group_gap": group_gap}


def _group_means(group, values, n_groups):
    """Mean of each group, NaN where it has no record."""
    count = np.bincount(group, minlength=n_groups)
    total = np.bincount(group, weights=values, minlength=n_groups)
    return np.divide(total, count, out=np.full(n_groups, np.nan), where=count > 0)
