"""Checks of the numbers: who and what was measured, their sign, and groups that are too small."""

from typing import NamedTuple

import numpy as np

from ..._core.escaping import visible
from ..._core.numbers import to_array
from ..._core.pvalues import format_pvalue, is_significant
from ..._core.text import count_more, inflect_word
from ...metrics import PeopleOfSide, number_side_people, resolvable_fpr
from .._measure import OK, OVERALL, find_equal, get_people
from .._words import join_names
from ._base import (
    ALWAYS,
    DROPPED,
    ERROR,
    LEFT_OUT,
    MOST_NAMES,
    NOT_RUN,
    PASSED,
    PERSONS,
    RATES,
    RECIPE,
    SMALL,
    SOMETIMES,
    STATED,
    WARNING,
    BaseCheck,
    NextStep,
)
from ._duplicates import MANY, DuplicatesCheck
from ._permutation import PermutationCheck
from ._units import name_mixed


class PeopleCheck(BaseCheck):
    """Whether all records of a person are on one side; not asked without a field ``group_by``."""

    name = "people"
    presence = SOMETIMES
    passed = "Each person is on one side"
    warned = "Some people are on both sides"

    def ask(self, case, run, findings):
        if case.people is None:
            return None
        mixed, n_people = name_mixed(case.membership, case.people)
        if not mixed:
            text = f"Each of {n_people:,} values of group_by is on one side with all its records."
            return self.answer(PASSED, text, mixed)
        names = join_names(map(visible, mixed), MOST_NAMES)
        text = (
            f"{len(mixed):,} of {n_people:,} values of group_by "
            f"{inflect_word(len(mixed), 'has', 'have')} records on both sides: "
            f"{names}. Shadow models keep such records together, so attacks on them are less "
            "reliable. Check membership and group_by."
        )
        return self.answer(WARNING, text, mixed)


class PersonLevelCheck(BaseCheck):
    """Whether people with several records are found where no number of records is beyond chance.

    An attacker who adds up the evidence of a person's records may succeed where each of them alone
    reveals too little. Not asked without people who have several records.
    """

    name = "person level"
    role = PERSONS
    presence = SOMETIMES
    of_file = DROPPED
    passed = "People with several records were attacked"
    warned = "People are found where single records are not"
    step = NextStep(
        "Treat these people as exposed.",
        "An audit of more people can show it in single records too; or train on one record of each "
        "person, and audit that model.",
    )

    def ask(self, case, run, findings):
        found, test = findings.person_level, findings.permutation
        if found is None or found["pvalue"] is None or test is None:
            return None
        side = (1 - case.level) / 2
        p = format_pvalue(found["pvalue"], 1 / (1 + found["n_permutations"]))
        numbers = (
            f"{visible(found['attack'])} separates people with AUC {found['auc']:.3f} "
            f"[{found['low']:.3f}, {found['high']:.3f}] ({p})"
        )
        if not is_significant(found["pvalue"], side):
            return self.answer(STATED, f"{numbers}, which is not beyond chance.")
        if is_significant(test.frame["pvalue_adjusted"].min(), side):
            return self.answer(STATED, f"{numbers}, and single records are found as well.")
        text = f"{numbers}, although no number of single records is beyond chance."
        return self.answer(WARNING, text)


class MeasurableRates(NamedTuple):
    """The smallest false positive rates that can be measured."""

    least: float  # if all records are independent
    alike: float  # if all records of a person are alike
    n_people: int | None  # who have the non-members; None if each has a record or nobody is named


class ResolutionCheck(BaseCheck):
    """Which false positive rates can be measured with so many non-members."""

    name = "resolution"
    role = RATES
    presence = ALWAYS
    passed = "Rates below a limit cannot be measured"
    warned = ""

    def ask(self, case, run, findings):
        n_nonmembers = int((~case.membership).sum())
        resolvable = resolvable_fpr(n_nonmembers)
        too_low = _list_unmeasured(findings.numbers)
        text = (
            f"With {n_nonmembers:,} non-members, rates down to {100 * resolvable:.3g}% (10 false "
            "positives) can be measured."
        )
        if resolvable > 1:
            text = f"With {n_nonmembers} non-members, no rate can be measured: it takes 10."
        found = _measure_rates(case, resolvable)
        if resolvable <= 1 and found.n_people is not None:
            text += (
                " This holds if records of a person are independent; they belong to "
                f"{found.n_people:,} people, and if all records of a person are alike, rates down "
                f"to {100 * found.alike:.3g}% can be measured."
            )
        if too_low:
            names = ", ".join(f"{100 * rate:g}%" for rate in too_low)
            text += f" No TPR is given at {names}."
        return self.answer(STATED, text, found)


