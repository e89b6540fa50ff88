"""The best attack on shadow models that are treated as the victim."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..base import list_repeatable
from ..disparity.game import play_pool
from ._curves import rank_attacks
from ._power import measure_power
from .sample import ALL, MOST_REPEATED, draw_sample, take_records

_MOST_ROUNDS = 32


class Rounds(NamedTuple):
    """Guesses about the records of each model, and its training set, of shape (n_rounds, k).

    Both are those of :class:`~skmia.disparity.GroupGuesses`, for the records at ``rows``.
    """

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
    """Treat shadow models as the victim of the best attack that can attack them.

    Parameters
    ----------
    case : Case
    run : Run
    clock : Clock

    Returns
    -------
    run : Run
        The run with its repetitions.
    """
    seed = case.seeds["checks"]
    sample = draw_sample(len(case.records), case.subsets, MOST_REPEATED, seed)
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
