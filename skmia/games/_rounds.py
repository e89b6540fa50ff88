"""Rounds of the membership game: their training sets and outcomes."""

from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score

from .._core.containers import accepting_read_only
from .._core.needs import BOTH
from .._core.randomness import preserved_randomness
from .._core.records import Records
from .._core.seeding import isolated_randomness, seed_estimator
from .._training.job import Kept
from ..base import get_judged
from ..base.cross_fitting import cross_fit, give_population
from ..base.own_pools import fit_own_pools
from ..base.parts import needs_of, set_victim

_SIDES = ("train", "test", "reference")


class Rounds(NamedTuple):
    """Side of each record in each round, and the seeds of victims and attacks."""

    sides: np.ndarray  # (n_rounds, n), int8: 1 + number of the side, 0 for none
    victim_seeds: list
    attack_seeds: list

    def find(self, k, side):
        """Positions of the records of one side of a round, ascending."""
        return np.flatnonzero(self.sides[k] == 1 + _SIDES.index(side))


class Game(NamedTuple):
    """What is the same in all rounds."""

    estimator: object
    attack: object
    records: Records
    group: np.ndarray  # number of each record's group
    n_groups: int
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
        Seeds, one per round.

    Returns
    -------
    rounds : Rounds

    Raises
    ------
    ValueError
        If a side would be left without records.
    """
    sides, spawned = np.zeros((len(seeds), n_records), np.int8), [seed.spawn(3) for seed in seeds]
    for row, (for_sides, _, _) in zip(sides, spawned, strict=True):
        drawn = _draw_sides(n_records, units, sizes, np.random.default_rng(for_sides))
        for number, side in enumerate(drawn, 1):
            row[side] = number
    return Rounds(
        sides,
        [seeds_of_round[1] for seeds_of_round in spawned],
        [seeds_of_round[2] for seeds_of_round in spawned],
    )


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
    for name, side in zip(_SIDES, sides, strict=True):
        if not len(side):
            raise ValueError(
                f"{name}_size leaves no record on that side; there are {n_records} "
                f"records{'' if units is None else f' in {units.max() + 1} indivisible groups'}."
            )
    return sides


def ready_attack(attack, seeds):
    """Return a copy of the attack with its own seeds, still without a victim."""
    attack = clone(attack)
    seed_estimator(attack, seeds)
    return attack


@dataclass(frozen=True)
class Player:
    """Plays the round of each victim as soon as it is trained.

    Parameters
    ----------
    game : Game
        Game that is played.
    rounds : Rounds
        All rounds, a victim each.
    """

    game: Game
    rounds: Rounds

    def __call__(self, trained):
        """The outcome of a round: its numbers by name."""
        k, victim = trained.number, trained.model
        attack = ready_attack(self.game.attack, self.rounds.attack_seeds[k])
        outcome = _play(self.game, self.rounds, k, FrozenEstimator(victim), attack)
        outcome["fit_time"] = trained.seconds
        if self.game.keep_models:
            outcome.update(estimator=victim, attack=attack)
        return Kept(outcome, {})


def _play(game, rounds, k, victim, attack):
    """One round with its fitted victim."""
    train, test, reference = (rounds.find(k, side) for side in _SIDES)
    rows = np.concatenate([train, test])
    asked, inside = game.records[rows], np.arange(len(rows)) < len(train)
    start, seeds = perf_counter(), rounds.attack_seeds[k]
    with isolated_randomness(seeds):
        set_victim(attack, victim)
        guesses, judged = _judge(attack, game.records[reference], asked, inside, seeds)
    attack_time = perf_counter() - start
    group = game.group[rows]
    outcome = {"attack_time": attack_time, "n_unjudged": np.count_nonzero(~judged)}
    outcome.update(_rates(game, group[judged], inside[judged], guesses[judged]))
    if game.keep_guesses:
        both = {"guesses": guesses[judged], "membership": inside[judged]}
        outcome.update({name: _spread(some, rows[judged], game) for name, some in both.items()})
    return {**outcome, **_scores(game, group, inside, _predict(victim, asked.X), asked.y)}


def _judge(attack, reference, asked, inside, seeds):
    """Guesses of the attack about the records of both sides, and which it can judge."""
    needs = needs_of(attack)
    if needs is None or needs.known != BOTH:
        give_population(attack, reference)  # the victim was trained on none of them
        guesses = np.asarray(attack.fit(reference).predict(asked)) == 1
        return guesses, get_judged(attack, asked)
    fit_own_pools(attack, reference)
    judged = cross_fit(attack, asked, inside, int(seeds.generate_state(1)[0]))
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
