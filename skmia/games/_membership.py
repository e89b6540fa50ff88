"""Membership game: an attack on many victims with different training records."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score

from .._core.callers import level_of_user
from .._core.containers import accepting_read_only
from .._core.copies import copy_unfitted
from .._core.groups import ONE_NAME, find_groups, mean_by_group, number_groups
from .._core.kinds import is_regressor
from .._core.metric_inputs import get_judged
from .._core.needs import BOTH
from .._core.query import predict_flat, unwrap
from .._core.randomness import (
    isolated_randomness,
    preserved_randomness,
    seed_estimator,
    spawn_seeds,
)
from .._core.records import Records, has_column
from .._core.sample_weights import WEIGHTS, mark_trained, weights_for
from .._core.sklearn import N_JOBS, HasMethods, Interval, at_least, validate_arguments
from .._core.splits import number_units
from .._core.types import ArrayLike, Seed
from .._core.validation import check_records
from .._training.frozen import name_shared_parts
from .._training.job import Job, JobData, KeptResults, run_visibly, warn_of_weights, warn_once
from .._training.plan import plan_training
from .._training.recalled import set_recalled
from .._training.workers import use_one_job
from ..base import (
    align_victim,
    cross_fit,
    fit_own_pools,
    give_population,
    needs_of,
    offer_of,
    set_victim,
    takes_victim,
    why_not,
)

_SIDES = ("train", "test", "reference")


class GameRounds(NamedTuple):
    """Side of each record in each round, and the seeds of victims and attacks."""

    sides: np.ndarray  # (n_rounds, n), int8: 1 + number of the side, 0 for none
    victim_seeds: list
    attack_seeds: list

    def find(self, k, side):
        """Return the positions of the records of one side of a round, ascending."""
        return np.flatnonzero(self.sides[k] == 1 + _SIDES.index(side))

    def spread(self, places):
        """Return rounds of more records, of which those at some places are on a side."""
        sides = np.zeros((len(self.sides), len(places)), np.int8)
        sides[:, places] = self.sides
        return self._replace(sides=sides)


class MembershipGame(NamedTuple):
    """What is the same in all rounds."""

    estimator: object
    attack: object
    records: Records
    group: np.ndarray  # number of each record's group
    n_groups: int
    keep_models: bool = False  # victims and attacks
    keep_guesses: bool = False  # about each record


# Orders of the units that are tried until there are records on each side.
_N_DRAWS = 100


def draw_rounds(n_records, units, sizes, seeds, fills=False):
    """Draw the disjoint sets of each round."""
    sides, spawned = np.zeros((len(seeds), n_records), np.int8), [seed.spawn(3) for seed in seeds]
    for row, (for_sides, _, _) in zip(sides, spawned, strict=True):
        drawn = _draw_sides(n_records, units, sizes, np.random.default_rng(for_sides), fills)
        for number, side in enumerate(drawn, 1):
            row[side] = number
    _, of_victims, of_attacks = zip(*spawned, strict=True)
    return GameRounds(sides, list(of_victims), list(of_attacks))


def _draw_sides(n_records, units, sizes, rng, fills):
    """Draw the sides of one round from units, which are not divided.

    Units come in a random order. A side ends before the first one that does not fit, or, if fills
    is True, goes on with the next ones that do: people may have many records, while a few equal
    records leave a side hardly smaller. Where a large unit is on no side, the others may not
    suffice for all sides; another order is drawn then.
    """
    if units is None:
        parts = np.split(rng.permutation(n_records), np.cumsum(sizes))
        sides = [np.sort(part) for part in parts[: len(sizes)]]
    else:
        for _ in range(_N_DRAWS if fills else 1):
            place = rng.permutation(units.max() + 1)[units]  # of the unit of each record
            numbers = _fill_sides(np.bincount(place), sizes, fills)[place]
            sides = [np.flatnonzero(numbers == k) for k in range(len(sizes))]
            if all(map(len, sides)):
                break
    for name, side in zip(_SIDES, sides, strict=True):
        if not len(side):
            raise ValueError(
                f"{name}_size leaves no record on that side; there are {n_records} "
                f"records{'' if units is None else _describe_units(units)}."
            )
    return sides


def _fill_sides(counts, sizes, fills):
    """Return the side of each unit, of these numbers of records; -1 for those on none."""
    numbers = np.full(len(counts), -1)
    for k, size in enumerate(sizes):
        room, places = size, np.flatnonzero(numbers < 0)
        while len(places):
            n_fit = np.searchsorted(np.cumsum(counts[places]), room, side="right")
            numbers[places[:n_fit]] = k
            room -= counts[places[:n_fit]].sum()
            places = places[n_fit:]
            places = places[counts[places] <= room] if fills else places[:0]
    return numbers


def _describe_units(units):
    """Say how many units there are, and how large the largest one is."""
    counts = np.bincount(units)
    return f" in {len(counts)} indivisible groups, the largest of which has {counts.max()}"


def ready_attack(attack, seeds):
    """Return a copy of the attack, and of its pools, with its own seeds, still without a victim."""
    attack = clone(attack)
    seed_estimator(attack, seeds)
    return attack


@dataclass(frozen=True)
class RoundPlayer:
    """Plays the round of each victim as soon as it is trained."""

    game: MembershipGame
    rounds: GameRounds

    def __call__(self, trained):
        """Return the outcome of a round: its numbers by name."""
        k, victim = trained.number, trained.model
        attack = ready_attack(self.game.attack, self.rounds.attack_seeds[k])
        outcome = _play(self.game, self.rounds, k, victim, attack)
        outcome["fit_time"] = trained.seconds
        if self.game.keep_models:
            outcome.update(estimator=victim, attack=attack)
        return KeptResults(outcome, {})


def _play(game, rounds, k, victim, attack):
    """Return one round with its fitted victim."""
    train, test, reference = (rounds.find(k, side) for side in _SIDES)
    rows = np.concatenate([train, test])
    asked, inside = game.records[rows], np.arange(len(rows)) < len(train)
    reference = game.records[reference].detached()  # no pool may be trained on other records
    labels = np.concatenate([asked.y, reference.y])
    start, seeds = perf_counter(), rounds.attack_seeds[k]
    with isolated_randomness(seeds):
        # Clones of an attack that is not of this package keep the victim only if it is frozen.
        set_victim(attack, FrozenEstimator(align_victim(victim, attack, labels)))
        guesses, judged = _judge_round(attack, reference, asked, inside, seeds)
    attack_time = perf_counter() - start
    group = game.group[rows]
    outcome = {"attack_time": attack_time, "n_unjudged": np.count_nonzero(~judged)}
    outcome.update(_rates(game, group[judged], inside[judged], guesses[judged]))
    if game.keep_guesses:
        both = {"guesses": guesses[judged], "membership": inside[judged]}
        outcome.update(
            {name: _scatter_values(some, rows[judged], game) for name, some in both.items()}
        )
    with preserved_randomness(), accepting_read_only():
        predictions = predict_flat(victim, asked.X)
    return {**outcome, **_scores(game, group, inside, predictions, asked.y)}


def _judge_round(attack, reference, asked, inside, seeds):
    """Return the guesses of the attack about the records of both sides, and which it can judge."""
    needs = needs_of(attack)
    fit_own_pools(attack, reference)
    if needs is None or needs.known != BOTH:
        give_population(attack, reference)  # the victim was trained on none of them
        guesses = np.asarray(attack.fit(reference).predict(asked)) == 1
        return guesses, get_judged(attack, asked)
    judged = cross_fit(attack, asked, inside, int(seeds.generate_state(1)[0]))
    return judged.guesses, judged.judged


def _scatter_values(values, rows, game):
    """Return the values of some records among all, -1 for the others."""
    everywhere = np.full(len(game.records), -1, dtype=np.int8)
    everywhere[rows] = values
    return everywhere


def _rates(game, group, inside, guesses):
    return {
        "tpr": guesses[inside].mean(),
        "fpr": guesses[~inside].mean(),
        "group_tpr": mean_by_group(guesses[inside], group[inside], game.n_groups),
        "group_fpr": mean_by_group(guesses[~inside], group[~inside], game.n_groups),
    }


def _scores(game, group, inside, predictions, y):
    """Return how well the victim does on either side, and the gap where that is an accuracy."""
    if is_regressor(game.estimator):
        train, test = (r2_score(y[side], predictions[side]) for side in (inside, ~inside))
        gap, group_gap = np.nan, np.full(game.n_groups, np.nan)
    else:
        right = predictions == y
        train, test = right[inside].mean(), right[~inside].mean()
        by_group = (mean_by_group(right[s], group[s], game.n_groups) for s in (inside, ~inside))
        gap, group_gap = abs(train - test), np.subtract(*by_group)
    return {"train_score": train, "test_score": test, "worst_case": gap, "group_gap": group_gap}


_SIZE = [Interval(Real, 0, 1, closed="neither"), at_least(1)]
_CONSTRAINTS = {
    "estimator": [HasMethods(["fit", "predict"])],
    # A stack has no predict before it is fitted.
    "attack": [HasMethods(["fit", "get_params", "set_params"])],
    "n_rounds": [at_least(1)],
    "train_size": _SIZE,
    "test_size": _SIZE,
    "reference_size": _SIZE,
    "n_jobs": N_JOBS,
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "return_estimator": ["boolean"],
    "return_guesses": ["boolean"],
}

_NUMBERS = (
    "fit_time attack_time vulnerability n_unjudged tpr fpr train_score test_score worst_case"
).split()
_GROUP_TABLES = ("group_vulnerability", "group_tpr", "group_fpr", "group_gap")


def membership_game(
    estimator: BaseEstimator,
    attack: BaseEstimator,
    X: Records | ArrayLike,
    y: ArrayLike | None = None,
    *,
    groups: str | int | ArrayLike | None = None,
    n_rounds: int = 20,
    train_size: float | int = 0.4,
    test_size: float | int = 0.4,
    reference_size: float | int = 0.2,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
    return_estimator: bool = False,
    return_guesses: bool = False,
) -> dict[str, Any]:
    """Play the membership game, which measures the average leakage of a training procedure.

    Each round splits the records into three disjoint sets. A victim is trained on the first; the
    attack learns from the third, without the victim's members, and then predicts the membership of
    the records of the first two sets. An attack that learns from known members is cross-fitted on
    the records of the first two sets: it predicts each of five folds after it has learned from the
    other folds. The vulnerability of the round is v = TPR - FPR, an unbiased estimate of the
    attacker's advantage, between -1 and 1; 0 is chance.

    Parameters
    ----------
    estimator : estimator
        Estimator that is trained as the victim, Pipelines included. It is cloned, never changed.
    attack : attack
        Attack, or classifier around attacks and :class:`~skmia.signals.Signals`, whose parameters
        ``victim`` each round sets. It is cloned. An unfitted :class:`~skmia.ShadowPool` in its
        parameters is fitted on the reference records of each round; a fitted one is left alone. An
        attack with ``online=False`` scores the other records by the models, which a pool with
        ``store="models"`` keeps, as that of ``shadows=16`` does here. An attack that lacks a
        population of non-members gets the reference records.
    X : Records of n records, or array-like of shape (n, ...)
        The population. Equal records, and records with one value of a field ``group_by``, are
        assigned to the same set, as in a :class:`~skmia.ShadowPool`. A person whose records do not
        fit into what is left of a set is passed over for the next one, and is in another set or in
        none. A set is smaller than asked if nobody fits. Records whose ``sample_weight`` is 0 are
        in no set, if the estimator takes weights.
    y : array-like of shape (n,), default=None
        Task labels, if X holds features.
    groups : str, int or array-like of shape (n,), default=None
        Group of each record, or the name of a field of the records or of a column of X (the number
        of a column if X is an array), to break the result down by.
    n_rounds : int, default=20
        Number of victims.
    train_size, test_size, reference_size : float or int, default=0.4, 0.4, 0.2
        Size of each set, as a fraction of all records or a number.
    n_jobs : int, default=None
        Number of jobs that play rounds in parallel, through joblib, with a single thread each. If
        None, one worker with all threads. Results do not depend on it, except for the last bits of
        torch nets other than perceptrons. Nets of scikit-learn and skorch are trained many at a
        time in each worker.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls the splits and the seeds of every victim and attack.
    return_estimator : bool, default=False
        Whether to return the victims and attacks of all rounds.
    return_guesses : bool, default=False
        Whether to return the prediction for each record in each round.

    Returns
    -------
    results : dict
        With an array of shape (n_rounds,) for each of

        ``vulnerability``
            TPR - FPR.
        ``n_unjudged``
            Number of records that the attack cannot judge, see
            :meth:`~skmia.base.BaseAttack.can_judge`; its rates use the other records.
        ``tpr``, ``fpr``
            Share of training records, and of test records, that the attack flags as members.
        ``train_score``, ``test_score``
            Accuracy of the victim on either set; the coefficient of determination of a regressor.
        ``worst_case``
            Absolute difference of the two accuracies: the vulnerability to the best attack that
            only sees whether the victim's prediction is correct. NaN for a regressor.
        ``fit_time``, ``attack_time``
            Seconds for the victim, and for the attack with its shadow models; of models that were
            trained together, an equal share each.

        With ``groups``, DataFrames of shape (n_rounds, n_groups), a column for each group:
        ``group_vulnerability``, ``group_tpr``, ``group_fpr``, and ``group_gap``, the accuracy on
        training records minus the accuracy on test records. NaN if a round has no record of the
        group on one side.

        With ``return_estimator=True``, lists of the fitted ``estimator`` and ``attack`` of each
        round. A cross-fitted attack is not fitted itself.

        With ``return_guesses=True``, arrays of shape (n_rounds, n) and dtype int8: ``guesses`` is 1
        if the attack flags the record as a member and 0 if not, ``membership`` is 1 for training
        records and 0 for test records. Both are -1 for all other records of the round.

    Raises
    ------
    ValueError
        If a parameter is out of range, the three sizes exceed the records, or the attack needs
        something that these victims do not offer.
    TypeError
        If the attack has no parameter ``victim``.

    See Also
    --------
    leave_one_model_out : Power of an attack on a pool, without training further models.
    per_datum_game : Game about one record and a mechanism.

    Notes
    -----
    Both means of v are taken over their own records, with weights 1/n. O'Dell (2023) prints 2/n,
    which estimates 2V + 1 instead of V.

    The mean of ``vulnerability`` estimates V. Its standard error, the standard deviation over the
    square root of ``n_rounds``, is optimistic because all rounds draw from the same records.

    A label that the training set of a victim lacks has probability 0, as in a pool, unless the
    attack looks into the victim, which refuses it.

    An absolute difference of two noisy accuracies is positive without any leak, so ``worst_case``
    has a positive bias.

    References
    ----------
    O'Dell, R. (2023). Estimating Privacy Leakage of Machine Learning Models. MSc thesis, UCLA.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.games import membership_game
    >>> records, _ = make_membership_problem(random_state=0)
    >>> attack = ThresholdAttack(signal="correctness")
    >>> game = membership_game(
    ...     DecisionTreeClassifier(), attack, records, n_rounds=5, random_state=0
    ... )
    >>> game["vulnerability"].shape
    (5,)
    >>> bool(game["vulnerability"].mean() > 0.2)
    True
    """
    validate_arguments(_CONSTRAINTS, locals(), "membership_game")
    records = _check_game_records(X, y)
    names, group = _read_groups(groups, records)
    trained = mark_trained(unwrap(estimator), records)
    played = records if trained is None else records[trained]
    which = "" if trained is None else f" with a {WEIGHTS} above 0"
    sizes = _read_sizes(train_size, test_size, reference_size, len(played), which)
    rounds = draw_rounds(
        len(played),
        _number_game_units(played),
        sizes,
        spawn_seeds(random_state, n_rounds),
        fills="group_by" in records.fields,
    )
    rounds = rounds if trained is None else rounds.spread(trained)
    estimator, attack = _check_players(estimator, attack, effective_n_jobs(n_jobs) > 1)
    warn_of_weights(estimator, records, "victims")
    kept = {"keep_models": return_estimator, "keep_guesses": return_guesses}
    game = MembershipGame(estimator, attack, records, group, len(names), **kept)
    outcomes = _play_rounds(game, rounds, n_jobs, verbose)
    return _assemble(outcomes, None if groups is None else names)


def _check_game_records(X, y):
    if not isinstance(X, Records):
        X = Records(X, y)
    elif y is not None:
        raise ValueError("X holds records, which carry their labels; leave y out.")
    check_records(X, targets=True)
    X.fingerprint  # noqa: B018 - computed once, and not by every worker
    return X


def _read_groups(groups, records):
    """Return the names of the groups and the number of each record's."""
    if groups is None:
        return np.array([None]), np.zeros(len(records), dtype=np.intp)
    found = find_groups(records, groups, "groups")
    return number_groups(found, len(records), "groups", ONE_NAME)