def _list_unmeasured(numbers):
    """Return rates at which no attack has a TPR over all records."""
    is_it = find_equal(numbers, scope=OVERALL, metric="tpr")
    rates, statuses = (numbers[name].to_numpy()[is_it].tolist() for name in ("max_fpr", "status"))
    measured = {rate for rate, status in zip(rates, statuses) if status == OK}
    return [rate for rate in dict.fromkeys(rates) if rate not in measured]


def _measure_rates(case, least):
    """Return also what the rate is if records of a person do not count as independent."""
    if case.people is None:
        return MeasurableRates(least, least, None)
    outside = number_side_people(case.people, len(case.membership))[~case.membership]
    others = PeopleOfSide(outside, len(outside))
    if others.alone:
        return MeasurableRates(least, least, None)
    alike = min(resolvable_fpr(max(1, int(others.worth))), 1.0)
    return MeasurableRates(least, alike, len(others.counts))


class ShadowModelsCheck(BaseCheck):
    """Whether the attack succeeds on the victim about as well as on shadow models.

    The finding is "below" or "above" if the AUC on the victim is clearly below or above the AUC on
    shadow models. Copies on both sides are a reason to lie below, but do not rule out the others.
    """

    name = "shadow models"
    reads = (DuplicatesCheck.name,)
    role = RECIPE
    presence = ALWAYS
    of_file = LEFT_OUT
    passed = "The shadow models resemble this model"
    warned = "The shadow models do not resemble this model"
    step = NextStep(
        "Check membership and the recipe.",
        "The shadow models have to be trained as this model was.",
    )

    def hinders(self, check):
        # If attacks succeed on shadow models and not on the victim, then the victim was trained on
        # other records than membership says, or in another way.
        return check.is_warning and check.finding == "below"

    def ask(self, case, run, findings):
        power = findings.power
        if power is None:
            # What would have been possible leaves its question open.
            status = ERROR if run.repetitions.is_failure else NOT_RUN
            return self.answer(status, run.repetitions.obstacle)
        last = power["numbers"][-1]
        frame = findings.numbers
        is_own = find_equal(frame, attack=power["attack"], scope=OVERALL, metric="auc")
        own = frame.iloc[np.flatnonzero(is_own)[0]]
        there = (
            f"{visible(power['attack'])} reaches AUC {last['auc']:.3f} (SD {last['sd']:.3f}) on "
            f"{last['n_models']} shadow models treated as victims"
        )
        if own["status"] != OK:
            return self.answer(NOT_RUN, f"{there}. Too few records to compare this model.")
        numbers = f"{there}, and {own['estimate']:.3f} on this model"
        if not _lies_apart(own, last):
            return self.answer(PASSED, f"{numbers}.")
        if own["estimate"] > last["auc"]:
            text = f"{numbers}. Check that the shadow models are trained the same way."
            return self.answer(WARNING, text, "above")
        copies, why = findings.of(DuplicatesCheck.name), ""
        if copies is not None and copies.n_exact > MANY * len(case.records):
            why = (
                f" {copies.n_exact:,} of {len(case.records):,} records have an exact copy on the "
                "other side of this model, which lowers its number: shadow models are trained on "
                "all copies of a record or on none. Remove the copies to compare them."
            )
        text = (
            f"{numbers}.{why} Check that membership names the records it was trained on, and that "
            "the shadow models are trained the same way."
        )
        return self.answer(WARNING, text, "below")


def _lies_apart(own, last):
    """Return whether the AUCs differ by more than models and records vary, and by at least 0.02."""
    gap = own["estimate"] - last["auc"]
    sampling = (own["high"] - own["low"]) / 2
    return abs(gap) > max(3 * last["sd"] + sampling, 0.02)


