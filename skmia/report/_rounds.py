"""The best attack on shadow models that are treated as the victim."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from .._core.progress import enter_stage
from ..base import list_repeatable
from ..disparity import play_pool
from ..model_selection import power_curve
from ._case import CHECKS
from ._measure import OVERALL, rank_attacks

# Attacks are repeated on up to 32 shadow models, and groups are compared over all of them.
MOST_REPEATED = 200_000

ALL = slice(None)


class Sample(NamedTuple):
    """Records that a check looks at."""

    # (k,): their positions in order; ``slice(None)`` if they are all records.
    rows: np.ndarray | slice
    n_drawn: int  # number of these records, and of all records
    n_records: int

    @property
    def is_all(self):
        """Whether nothing was left out."""
        return self.n_drawn == self.n_records

    @property
    def text(self):
        """The size of the sample in words; empty if nothing was left out."""
        if self.is_all:
            return ""
        return f"{self.n_drawn:,} of {self.n_records:,} records, drawn at random"


def draw_sample(n_records, subsets, most, seed):
    """Draw records at random, so that no group is short of records."""
    # About most records are drawn, and further ones of small groups, half as many at most. The draw
    # depends on nothing else, so what holds for records that were assigned at random holds for the
    # sample.
    if n_records <= most:
        return Sample(ALL, n_records, n_records)
    keys = np.random.default_rng(seed).random(n_records)
    chosen = keys <= _choose_cut(keys, most)
    fewest = most // (2 * len(subsets))
    for scope, _, mask in subsets:
        if scope == OVERALL:
            continue
        own = keys[mask]
        chosen[mask] |= own <= _choose_cut(own, fewest)
    rows = np.flatnonzero(chosen)
    return Sample(rows, len(rows), n_records)


def take_records(records, rows):
    """Return the records of a sample; all of them as they are, for a selection would read X."""
    return records if isinstance(rows, slice) and rows == ALL else records[rows]


def _choose_cut(keys, n_wanted):
    """The key up to which so many records are drawn."""
    if n_wanted >= len(keys):
        return np.inf
    return np.partition(keys, n_wanted - 1)[n_wanted - 1] if n_wanted else -np.inf


# Number of models treated as the victim, for each number of shadow models.
_N_TARGETS = 8


def measure_power(attack, records):
    """AUC of an attack by the number of its shadow models."""
    repeated = clone(attack).set_params(shadows=FrozenEstimator(attack.pool_))
    curve = power_curve(repeated, records, n_targets=_N_TARGETS, max_fprs=())
    rows = curve["auc"].groupby("n_estimators").agg(["mean", "std", "count"])
    return [
        {
            "n_shadows": int(size) - 2,
            "auc": row["mean"],
            "sd": row["std"],
            "n_models": int(row["count"]),
        }
        for size, row in rows.iterrows()
    ]


_MOST_ROUNDS = 32


class Rounds(NamedTuple):
    """Guesses about the records of each model, and its training set, of shape (n_rounds, k)."""

    # Both are those of GroupGuesses, for the records at rows.

    guesses: np.ndarray
    membership: np.ndarray
    rows: np.ndarray | slice = ALL


class Repetitions(NamedTuple):
    """An attack on shadow models that are treated as the victim, or why there is none."""

    attack: str | None = None  # its name
    rounds: Rounds | None = None  # on one model of each pair
    power: list | None = None  # as returned by measure_power
    obstacle: str | None = None  # why there is none


def repeat_attack(case, run, clock):
    """Treat shadow models as the victim of the best attack that can attack them."""
    seed = case.seeds["checks"]
    sample = draw_sample(len(case.records), case.subsets, MOST_REPEATED, seed)
    enter_stage(CHECKS)
    with clock("repetitions"):
        repetitions = _repeat(case, run, sample.rows)
    notes = list(run.notes)
    if repetitions.obstacle is None and not sample.is_all:
        notes.append(f"Shadow models were treated as the victim on {sample.text}.")
    return replace(run, repetitions=repetitions, notes=notes)


def _repeat(case, run, rows):
    ranked = rank_attacks(run.scores, case.membership, run.judged)
    able = list_repeatable({name: run.fitted[name] for name in ranked if name in run.fitted})
    if not able:
        return Repetitions(obstacle="No attack compares the victim with shadow models.")
    name, attack = next(iter(able.items()))
    records = take_records(case.records, rows)
    try:
        rounds = Rounds(*play_pool(attack, records, _MOST_ROUNDS), rows)
        return Repetitions(name, rounds, measure_power(attack, records))
    except ValueError as error:  # a pool may have too few models in, or out, for some records
        return Repetitions(obstacle=f"Shadow models cannot be treated as the victim: {error}")
