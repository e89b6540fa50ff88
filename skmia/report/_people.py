"""The strongest attack on people with several records, and who of them is exposed most."""

from typing import NamedTuple

import numpy as np

from .._core.groups import number_groups
from ..base import get_neutral
from ..metrics import auc_interval, conformal_pvalues
from ._curves import MOST_EXPOSED, list_judged, rank_attacks
from .checks._permutation import permutation_test
from .evidence import count_permutations
from .measure import FEWEST
from .person_level import MEAN, SUM


class _People(NamedTuple):
    """People whose records are all on one side."""

    names: np.ndarray
    numbers: np.ndarray  # person of each record
    is_whole: np.ndarray
    inside: np.ndarray
    n_mixed: int


def measure_people(case, run):
    """Measure the attacks on people instead of records.

    Records that an attack cannot judge are left out, and so are people with records on both sides,
    who are neither members nor non-members. Attacks that are cross-fitted are left out, because
    their scores of one person depend on the membership of others.

    Parameters
    ----------
    case : Case
    run : Run

    Returns
    -------
    found : dict or None
        The strongest attack. None without people, if each of them has a single record, or if all
        attacks are cross-fitted.
    """
    if case.people is None or not run.fitted:
        return None
    people = _read_people(case)
    if len(people.names) == len(people.numbers):
        return None
    ways, scores, judged = {}, {}, {}
    for attack, fitted in run.fitted.items():
        neutral = get_neutral(fitted)
        ways[attack] = MEAN if neutral is None else SUM
        rows = run.judged[attack]
        away = np.where(rows, run.scores[attack] - (neutral or 0.0), 0.0)
        n_judged = np.bincount(people.numbers, rows)
        total = np.bincount(people.numbers, away)
        combined = total if ways[attack] == SUM else total / np.maximum(n_judged, 1)
        scores[attack] = combined[people.is_whole]
        judged[attack] = (n_judged > 0)[people.is_whole]
    usable = [name for name in scores if len(list_judged(judged, name, people.inside))]
    scores = {name: scores[name] for name in usable or scores}
    attack = next(iter(rank_attacks(scores, people.inside, judged)))
    return {
        "attack": attack,
        "combine": ways[attack],
        "n_mixed": people.n_mixed,
        "n_permutations": count_permutations(case.level),
        **_judge(case, people, scores, judged, attack),
    }


def _read_people(case):
    names, numbers = number_groups(case.people, len(case.membership))
    n_records, n_inside = np.bincount(numbers), np.bincount(numbers, case.membership)
    is_whole = (n_inside == 0) | (n_inside == n_records)
    return _People(names, numbers, is_whole, n_inside[is_whole] > 0, int((~is_whole).sum()))


def _judge(case, people, scores, judged, attack):
    """Sizes, AUC and p-value of the attack, and who is exposed most; None where too few remain."""
    rows = list_judged(judged, attack, people.inside)
    sides, own = people.inside[rows], scores[attack][rows]
    n_members = int(sides.sum())
    found = {
        "n_members": n_members,
        "n_nonmembers": len(rows) - n_members,
        **dict.fromkeys(("auc", "low", "high", "pvalue")),
        "exposed": [],
    }
    if min(n_members, len(rows) - n_members) < FEWEST:
        return found
    limits = auc_interval(sides, own, confidence_level=case.level)
    test = permutation_test(
        people.inside,
        scores,
        judged=judged,
        n_permutations=count_permutations(case.level),
        random_state=case.seeds["checks"],
    )
    adjusted = test.frame.set_index("attack")["pvalue_adjusted"]
    return found | {
        **dict(zip(("auc", "low", "high"), limits, strict=True)),
        "pvalue": float(adjusted[attack]),
        "exposed": _list_exposed(people, rows, own),
    }


def _list_exposed(people, rows, scores):
    """The members with the highest scores, and how rarely a non-member scores as high."""
    sides = people.inside[rows]
    members, others = rows[sides], scores[~sides]
    order = np.argsort(-scores[sides], kind="stable")[:MOST_EXPOSED]
    top = scores[sides][order]
    pvalues = conformal_pvalues(top, others)
    counts = np.bincount(people.numbers)[people.is_whole]
    names = people.names[people.is_whole]
    return [
        {
            "person": names[place],
            "n_records": int(counts[place]),
            "score": float(score),
            "n_above": round(pvalue * (1 + len(others))) - 1,
            "pvalue": float(pvalue),
        }
        for place, score, pvalue in zip(members[order], top, pvalues, strict=True)
    ]
