"""Whether the numbers of an audit can be trusted: what was checked, and what came out."""

from dataclasses import dataclass

from ..metrics import resolvable_fpr
from ..metrics._membership import check_resolution as is_resolved
from ._groups import OVERALL
from ._text import format_auc, format_rate

# What is stated is a fact for the reader, and cannot fail.
PASSED, WARNING, STATED, NOT_RUN = "passed", "warning", "stated", "not run"

# Share of copies from which a reader is warned: an AUC moves by half of it at most, tables of few
# distinct values have some by nature, and 7% are near by chance in one dimension.
_MANY = 0.1


@dataclass(frozen=True)
class Check:
    """One check of an audit.

    Attributes
    ----------
    name : str
        Of the check.
    status : {"passed", "warning", "stated", "not run"}
        What came out.
    text : str
        The same in a sentence or two.
    """

    name: str
    status: str
    text: str

    @property
    def is_warning(self):
        return self.status == WARNING


def check_baseline(interval):
    """Check that members and non-members are no different by themselves."""
    if interval is None:
        return Check(
            "blind baseline", NOT_RUN, "Too few records for a baseline without the victim."
        )
    text = f"Without the victim, a model of the records alone reaches AUC {format_auc(*interval)}"
    if interval[1] <= 0.5:
        return Check("blind baseline", PASSED, f"{text}.")
    text = (
        f"{text}: members and non-members seem to differ by themselves, and part of what the "
        "attacks find may be that difference."
    )
    return Check("blind baseline", WARNING, text)


def check_difficulty(interval):
    """Check that members are no easier than others for models that do not know them."""
    if interval is None:
        return Check("difficulty", NOT_RUN, "No shadow models.")
    text = (
        "Shadow models that were not trained on them do as well on a member as on a non-member "
        f"with AUC {format_auc(*interval)}, at 99%"
    )
    if interval.low <= 0.5 <= interval.high:
        return Check("difficulty", PASSED, f"{text}.")
    which = "easier" if interval.low > 0.5 else "harder"
    return Check(
        "difficulty",
        WARNING,
        f"{text}: members are {which} for a model that knows neither, and what the attacks find "
        "may be that.",
    )


def check_duplicates(duplicates, n_records):
    """Check that few records are on both sides of the split."""
    parts = []
    if duplicates.n_exact:
        parts.append(
            f"{duplicates.n_exact:,} of {n_records:,} records have an exact copy with the other "
            "membership, and no attack can tell the two apart."
        )
    if duplicates.n_queried:
        parts.append(
            f"{duplicates.n_near:,} of {duplicates.n_queried:,} non-members, "
            f"{format_rate(*duplicates.share_near)}, are near copies of a member: at least ten "
            "times nearer to it than is usual."
        )
    many_near = bool(duplicates.n_queried) and duplicates.share_near.low > _MANY
    status = WARNING if many_near or duplicates.n_exact > _MANY * n_records else PASSED
    return Check("duplicates", status, " ".join(parts))


def check_resolution(n_nonmembers, fprs):
    """Say which false positive rates can be measured."""
    resolvable = resolvable_fpr(n_nonmembers)
    too_low = [rate for rate in fprs if not is_resolved(n_nonmembers, rate, "ignore")]
    text = (
        f"{n_nonmembers:,} non-members resolve false positive rates from "
        f"{100 * resolvable:.3g}% on, which are ten accusations."
    )
    if resolvable > 1:
        text = f"{n_nonmembers} non-members resolve no false positive rate."
    if too_low:
        names = ", ".join(f"{100 * rate:g}%" for rate in too_low)
        text += f" No TPR is given at {names}."
    return Check("resolution", STATED, text)


def check_permutations(null, n_permutations):
    """Say what a shuffled membership gives in place of the true one."""
    p = min(1, 2 * null["pvalue_adjusted"].min())
    return Check(
        "permuted membership",
        STATED,
        f"Membership was shuffled {n_permutations:,} times. The most conspicuous number of the "
        f"audit has p = {p:.2g}, two-sided and corrected for all that were looked at.",
    )


def check_sign(null, level):
    """Check that no attack ranks members below non-members."""
    turned = null["pvalue_below"] <= (1 - level) / 2
    names = list(dict.fromkeys(null.loc[turned, "attack"]))
    if not names:
        return Check("score sign", PASSED, "No attack scores members below non-members.")
    verb = "score" if len(names) > 1 else "scores"
    return Check(
        "score sign",
        WARNING,
        f"{', '.join(names)} {verb} members below non-members. The numbers are left as they are; "
        "look for a membership column with its values mixed up, or a score with its sign reversed.",
    )


def check_shadows(power, results, why_not):
    """Check that the victim is attacked about as well as the shadow models are."""
    if power is None:
        return Check("shadow models", NOT_RUN, why_not)
    last = power["numbers"][-1]
    rows = results[(results["attack"] == power["attack"]) & (results["scope"] == OVERALL)]
    own = rows[rows["metric"] == "auc"].iloc[0]
    text = (
        f"In the victim's place, {last['n_models']} shadow models are attacked by "
        f"{power['attack']} with AUC {last['auc']:.3f}, standard deviation {last['sd']:.3f}; the "
        f"victim with {own['estimate']:.3f}"
    )
    if not _lies_apart(own, last):
        return Check("shadow models", PASSED, f"{text}.")
    why = "they may not be made as the victim was"
    if own["estimate"] < last["auc"]:
        why += ", and an attack with better ones may find more"
    return Check("shadow models", WARNING, f"{text}: {why}.")


def _lies_apart(own, last):
    """Whether the victim's AUC differs by more than models and records do, and noticeably."""
    gap = own["estimate"] - last["auc"]
    sampling = (own["high"] - own["low"]) / 2
    return abs(gap) > max(3 * last["sd"] + sampling, 0.02)


def check_control(kind, control, obstacle=None):
    """What a control says; ``control`` is None where there is none."""
    name = f"{kind} control"
    if control is None:
        return Check(name, NOT_RUN, obstacle or "Not asked for.")
    best = control.frame.loc[control.frame["auc"].idxmax()]
    what = {
        "positive": "A victim that learned its members by heart is attacked",
        "negative": "A victim to which membership meant nothing is attacked",
    }[kind]
    text = f"{what} with AUC {format_auc(*best[['auc', 'low', 'high']])} (p = {control.pvalue:.2g})"
    if control.passed:
        return Check(name, PASSED, f"{text}.")
    why = {
        "positive": "the attacks could not have found anything here",
        "negative": "members and non-members differ by themselves",
    }[kind]
    return Check(name, WARNING, f"{text}: {why}.")
