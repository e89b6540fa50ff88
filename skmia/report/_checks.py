"""Whether the numbers of an audit can be trusted: what was checked, and what came out."""

from dataclasses import dataclass

from .._core.pvalues import format_pvalue
from .._core.visible import visible
from ..metrics import resolvable_fpr
from ..metrics.resolution import check_resolution as is_resolved
from .groups import OVERALL
from .measure import OK
from .text import format_auc, format_rate, join_names

# What is stated is a fact for the reader, and cannot fail.
PASSED, WARNING, STATED, NOT_RUN = "passed", "warning", "stated", "not run"

# Share of copies from which a reader is warned: an AUC moves by half of it at most, tables of few
# distinct values have some by nature, and 7% are near by chance in one dimension.
_MANY = 0.1

_MOST_NAMES = 5

# Those that every audit has.
CHECKS = (
    "blind baseline",
    "difficulty",
    "duplicates",
    "resolution",
    "permuted membership",
    "score sign",
    "shadow models",
    "positive control",
    "negative control",
)


@dataclass(frozen=True)
class Check:
    """One check of an audit.

    Attributes
    ----------
    name : str
        Name of the check.
    status : {"passed", "warning", "stated", "not run"}
        What came out.
    text : str
        The same in a sentence or two.
    finding : str or None
        A word for what reads the check; "below" or "above" of shadow models.
    """

    name: str
    status: str
    text: str
    finding: str | None = None

    @property
    def is_warning(self):
        return self.status == WARNING


def check_baseline(interval):
    """Check that members cannot be ranked above non-members without the victim.

    Below chance nothing is wrong: where the two sides were made alike on purpose, as by a
    stratified split, one half has by design what the other lacks, and a baseline that was trained
    on one ranks the other the wrong way round.
    """
    if interval is None:
        return Check("blind baseline", NOT_RUN, "Too few records for a baseline without the model.")
    text = f"A baseline without the model reaches AUC {format_auc(*interval)}"
    if interval[1] <= 0.5:
        return Check(
            "blind baseline", PASSED, f"{text}; a warning is given if the interval lies above 0.5."
        )
    text = (
        f"{text}: it ranks members above non-members, so they come from different populations, and "
        "part of what the attacks find may be that difference."
    )
    return Check("blind baseline", WARNING, text)


def check_difficulty(interval):
    """Check that members are not easier than others for models that do not know them."""
    if interval is None:
        return Check("difficulty", NOT_RUN, "No shadow models.")
    numbers = (
        f"(AUC {interval.estimate:.3f}, 99% interval [{interval.low:.3f}, {interval.high:.3f}])"
    )
    if interval.low <= 0.5 <= interval.high:
        text = (
            "Shadow models perform equally well on members and on non-members that they were not "
            f"trained on {numbers}."
        )
        return Check("difficulty", PASSED, text)
    which = "better" if interval.low > 0.5 else "worse"
    text = (
        f"Shadow models perform {which} on members than on non-members though they were trained on "
        f"neither {numbers}: the two differ, and what the attacks find may be that."
    )
    return Check("difficulty", WARNING, text)


def check_people(mixed, n_people):
    """Check that all records of a person are on one side.

    Parameters
    ----------
    mixed : list of str
        Those with records on both sides.
    n_people : int
        Values of ``group_by``.
    """
    if not mixed:
        text = f"Each of {n_people:,} values of group_by is on one side with all its records."
        return Check("people", PASSED, text)
    names = join_names(map(visible, mixed), _MOST_NAMES)
    text = (
        f"{len(mixed):,} of {n_people:,} values of group_by have records on both sides: {names}. "
        "Shadow models keep such records together, so attacks on them are less reliable. "
        "Check membership and group_by."
    )
    return Check("people", WARNING, text)


def check_duplicates(duplicates, n_records):
    """Check that few records are on both sides of the split."""
    parts = []
    if duplicates.n_exact:
        parts.append(
            f"{duplicates.n_exact:,} of {n_records:,} records have an exact copy with the other "
            "membership; an attack scores both copies alike."
        )
    if duplicates.n_queried:
        parts.append(
            f"{duplicates.n_near:,} of {duplicates.n_queried:,} non-members "
            f"({format_rate(*duplicates.share_near)}) are near duplicates of a member, at least "
            "ten times closer than typical."
        )
    parts.append(f"A warning is given above {100 * _MANY:g}%.")
    many_near = bool(duplicates.n_queried) and duplicates.share_near.low > _MANY
    status = WARNING if many_near or duplicates.n_exact > _MANY * n_records else PASSED
    return Check("duplicates", status, " ".join(parts))


def check_resolution(n_nonmembers, fprs):
    """Say which false positive rates can be measured."""
    resolvable = resolvable_fpr(n_nonmembers)
    too_low = [rate for rate in fprs if not is_resolved(n_nonmembers, rate, "ignore")]
    text = (
        f"With {n_nonmembers:,} non-members, rates down to {100 * resolvable:.3g}% (10 false "
        "positives) can be measured."
    )
    if resolvable > 1:
        text = f"With {n_nonmembers} non-members, no rate can be measured: it takes 10."
    if too_low:
        names = ", ".join(f"{100 * rate:g}%" for rate in too_low)
        text += f" No TPR is given at {names}."
    return Check("resolution", STATED, text)


