"""What an audit may be taken for, and the sentence that says it."""

from ._groups import OVERALL
from ._measure import OK
from ._text import format_auc, format_rate

LEAK, NONE, SHIFT, UNKNOWN = "leak", "none", "shift", "unknown"

_INTERVAL = ["estimate", "low", "high"]


# Checks of whether members and non-members are alike but for the training.
_ALIKE = ("blind baseline", "difficulty", "negative control")


def is_conspicuous(null, confidence_level):
    """Whether some number is beyond what chance gives, on either side of it.

    Half of what is left of the confidence level goes to each side, as in a two-sided interval.

    Parameters
    ----------
    null : DataFrame
        Of the permuted membership: ``pvalue_adjusted``, ``pvalue_below``.
    confidence_level : float
        One minus the chance of a finding where there is nothing.
    """
    level = (1 - confidence_level) / 2
    return bool((null[["pvalue_adjusted", "pvalue_below"]] <= level).any(axis=None))


def find_evidence(frame, null, checks, confidence_level):
    """What an audit may be taken for.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.
    null : DataFrame
        Of the permuted membership: ``attack``, ``metric``, ``max_fpr``, ``pvalue_adjusted``,
        ``pvalue_below``.
    checks : dict of str to Check
        By name.
    confidence_level : float
        One minus the chance of a finding where there is nothing.

    Returns
    -------
    evidence : {"leak", "none", "shift", "unknown"}
        Attacks tell members from others; do not; would, or would not, for another reason than the
        training; or nothing could have been found.
    """
    aucs = frame[(frame["metric"] == "auc") & (frame["scope"] == OVERALL)]
    if not (aucs["status"] == OK).any():
        return UNKNOWN
    if any(checks[name].is_warning for name in _ALIKE):
        return SHIFT
    if is_conspicuous(null, confidence_level):
        return LEAK
    blind = ("positive control", "duplicates")
    return UNKNOWN if any(checks[name].is_warning for name in blind) else NONE


def find_verdict(frame, null, checks, evidence, confidence_level):
    """One sentence on what the audit found, which says no more than the numbers do.

    Parameters
    ----------
    frame, null, checks, confidence_level
        As for :func:`find_evidence`.
    evidence : str
        What that returned.

    Returns
    -------
    verdict : str
    """
    overall = frame[(frame["scope"] == OVERALL) & (frame["status"] == OK)]
    aucs = overall[overall["metric"] == "auc"]
    if aucs.empty:
        return "There are too few members or non-members to measure anything."
    best = aucs.loc[aucs["estimate"].idxmax()]
    if evidence == UNKNOWN:
        return _describe_blindness(checks)
    if evidence == SHIFT:
        return _describe_shift(best, checks)
    if evidence == LEAK:
        return _describe_leak(overall, best, null, confidence_level)
    level = f"{100 * (1 - confidence_level):g}%"
    return (
        f"No attack found evidence of leakage (at the {level} level, corrected for their number; "
        f"the highest AUC is {format_auc(*best[_INTERVAL])} by {best['attack']}, 0.5 is chance)"
        f"{_describe_groups(frame, confidence_level)}; that is no proof of its absence."
    )


def _describe_blindness(checks):
    if checks["duplicates"].is_warning:
        why = "many records are, or nearly are, members and non-members at once"
    else:
        why = (
            "a victim that had learned its members by heart was not caught either; there may be "
            "too few records"
        )
    return f"No attack found anything, but nothing can be said: {why}."


def _describe_shift(best, checks):
    reasons = {
        "blind baseline": "without the victim a model of the records tells them apart",
        "difficulty": "models that know neither do better on the one than on the other",
        "negative control": "they are told apart by a model to which membership meant nothing",
    }
    why = next(reason for name, reason in reasons.items() if checks[name].is_warning)
    return (
        f"Members and non-members differ by themselves: {why}. So the AUC of {best['attack']}, "
        f"{format_auc(*best[_INTERVAL])}, is no evidence of leakage or of its absence; draw both "
        "from one population."
    )


def _describe_leak(overall, best, null, confidence_level):
    level = (1 - confidence_level) / 2
    found = null[null["pvalue_adjusted"] <= level]
    by_auc = found[found["metric"] == "auc"]
    if len(by_auc):
        n_attacks = null["attack"].nunique()
        strongest = f", the strongest of {n_attacks} attacks," if n_attacks > 1 else ""
        return (
            f"{best['attack']}{strongest} finds leakage: a randomly chosen member is told from a "
            "randomly chosen non-member with probability "
            f"{format_auc(*best[_INTERVAL])} (0.5 is chance, p = {_find_p(by_auc)})."
        )
    if len(found):
        return _describe_low_rate(overall, best, found)
    turned = null[null["pvalue_below"] <= level]
    worst = overall[overall["attack"].isin(turned["attack"]) & (overall["metric"] == "auc")]
    worst = worst.loc[worst["estimate"].idxmin()]
    return (
        f"No attack ranks members above non-members, but {worst['attack']} ranks them below: "
        f"its AUC is {format_auc(*worst[_INTERVAL])}, so that an attack with its sign turned "
        "round finds leakage."
    )


def _describe_low_rate(overall, best, found):
    """Few members stand out, which an AUC hardly notices."""
    first = found.loc[found["pvalue_adjusted"].idxmin()]
    row = overall[(overall["attack"] == first["attack"]) & (overall["max_fpr"] == first["max_fpr"])]
    row = row.iloc[0]
    return (
        f"{row['attack']} finds leakage at a low false positive rate: it finds "
        f"{format_rate(*row[_INTERVAL])} of the members while it accuses "
        f"{100 * row['fpr']:.3g}% of the others (p = {_find_p(found)}), though by AUC, at most "
        f"{format_auc(*best[_INTERVAL])}, no attack is better than chance."
    )


def _find_p(rows):
    """The p-value of the most conspicuous row, two-sided."""
    return f"{min(1, 2 * rows['pvalue_adjusted'].min()):.2g}"


def _describe_groups(frame, confidence_level):
    groups = frame[(frame["metric"] == "auc") & (frame["scope"] != OVERALL)]
    groups = groups[groups["status"] == OK]
    above = int((groups["low"] > 0.5).sum())
    if not above:
        return ""
    expected = len(groups) * (1 - confidence_level) / 2
    return (
        f"; {above} of {len(groups)} intervals of single groups lie above 0.5, where about "
        f"{expected:.1f} would by chance"
    )