def _number_game_units(records):
    """Return the unit of each record, or None where every record is a unit of its own.

    A unit holds records that are equal (``digest_records`` in ``_core/hashing.py``) or have one
    value of group_by. ``groups`` only breaks results down.
    """
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    return None if units.max() + 1 == len(records) else units


def _read_sizes(train_size, test_size, reference_size, n_records, which=""):
    sizes = [
        size if isinstance(size, Integral) else int(size * n_records + 1e-9)
        for size in (train_size, test_size, reference_size)
    ]
    if sum(sizes) > n_records:
        raise ValueError(
            f"The three sets are disjoint and hold at most all {n_records} records{which} "
            f"together; got {train_size=}, {test_size=}, {reference_size=}."
        )
    return sizes


def _check_players(estimator, attack, parallel):
    """Clone the model and the attack; they start no workers if rounds run in parallel."""
    estimator = unwrap(estimator)
    shared = name_shared_parts(estimator)
    if shared:
        warnings.warn(
            f"Fitted parts of the estimator ({', '.join(shared)}) are the same for the victims of "
            "all rounds, so leakage of their own training records is not measured. Remove their "
            "FrozenEstimator to train them in each round.",
            UserWarning,
            stacklevel=level_of_user(),
        )
    if not takes_victim(attack):
        raise TypeError(
            "attack must take the model under attack as its parameter victim; "
            f"{type(attack).__name__} has no such parameter."
        )
    estimator = set_recalled(copy_unfitted(estimator), estimator)
    attack = set_victim(clone(attack), None)
    no_pool = {"shadows": "which a game does not make: give it shadows=ShadowPool(...)"}
    reason = why_not(attack, offer_of(estimator, trainable=False, withheld=no_pool))
    if reason is not None:
        raise ValueError(f"{type(attack).__name__} cannot play this game: {reason}.")
    return (use_one_job(estimator), use_one_job(attack)) if parallel else (estimator, attack)