def check_permutations(result):
    """Say what a permuted membership gives in place of the true one.

    Parameters
    ----------
    result : PermutationResult
    """
    p = format_pvalue(2 * result.frame["pvalue_adjusted"].min(), 2 / (1 + result.n_permutations))
    return Check(
        "permuted membership",
        STATED,
        f"Membership was permuted {result.n_permutations:,} times. The most significant of "
        f"{len(result.frame):,} results has {p}, two-sided and corrected for all of them.",
    )


def check_sign(null, level):
    """Check that no attack ranks members significantly below non-members."""
    turned = null[null["pvalue_below"] <= (1 - level) / 2]
    if turned.empty:
        text = "No attack ranks members significantly below non-members."
        return Check("score sign", PASSED, text)
    everywhere = turned[turned["scope"] == OVERALL]
    places = dict.fromkeys(
        visible(row.attack)
        if row.scope == OVERALL
        else visible(f"{row.attack} in {row.scope}={row.group}")
        for row in (turned if everywhere.empty else everywhere).itertuples()
    )
    verb = "rank" if len(places) > 1 else "ranks"
    return Check(
        "score sign",
        WARNING,
        f"{join_names(places, _MOST_NAMES)} {verb} members significantly below non-members. The "
        "numbers are left as they are; look for a membership column with its values swapped, or a "
        "score with its sign reversed.",
    )


def check_shadows(power, results, why_not):
    """Check that the victim is attacked about as well as the shadow models are."""
    if power is None:
        return Check("shadow models", NOT_RUN, why_not)
    last = power["numbers"][-1]
    rows = results[(results["attack"] == power["attack"]) & (results["scope"] == OVERALL)]
    own = rows[rows["metric"] == "auc"].iloc[0]
    there = (
        f"{visible(power['attack'])} reaches AUC {last['auc']:.3f} (SD {last['sd']:.3f}) on "
        f"{last['n_models']} shadow models treated as victims"
    )
    if own["status"] != OK:
        return Check("shadow models", NOT_RUN, f"{there}. Too few records to compare this model.")
    numbers = f"{there}, and {own['estimate']:.3f} on this model"
    if not _lies_apart(own, last):
        return Check("shadow models", PASSED, f"{numbers}.")
    if own["estimate"] > last["auc"]:
        text = f"{numbers}. Check that the shadow models are trained the same way."
        return Check("shadow models", WARNING, text, "above")
    text = (
        f"{numbers}. Check that membership names the records it was trained on, and that the "
        "shadow models are trained the same way."
    )
    return Check("shadow models", WARNING, text, "below")


def _lies_apart(own, last):
    """Whether the victim's AUC differs by more than models and records do, and noticeably."""
    gap = own["estimate"] - last["auc"]
    sampling = (own["high"] - own["low"]) / 2
    return abs(gap) > max(3 * last["sd"] + sampling, 0.02)


def check_small_groups(groups):
    """Say which groups are too small to be judged, and check that shadow models do not leak there.

    Parameters
    ----------
    groups : list of SmallGroup
    """
    leaking = [one for one in groups if one.leaks]
    if not leaking:
        names = join_names([visible(f"{one.scope}={one.group}") for one in groups], _MOST_NAMES)
        text = f"Even a perfect attack would not be significant in {names}: too few records."
        return Check("small groups", STATED, text)
    first = max(leaking, key=lambda one: one.advantage)
    others = len(leaking) - 1
    also = f" The same holds for {others} more groups." if others else ""
    place = visible(f"{first.scope}={first.group}")
    text = (
        f"In {place}, the advantage of an attack on shadow models treated as victims is "
        f"{100 * first.advantage:.3g}%, but its {first.n_records:,} records are too few "
        f"for any attack on this model to be significant.{also}"
    )
    return Check("small groups", WARNING, text)


def check_control(kind, control, obstacle=None):
    """What a control says; ``control`` is None where there is none."""
    name = f"{kind} control"
    if control is None:
        return Check(name, NOT_RUN, obstacle or "Not requested.")
    best = control.frame.loc[control.frame["auc"].idxmax()]
    what = {
        "positive": "On a model that memorized its training records",
        "negative": "On a model that was trained without regard to membership",
    }[kind]
    p = format_pvalue(control.pvalue, 1 / (1 + control.n_permutations))
    text = f"{what}, the attacks reach AUC {format_auc(*best[['auc', 'low', 'high']])} ({p})"
    if control.passed:
        return Check(name, PASSED, f"{text}.")
    why = {
        "positive": "they could not have found anything here",
        "negative": "members and non-members come from different populations",
    }[kind]
    return Check(name, WARNING, f"{text}: {why}.")
