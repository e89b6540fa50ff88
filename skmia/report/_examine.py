"""From a run to its findings: the numbers, repetitions on shadow models, and the checks."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._core.budget import is_of_memory
from .._core.groups import mean_by_group, number_groups, sum_by_group
from .._core.splits import number_units
from ..base import get_neutral
from ..disparity import DisparityTest, GroupGuesses, number_people
from ..metrics import auc_interval, conformal_pvalues
from . import checks
from ._budget import count_asked_records
from ._choice import mark_told
from ._measure import (
    COLUMNS,
    FEWEST,
    MOST_EXPOSED,
    OVERALL,
    list_judged,
    measure_attack,
    rank_attacks,
    widen,
)
from ._people import MEAN, SUM
from ._permutations import count_permutations
from ._run import draw_sample, take_sampled_records
from ._words import describe_with_class
from .checks._base import ERROR, KNOWN, NOT_RUN, SOMETIMES, Check
from .checks._control import NegativeControlCheck, PositiveControlCheck
from .checks._permutation import PermutationCheck, permutation_test

# The pairs of more groups than these make a table that is too long to read.
_MOST_GROUPS = 20


def compare_groups(rounds, records, subsets, confidence_level, seed):
    """Test for each scope with 2 to 20 groups whether they are exposed equally."""
    tests = []
    for scope in dict.fromkeys(scope for scope, _, _ in subsets if scope != OVERALL):
        masks = {group: mask for name, group, mask in subsets if name == scope}
        kept = {group: mask for group, mask in masks.items() if _is_large_group(rounds, mask)}
        if len(masks) > _MOST_GROUPS or len(kept) < 2 or len(rounds.guesses) < 2:
            continue
        test = _test(rounds, records, kept, confidence_level, seed)
        left_out = [group for group in masks if group not in kept]
        tests.append({"scope": scope, **_describe_disparity(test), "left_out": left_out})
    return tests


def _is_large_group(rounds, mask):
    """Return whether a group has enough records of either kind, some of which were both."""
    inside = rounds.membership[:, mask] == 1
    n_inside = inside.sum(axis=1)
    enough = min(n_inside.min(), (inside.shape[1] - n_inside).min()) >= FEWEST
    return bool(enough and (inside.any(axis=0) & ~inside.all(axis=0)).any())


def _test(rounds, records, masks, confidence_level, seed):
    groups = np.full(len(records), None)
    for group, mask in masks.items():
        groups[mask] = group
    chosen = groups != None  # noqa: E711 - elementwise
    groups = groups[chosen].astype(str)
    guesses = GroupGuesses(
        rounds.guesses[:, chosen],
        rounds.membership[:, chosen],
        groups,
        number_people(records[chosen], groups),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # equal groups: no variance, p is NaN
        return DisparityTest(confidence_level=confidence_level, random_state=seed).fit(guesses)


def _describe_disparity(test):
    columns = ["group", "other", "difference", "low", "high", "pvalue_adjusted", "reject"]
    means, pairs = test.group_vulnerability_, test.pairwise_
    groups = {"group": means.index} | {name: means[name] for name in ("mean", "low", "high")}
    return {
        "n_rounds": test.n_rounds_,
        "statistic": test.statistic_,
        "pvalue": test.pvalue_,
        "n_permutations": test.n_permutations_,
        "reject": test.reject_,
        "disparity": test.disparity_,
        "anova_statistic": test.anova_statistic_,
        "anova_df": [test.anova_["df"]["groups"], test.anova_["df"]["residual"]],
        "anova_pvalue": test.anova_pvalue_corrected_,
        "groups": _list_limited(groups),
        "pairs": _list_limited({name: pairs[name] for name in columns}),
    }


def _list_limited(columns):
    """Return the rows of columns as dicts, with limits from -1 to 1: Student's may lie beyond."""
    ends = {name: columns[name].clip(-1, 1) for name in ("low", "high")}
    columns = columns | ends
    values = zip(*(column.tolist() for column in columns.values()))
    return [dict(zip(columns, row)) for row in values]