class SignCheck(BaseCheck):
    """Whether an attack ranks members significantly below non-members."""

    name = "score sign"
    presence = ALWAYS
    passed = "The scores point the right way"
    warned = "Some scores point the wrong way"
    reads = (PermutationCheck.name,)

    def ask(self, case, run, findings):
        null = findings.permutation.frame
        is_turned = is_significant(null["pvalue_below"].to_numpy(), (1 - case.level) / 2)
        if not is_turned.any():
            text = "No attack ranks members significantly below non-members."
            return self.answer(PASSED, text)
        turned = null[is_turned]
        everywhere = turned[turned["scope"] == OVERALL]
        places = dict.fromkeys(
            visible(row.attack)
            if row.scope == OVERALL
            else visible(f"{row.attack} in {row.scope}={row.group}")
            for row in (turned if everywhere.empty else everywhere).itertuples()
        )
        verb = "rank" if len(places) > 1 else "ranks"
        text = (
            f"{join_names(places, MOST_NAMES)} {verb} members significantly below non-members. The "
            "numbers are left as they are; look for a membership column with its values swapped, "
            "or a score with its sign reversed."
        )
        return self.answer(WARNING, text, list(places))


class SmallGroup(NamedTuple):
    """A group in which not even a perfect attack would be significant on this model."""

    scope: str
    group: str
    n_records: int
    # Advantage of the attack on shadow models treated as the victim; None without such attacks.
    advantage: float | None
    leaks: bool


def list_small_groups(case, results, null, rounds):
    """List groups in which no leak could be significant, and whether shadow models leak there."""
    side = (1 - case.level) / 2
    parts = zip(null["scope"], null["group"], null["pvalue_least"])
    seen = {(scope, group) for scope, group, least in parts if is_significant(least, side)}
    shown = dict.fromkeys(zip(results["scope"], results["group"]))
    small = [part for part in shown if part[0] != OVERALL and part not in seen]
    masks = {part[:2]: part[2] for part in case.subsets if part[:2] in small}
    people = get_people(case.records, case.membership) if small and rounds is not None else None
    people = people if people is None else to_array(people, "group_by")[rounds.rows]
    found = []
    for part in small:
        n_records = int(masks[part].sum())
        if rounds is None:
            found.append(SmallGroup(*part, n_records, None, False))
            continue
        advantage, bound = _judge_rounds(rounds, masks[part][rounds.rows], people)
        found.append(SmallGroup(*part, n_records, advantage, bound * len(small) <= side))
    return found


def _judge_rounds(rounds, mask, people):
    """Return the advantage over all rounds, and a bound on its p-value.

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
    role = SMALL
    presence = SOMETIMES
    of_file = DROPPED
    passed = "Some groups are too small to judge"
    warned = "Models like this one leak in small groups"
    step = NextStep(
        "Audit with more records of the small groups.",
        "At least ten members and ten non-members of each. If there are no more, merge groups; the "
        "verdict is then on the merged ones.",
    )
    reads = (PermutationCheck.name,)

    def ask(self, case, run, findings):
        null = findings.permutation.frame
        groups = list_small_groups(case, findings.numbers, null, run.repetitions.rounds)
        if not groups:
            return None
        if run.repetitions.is_failure:
            return self.answer(ERROR, run.repetitions.obstacle)
        leaking = [group for group in groups if group.leaks]
        if not leaking:
            names = [visible(f"{small.scope}={small.group}") for small in groups]
            names = join_names(names, MOST_NAMES)
            text = (
                f"Too few records to judge {names}: there, not even a perfect attack could be "
                "distinguished from chance."
            )
            return self.answer(STATED, text, groups)
        first = max(leaking, key=lambda group: group.advantage)
        others = len(leaking) - 1
        also = f" The same holds for {count_more(others, 'group')}." if others else ""
        place = visible(f"{first.scope}={first.group}")
        text = (
            f"In {place}, the advantage of an attack on shadow models treated as victims is "
            f"{100 * first.advantage:.3g}%, but its {first.n_records:,} records are too few "
            f"to distinguish any attack on this model from chance.{also}"
        )
        return self.answer(WARNING, text, groups)
