"""Groups that are too small to be judged on one model, and their leakage on shadow models."""

from typing import NamedTuple

import numpy as np

from ..._core.numbers import to_array
from ..._core.visible import visible
from ..groups import OVERALL, get_people
from ..text import join_names
from .base import MOST_NAMES, STATED, WARNING, BaseCheck


class SmallGroup(NamedTuple):
    """A group in which not even a perfect attack would be significant on this model."""

    scope: str
    group: str
    n_records: int
    # Advantage of the attack on shadow models treated as the victim; None without such attacks.
    advantage: float | None
    leaks: bool


def list_small_groups(case, results, null, rounds):
    """List groups in which a leak could not be significant, and whether shadow models leak there.

    Parameters
    ----------
    case : Case
    results : DataFrame
        Numbers of the audit.
    null : DataFrame
        Numbers of the permutation test, with ``pvalue_least``.
    rounds : Rounds or None
        Guesses about the training sets of shadow models.

    Returns
    -------
    groups : list of SmallGroup
    """
    side = (1 - case.level) / 2
    seen = null[null["pvalue_least"] <= side]
    seen = set(zip(seen["scope"], seen["group"]))
    shown = results[results["scope"] != OVERALL]
    shown = dict.fromkeys(zip(shown["scope"], shown["group"]))
    small = [part for part in shown if part not in seen]
    masks = {part[:2]: part[2] for part in case.subsets if part[:2] in small}
    people = get_people(case.records, case.membership) if small and rounds is not None else None
    people = people if people is None else to_array(people, "group_by")[rounds.rows]
    found = []
    for part in small:
        n_records = int(masks[part].sum())
        if rounds is None:
            found.append(SmallGroup(*part, n_records, None, False))
            continue
        advantage, bound = _judge(rounds, masks[part][rounds.rows], people)
        found.append(SmallGroup(*part, n_records, advantage, bound * len(small) <= side))
    return found


def _judge(rounds, mask, people):
    """Advantage over all rounds, and a bound on its p-value.

    Without a leak, the prediction for a record is independent of the side to which it was assigned
    in that round together with its person. Hoeffding's inequality, which also holds for draws
    without replacement, bounds the probability of so many correct predictions.
    """
    guesses, membership = np.asarray(rounds.guesses)[:, mask], rounds.membership[:, mask]
    everyone = np.ma.masked_less(rounds.membership, 0)
    sides = membership - everyone.mean(axis=1).filled(0)[:, None]
    signs = np.where(membership >= 0, 2.0 * guesses - 1, 0.0)
    people = np.arange(len(mask)) if people is None else to_array(people, "group_by")
    _, units = np.unique(people[mask], return_inverse=True)
    weights = np.stack([np.bincount(units, row) for row in signs])
    excess, square = (signs * sides).sum(), (weights**2).sum()
    members, others = membership == 1, membership == 0
    if not members.any() or not others.any():
        return None, 1.0
    bound = float(np.exp(-2 * max(excess, 0) ** 2 / square))
    return float(guesses[members].mean() - guesses[others].mean()), bound


class SmallGroupsCheck(BaseCheck):
    """Which groups are too small to be judged, and whether shadow models leak there."""

    name = "small groups"
    reads = ("permuted membership",)

    def ask(self, case, run, findings):
        null = findings.permutation.frame
        groups = list_small_groups(case, findings.numbers, null, run.repetitions.rounds)
        if not groups:
            return None
        leaking = [group for group in groups if group.leaks]
        if not leaking:
            names = [visible(f"{small.scope}={small.group}") for small in groups]
            names = join_names(names, MOST_NAMES)
            text = f"Even a perfect attack would not be significant in {names}: too few records."
            return self.answer(STATED, text, groups)
        first = max(leaking, key=lambda group: group.advantage)
        others = len(leaking) - 1
        also = f" The same holds for {others} more groups." if others else ""
        place = visible(f"{first.scope}={first.group}")
        text = (
            f"In {place}, the advantage of an attack on shadow models treated as victims is "
            f"{100 * first.advantage:.3g}%, but its {first.n_records:,} records are too few "
            f"for any attack on this model to be significant.{also}"
        )
        return self.answer(WARNING, text, groups)