class _WholePeople(NamedTuple):
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

    Return found: the strongest attack. None without people, if each of them has a single record, or
    if all attacks are cross-fitted.
    """
    if case.people is None or not run.fitted:
        return None
    people = _list_whole_people(case)
    if len(people.names) == len(people.numbers):
        return None
    ways, scores, judged = {}, {}, {}
    for attack, fitted in run.fitted.items():
        neutral = get_neutral(fitted)
        ways[attack] = MEAN if neutral is None else SUM
        rows = run.judged[attack]
        away, numbers = run.scores[attack][rows] - (neutral or 0.0), people.numbers[rows]
        combine = sum_by_group if ways[attack] == SUM else mean_by_group
        combined = combine(away, numbers, len(people.names))
        n_judged = np.bincount(numbers, minlength=len(people.names))
        scores[attack] = np.where(n_judged > 0, combined, 0.0)[people.is_whole]
        judged[attack] = (n_judged > 0)[people.is_whole]
    usable = [
        name for name in scores if people.inside[list_judged(judged, name, people.inside)].any()
    ]
    scores = {name: scores[name] for name in usable or scores}
    attack = next(iter(rank_attacks(scores, people.inside, judged)))
    return {
        "attack": attack,
        "combine": ways[attack],
        "n_mixed": people.n_mixed,
        "n_permutations": count_permutations(case.level),
        **_judge_people(case, people, scores, judged, attack),
    }


def _list_whole_people(case):
    names, numbers = number_groups(case.people, len(case.membership))
    n_records, n_inside = np.bincount(numbers), np.bincount(numbers, case.membership)
    is_whole = (n_inside == 0) | (n_inside == n_records)
    return _WholePeople(names, numbers, is_whole, n_inside[is_whole] > 0, int((~is_whole).sum()))


def _judge_people(case, people, scores, judged, attack):
    """Return sizes, AUC and p-value of the attack, and who is exposed most.

    None where too few remain.
    """
    rows = np.arange(len(people.inside))[list_judged(judged, attack, people.inside)]
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
        "exposed": _rank_exposed_members(people, rows, own),
    }


def _rank_exposed_members(people, rows, scores):
    """Return the members with the highest scores, and how rarely a non-member scores as high."""
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
            "n_equal": int(np.count_nonzero(scores[sides] == score)),
            "pvalue": float(pvalue),
        }
        for place, score, pvalue in zip(members[order], top, pvalues, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Findings:
    """What was measured on the victim and on its shadow models, and the outcomes of the checks.

    Attributes
    ----------
    numbers : DataFrame
        One row for each attack, part of the records and metric.
    power : dict or None
        AUC of the best attack by the number of its shadow models.
    disparity : dict or None
        Whether groups are exposed unequally.
    person_level : dict or None
        How well people with several records are found, and who is exposed most.
    checks : dict of str to Check
        Outcomes of the checks so far, by name.
    lacks : dict of str to str
        Why something was not measured for lack of memory, by the name of the check that reads it.
    """

    numbers: pd.DataFrame
    power: dict | None = None
    disparity: dict | None = None
    person_level: dict | None = None
    checks: dict = field(default_factory=dict)
    lacks: dict = field(default_factory=dict)

    def of(self, name: str) -> Any:
        """Return the finding of a check.

        Parameters
        ----------
        name : str
            Name of the check.

        Returns
        -------
        finding : object
            What the check found; None if it found nothing or did not run.
        """
        return self.checks[name].finding if name in self.checks else None

    @property
    def permutation(self) -> Any:
        return self.of(PermutationCheck.name)

    @property
    def controls(self) -> dict:
        """Results of the controls that ran, by kind."""
        names = {"positive": PositiveControlCheck.name, "negative": NegativeControlCheck.name}
        found = {kind: self.of(name) for kind, name in names.items()}
        return {kind: control for kind, control in found.items() if control is not None}


def examine(case, run, clock):
    """Measure how well the attacks did, and check whether the numbers can be trusted."""
    numbers = _measure_all_attacks(case, run), *_measure_repetitions(case, run, clock)
    with clock("people"):
        findings = _add_people(Findings(*numbers), case, run)
    for check in sort_by_reads(checks.CHECKS):
        with clock(check.part):
            answer = _ask_within_budget(check, case, run, findings)
        if answer is not None:
            findings = replace(findings, checks={**findings.checks, check.name: answer})
    names = [check.name for check in checks.CHECKS if check.name in findings.checks]
    return replace(findings, checks={name: findings.checks[name] for name in names})


def _add_people(findings, case, run):
    try:
        return replace(findings, person_level=measure_people(case, run))
    except Exception as error:
        if not is_of_memory(error):
            raise
        return replace(findings, lacks={"person level": describe_with_class(error)})


def withhold(case):
    """Return the findings of an audit that ends because the model does not know the table.

    ``audit`` skips the attacks. The report has empty results, and its evidence is "unknown"
    (``is_stopped`` in ``_evidence.py``), which a document has to agree with
    (``_list_wrong_results`` in ``_document.py``).
    """
    findings, why = Findings(pd.DataFrame(columns=list(COLUMNS))), "The audit ended before."
    answers = {
        check.name: _ask_check(check, case, None, findings)
        if check.role == KNOWN
        else Check(check.name, NOT_RUN, why)
        for check in checks.CHECKS
        if check.presence != SOMETIMES
    }
    return replace(findings, checks=answers)


def sort_by_reads(listed):
    """Put each check after those that it reads; keep the order otherwise."""
    waiting, done = list(listed), []
    while waiting:
        known = {check.name for check in done}
        ready = [check for check in waiting if set(check.reads) <= known]
        if not ready:
            names = ", ".join(check.name for check in waiting)
            raise ValueError(f"checks read others that are missing or read them in turn: {names}.")
        done.append(ready[0])
        waiting.remove(ready[0])
    return done


def _ask_within_budget(check, case, run, findings):
    """Ask a check, of a sample where all records would hold or take more than it may."""
    n_records, most = len(case.records), count_asked_records(check, case)
    if n_records <= most:
        return _ask_check(check, case, run, findings)
    people = case.records.fields.get("group_by")
    units = number_units(case.records.fingerprint, people)
    rows = draw_sample(n_records, case.subsets, most, case.seeds["checks"], units)
    answer = _ask_check(check, *_take_rows(case, run, rows), findings)
    if answer is None:
        return None
    told = f"It read {len(rows):,} of {n_records:,} records, drawn at random."
    return replace(answer, text=f"{answer.text} {told}")


def _take_rows(case, run, rows):
    """Return a case and a run with some of their records."""
    subsets = [(*names, mask[rows]) for *names, mask in case.subsets]
    case = replace(
        case,
        records=case.records[rows],
        queried=case.queried[rows],
        membership=case.membership[rows],
        subsets=subsets,
    )
    values = ("scores", "guesses", "judged", "tested")
    taken = {
        value: {name: one[rows] for name, one in getattr(run, value).items()} for value in values
    }
    of_file = None if run.file_scores is None else run.file_scores[rows]
    return case, replace(run, file_scores=of_file, **taken)


def _ask_check(check, case, run, findings):
    """Return the outcome of a check, which is an error if the check raises.

    The numbers are measured by then, so they are reported; a verdict that needs the check stays
    open (choose_evidence).
    """
    for name in check.reads:
        if name in findings.checks and findings.checks[name].is_error:
            return check.answer(ERROR, f"The check failed because it needs {name}, which failed.")
    if check.name in findings.lacks:
        return check.answer(ERROR, findings.lacks[check.name])
    try:
        return check.ask(case, run, findings)
    except Exception as error:  # whatever it is, the other checks can still answer
        return check.answer(ERROR, f"The check failed: {describe_with_class(error)}")


def _measure_all_attacks(case, run):
    rows = []
    for name, scores in run.scores.items():
        subsets = ((*names, mask & run.judged[name]) for *names, mask in case.subsets)
        numbers = measure_attack(name, scores, run.guesses[name], replace(case, subsets=subsets))
        rows += numbers if name in run.fitted else map(widen, numbers)
    return pd.DataFrame(mark_told(rows, run.orders), columns=list(COLUMNS))


def _measure_repetitions(case, run, clock):
    """Return the power and disparity; None and None if no attack could be repeated."""
    attack, rounds, numbers, obstacle, _ = run.repetitions
    if obstacle is not None:
        return None, None
    with clock("repetitions"):
        records = take_sampled_records(case.records, rounds.rows)
        subsets = [(*names, mask[rounds.rows]) for *names, mask in case.subsets]
        try:
            scopes = compare_groups(rounds, records, subsets, case.level, case.seeds["checks"])
        except Exception as error:
            if not is_of_memory(error):
                raise
            scopes = []  # groups are compared for the reader, and no verdict rests on it
    return {"attack": attack, "numbers": numbers}, {"attack": attack, "scopes": scopes}