def _play_rounds(game, rounds, n_jobs, verbose):
    """Return the outcomes of all rounds, in order."""
    weights = weights_for(game.estimator, game.records)
    data, subsets = (
        JobData([game.records.X], game.records.y, weights, column=has_column(game.records)),
        rounds.sides == 1,
    )
    keep = RoundPlayer(game, rounds)
    job = Job(game.estimator, data, subsets, rounds.victim_seeds, keep, n_jobs)
    played = dict(run_visibly(plan_training(job, exact=True), job, verbose, "rounds"))
    caught = [warning for k in sorted(played) for warning in played[k].warnings]
    warn_once(caught, job.n_models, "victims")
    return [played[k].facts for k in sorted(played)]


def _assemble(outcomes, names):
    for outcome in outcomes:
        outcome["vulnerability"] = outcome["tpr"] - outcome["fpr"]
        outcome["group_vulnerability"] = outcome["group_tpr"] - outcome["group_fpr"]
    listed = {name: [outcome[name] for outcome in outcomes] for name in outcomes[0]}
    results = {name: np.array(listed[name]) for name in _NUMBERS}
    if names is not None:
        index = pd.RangeIndex(len(outcomes), name="round")
        for name in _GROUP_TABLES:
            values = np.array(listed[name])
            results[name] = pd.DataFrame(values, index, pd.Index(names, name="group"))
    results |= {name: listed[name] for name in ("estimator", "attack") if name in listed}
    both = (name for name in ("guesses", "membership") if name in listed)
    return results | {name: np.array(listed[name]) for name in both}
