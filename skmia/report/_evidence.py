"""What an audit may be taken for, and the sentence that says it."""

from ._groups import OVERALL
from ._measure import OK
from ._text import format_auc, format_rate

LEAK, NONE, SHIFT, UNKNOWN = "leak", "none", "shift", "unknown"

_INTERVAL = ["estimate", "low", "high"]


def find_evidence(frame, null, checks, confidence_level):
    """What an audit may be taken for.

    Parameters
    ----------
    frame : DataFrame
        The numbers of the audit.
    null : DataFrame
        Of the permuted membership: ``attack``, ``metric``, ``max_fpr``, ``pvalue_adjusted``,
        ``turned_round``.
    checks : dict of str to Check
        By name.
    confidence_level : float
        One minus the largest p-value that is evidence.

    Returns
    -------
    evidence : {"leak", "none", "shift", "unknown"}
        Attacks tell members from others; do not; do, but that need not come from the victim; or
        nothing could have been found.
    """
    aucs = frame[(frame["metric"] == "auc") & (frame["scope"] == OVERALL)]
    if not (aucs["status"] == OK).any():
        return UNKNOWN
    if (null["pvalue_adjusted"] <= 1 - confidence_level).any() or null["turned_round"].any():
        alike = ("blind baseline", "negative control")
        return SHIFT if any(checks[name].is_warning for name in alike) else LEAK
    return UNKNOWN if checks["positive control"].is_warning else NONE


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
        return (
            "No attack found anything, but a victim that had learned its members by heart was not "
            "caught either, so that nothing can be said; there may be too few records."
        )
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


def _describe_shift(best, checks):
    if checks["blind baseline"].is_warning:
        why = "without the victim a model of the records tells them apart"
    else:
        why = "they are told apart by a model to which membership meant nothing"
    return (
        f"Members and non-members differ by themselves: {why}. So the AUC of {best['attack']}, "
        f"{format_auc(*best[_INTERVAL])}, is no evidence of leakage; draw both from one population."
    )


def _describe_leak(overall, best, null, confidence_level):
    found = null[null["pvalue_adjusted"] <= 1 - confidence_level]
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
    turned = null[null["turned_round"] & (null["metric"] == "auc")]
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
    return f"{rows['pvalue_adjusted'].min():.2g}"


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
